// Bounds on the difference between our decision values and LIBSVM's: the same sum in another order, with another form
// of the distance and another exponential. Derived in docs/certificate.md (the exact engine). Rows within this of a
// threshold are summed again as LIBSVM sums them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "math.hpp"

namespace svmfast {

struct Rounding {
    double kernel;  // of one kernel value
    double sum;     // of a decision value, for each unit of sum |coefficient|
    double rho;     // for each unit of |rho|
    double fixed;   // what underflow adds

    double of(double coef_l1, double offset) const { return sum * coef_l1 + rho * std::fabs(offset) + fixed; }
    // The same for the rbf kernel, whose values have the relative error `kernel`, from the computed sum of
    // |coefficient| times kernel value.
    double of_magnitude(double magnitude, double coef_l1, double offset) const {
        return std::min(of(coef_l1, offset), of(magnitude * (1 + 1e-6) + 1e-280 * coef_l1, offset));
    }
    // If data are badly scaled, digits cancel in our form of the rbf exponent, but not in LIBSVM's sum of squares.
    bool small() const { return kernel < 1e-9; }
};

// entries: the most of any support vector, and those of the row, including columns that the model lacks.
// longest: the largest norm of a support vector.
static inline Rounding rounding(KernelKind kind, double gamma, double coef0, int degree, std::size_t vectors,
                                std::size_t entries, double longest, double squared_norm) {
    constexpr double u = std::numeric_limits<double>::epsilon();
    // A square below the range of doubles hides a number below 1e-160; what else underflows is off by less than `tiny`.
    constexpr double hidden = 1e-150, tiny = 1e-300;
    const double x = longest + hidden, z = std::sqrt(squared_norm) + hidden, size = std::fabs(gamma);
    const double terms = static_cast<double>(entries) + 10, sums = static_cast<double>(vectors) + 30;
    // The argument of the kernel function; u times its error is never below what underflows in it.
    const double argument = (kind == KernelKind::linear ? 1.0 : size) * x * z +
                            (kind == KernelKind::linear ? 0.0 : std::fabs(coef0)) + 1e-280 * (1 + size + x + z);
    double largest = 1, kernel = 0;  // |kernel value|; its error over u
    switch (kind) {
        case KernelKind::rbf:  // the exponent is a difference of terms up to gamma (||x|| + ||z||)^2
            kernel = terms * (size * (x + z) * (x + z) + 1e-280 * (1 + size + x + z));
            break;
        case KernelKind::polynomial:
            largest = powi(argument, degree);
            kernel = terms * degree * largest;
            break;
        case KernelKind::sigmoid:
            kernel = terms * argument;
            break;
        case KernelKind::linear:
            largest = argument;
            kernel = terms * argument;
            break;
    }
    const double of_kernel = u * kernel + tiny;
    // Where `largest` is above 1, u * sums * largest contains its underflow. A linear model's sum starts from -rho, so
    // every addition also rounds rho's digits.
    return {of_kernel, of_kernel + u * sums * largest, kind == KernelKind::linear ? u * terms : 2 * u, tiny * (1 + z)};
}

}  // namespace svmfast
