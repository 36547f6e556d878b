// Sparse rows in arrays of the caller.
#pragma once
#include <cstddef>
#include <cstdint>

namespace svmfast {

// Row i is the entries indptr[i] .. indptr[i + 1] of indices (ascending columns) and values.
struct Csr {
    const std::int64_t *indptr;
    const std::int32_t *indices;
    const double *values;

    double squared_norm(std::size_t row) const {
        double sum = 0;
        for (std::int64_t k = indptr[row]; k < indptr[row + 1]; ++k) sum += values[k] * values[k];
        return sum;
    }
    std::size_t entries(std::size_t row) const { return static_cast<std::size_t>(indptr[row + 1] - indptr[row]); }
};

// The rows of a call. Objects that keep them need the caller to keep the arrays.
struct SparseRows : Csr {
    std::size_t count;
    // Of all rows.
    std::size_t entries() const { return static_cast<std::size_t>(indptr[count] - indptr[0]); }
    using Csr::entries;
};

}  // namespace svmfast
