// LIBSVM's probability estimates, operation by operation (svm_predict_probability): sigmoids of the decision values
// and, for more than two classes, their coupling (Wu, Lin and Weng, Probability Estimates for Multi-class
// Classification by Pairwise Coupling, JMLR 5, 2004, method 2).
#pragma once
#include <cstddef>
#include <cstdint>

#include "dispatch.hpp"

namespace svmfast {

struct Sigmoids {
    std::size_t classes;  // at least 2
    const double *a, *b;  // of each pair
    std::size_t pairs() const { return classes * (classes - 1) / 2; }
};

}  // namespace svmfast

// pairwise[row][pair]: the probability of the pair's first class, inside LIBSVM's limits.
SVMFAST_DECLARE(void pairwise_rows(const Sigmoids &, const double *decisions, std::size_t rows, double *pairwise))

// out[row][class]. With `errors` (else null), how far from the decision values LIBSVM's own can lie: near_boundary[row]
// is 0 where LIBSVM's estimates print the same with six digits, and have the same first maximum; proven in
// docs/certificate.md.
SVMFAST_DECLARE(void probability_rows(const Sigmoids &, const double *decisions, const double *errors, std::size_t rows,
                                      double *out, std::uint8_t *near_boundary))
