// Coefficients for fixed vectors: the layout shared by refit.cpp and simd/refit.inl.
//
// With u_1..u_B fixed, f(x) = sum_j theta_j k(u_j, x) + bias minimizes
//     lambda/2 theta^T K theta + 1/n sum_i w_i/2 max(0, 1 - y_i f(x_i))^2
// (regression: max(0, |f(x_i) - y_i| - epsilon)^2): smooth, convex, solved by Newton's method in the primal (Chapelle,
// "Training a Support Vector Machine in the Primal", 2007; reduced bases: Keerthi, Chapelle and DeCoste, 2006).
#pragma once
#include <cstddef>
#include <cstdint>

#include "aligned.hpp"
#include "budget.hpp"
#include "dispatch.hpp"

namespace svmfast {

struct RefitBasis {
    std::size_t columns, vectors, stride;  // stride: vectors and the bias, padded to octets
    bool bias;                             // then slot `vectors` holds it
    double gamma, epsilon;
    double weight[2];
    Loss loss;
    Aligned<double> values;  // [columns][stride]
    Aligned<double> gain, offset;

    std::size_t size() const { return vectors + (bias ? 1 : 0); }
};

// The sums over the rows of one part.
struct RefitSums {
    double loss = 0;
    std::size_t active = 0;
    Aligned<double> gradient;  // [stride]
    Aligned<double> hessian;   // [stride][stride], lower triangle; empty when not wanted
};

}  // namespace svmfast

// Adds the rows order[0..count) to the sums (not yet divided by n, without the regularization term).
SVMFAST_DECLARE(void refit_rows(const RefitBasis &, const TrainingRows &, const std::int64_t *order, std::size_t count,
                                const double *theta, RefitSums &))
// kernel[0..stride) of one row.
SVMFAST_DECLARE(void refit_kernel_row(const RefitBasis &, const std::int32_t *columns, const double *values,
                                      std::size_t nnz, double norm, double *kernel))
// Solves a x = b in place for the lower triangle a [size][stride]; false when a is not positive definite.
SVMFAST_DECLARE(bool cholesky_solve(double *a, std::size_t size, std::size_t stride, double *b))
