// Sparse rows as they come from Python: entries indptr[i] .. indptr[i + 1] of indices (ascending columns) and values
// are row i.
#pragma once
#include <cstddef>
#include <cstdint>

namespace svmfast {

struct Csr {
    const std::int64_t *indptr;
    const std::int32_t *indices;
    const double *values;

    std::size_t entries(std::size_t row) const { return static_cast<std::size_t>(indptr[row + 1] - indptr[row]); }
};

}  // namespace svmfast
