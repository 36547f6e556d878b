// LIBSVM's probability estimates, operation by operation (svm_predict_probability): sigmoids of the decision values
// and, for more than two classes, their coupling (Wu, Lin and Weng, Probability Estimates for Multi-class
// Classification by Pairwise Coupling, JMLR 5, 2004, method 2).
#pragma once
#include <cstddef>
#include <cstdint>

namespace svmfast {

struct Sigmoids {
    std::size_t classes;  // at least 2
    const double *a, *b;  // of each pair
    std::size_t pairs() const { return classes * (classes - 1) / 2; }
};

// The probability of being normal: the density bin of a decision value among ten marks
// (svm_predict_one_class_probability).
constexpr std::size_t DENSITY_MARKS = 10;
double density(double decision, const double *marks);

// out[row][class]. `errors`, if not null, bounds the distance of LIBSVM's own decision values from the given ones:
// near_boundary[row] is then 0 if LIBSVM's estimates provably (docs/certificate.md) print the same with six digits and
// have the same first maximum.
void probability_rows(const Sigmoids &, const double *decisions, const double *errors, std::size_t rows, double *out,
                      std::uint8_t *near_boundary);

}  // namespace svmfast
