// Sparse rows in arrays of the caller: row i is the entries indptr[i] .. indptr[i + 1] of indices (ascending columns)
// and values.
#pragma once
#include <cstddef>
#include <cstdint>

namespace svmfast {

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

}  // namespace svmfast
