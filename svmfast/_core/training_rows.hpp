// The check of training rows that come from Python.
#pragma once
#include <stdexcept>

#include "arrays.hpp"
#include "budget.hpp"

namespace svmfast {

inline TrainingRows training_rows(const In1<std::int64_t> &indptr, const In1<std::int32_t> &indices,
                                  const In1<double> &values, const In1<double> &norms, const In1<double> &targets,
                                  const In1<std::int64_t> &order, std::size_t columns) {
    const std::size_t n = norms.shape(0);
    const std::int64_t stored = static_cast<std::int64_t>(values.shape(0));
    if (indptr.shape(0) != n + 1 || targets.shape(0) != n || indices.shape(0) != values.shape(0))
        throw std::invalid_argument("rows, norms and targets are inconsistent");
    // Only rows that will be visited, so that many small calls on one block stay cheap.
    for (std::size_t i = 0; i < order.shape(0); ++i) {
        const std::int64_t row = order.data()[i];
        if (row < 0 || static_cast<std::size_t>(row) >= n)
            throw std::invalid_argument("the order names a row that is not there");
        const std::int64_t begin = indptr.data()[row], end = indptr.data()[row + 1];
        if (begin < 0 || end < begin || end > stored) throw std::invalid_argument("a row lies outside its arrays");
        for (std::int64_t p = begin; p < end; ++p)
            if (indices.data()[p] < 0 || static_cast<std::size_t>(indices.data()[p]) >= columns)
                throw std::invalid_argument("a column is out of range");
    }
    return {csr(indptr, indices, values), norms.data(), targets.data()};
}

}  // namespace svmfast
