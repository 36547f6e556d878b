// Packs truncated expansions in single precision and bounds the rounding error: docs/certificate.md, single precision.
#include "single_polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "polynomial.hpp"

namespace svmfast {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// The unit roundoff of single precision, and the spacing of its smallest numbers.
constexpr double UNIT = 0x1p-24, SMALLEST = 0x1p-149;
// If the number of roundings times UNIT is below this, relative errors are bounded with the factor 1.01.
constexpr double MOST_ROUNDED = 0.0099;
// The most that a bound may grow per unit of the value itself, for the margin below.
constexpr double MOST_RELATIVE = 0.005;
// Factors of rounding bounds: the classical 1.01, and 1.02 for what is bounded in double precision.
constexpr double SLACK = 1.01 * 1.02;
// SMALLEST of svmfast.solvers.residual: no nonzero number of a bound is below it. Beyond this exponent nothing is
// claimed.
constexpr double LEAST = 1e-300, LARGEST_EXPONENT = 600.0;
// More than a center's norm can lose by underflow.
constexpr double LEAST_NORM = 1e-150;

// The sum of squared coefficients divided by the number of permutations of their tuples, over all tuples with `left`
// more indices from `last` on. Of the `placed` earlier indices, the last `run` equal `last`; c advances past what is
// used.
double squares(const double *&c, std::size_t d, int left, std::size_t last, int run, int placed, double orderings) {
    if (!left) {
        const double x = *c++;
        return x * x / orderings;
    }
    double sum = 0;
    for (std::size_t i = last; i < d; ++i) {
        const int now = i == last ? run + 1 : 1;
        sum += squares(c, d, left - 1, i, now, placed + 1, orderings * (placed + 1) / now);
    }
    return sum;
}

double binomial(int n, int k) {
    double value = 1;
    for (int i = 1; i <= k; ++i) value = value * (n - k + i) / i;
    return value;
}

// errors[m] ||w||^m for the powers m up to `order` -> bounds of the same sum in powers of r, ||w|| <= r + shift.
std::vector<double> about_center(const std::vector<double> &errors, double shift) {
    std::vector<double> out(errors.size(), 0.0);
    for (std::size_t m = 0; m < errors.size(); ++m)
        for (std::size_t j = 0; j <= m; ++j)
            out[j] += errors[m] * binomial(int(m), int(j)) * std::pow(shift, double(m - j));
    return out;
}

}  // namespace

SinglePolynomials::SinglePolynomials(const Polynomials &p)
    : value_scale(1), coefficients(p.coefficients.size()), scale(p.orders.size(), 1.0),
      degrees(p.degrees->data(), p.degrees->data() + p.degrees->size()) {
    const std::size_t pieces = p.orders.size(), d = p.centers.shape(1), top = p.degrees->shape(2) - 1;
    // Rows of about 1, where the kernel has a width.
    const int exponent = p.gamma > 0 ? int(std::lround(std::log2(p.gamma) / 2)) : 0;
    value_scale = std::ldexp(1.0, exponent);
    std::vector<double> scaled;
    for (std::size_t i = 0; i < pieces; ++i) {
        const int order = p.orders.data()[i];
        const std::size_t monomials = monomials_up_to(d, order);
        const double *const own = p.coefficients.data() + p.starts.data()[i], *const rest = p.rest->data() + 5 * i;
        scaled.assign(own, own + monomials);
        double largest = 0;
        for (std::size_t at = 0, m = 0; m <= std::size_t(order); ++m)
            for (const std::size_t end = at + monomials_of_degree(d, int(m)); at < end; ++at) {
                scaled[at] = std::ldexp(scaled[at], -exponent * int(m));
                largest = std::max(largest, std::fabs(scaled[at]));
            }
        int power = 0;
        std::frexp(largest, &power);
        scale[i] = std::ldexp(1.0, power);
        for (std::size_t at = 0; at < monomials; ++at) {
            scaled[at] = std::ldexp(scaled[at], -power);
            coefficients[p.starts.data()[i] + at] = static_cast<float>(scaled[at]);
        }

        double *const bound = degrees.data() + i * (top + 1);
        const double roundings = 2.0 * order * (double(d) + 4) + 20;
        const double furthest = p.gamma > 0 ? rest[4] * LARGEST_EXPONENT / p.gamma : rest[4] > 0 ? INFINITE : 0;
        // (also for a nan)
        if (!(roundings * UNIT < MOST_ROUNDED) || !(rest[3] + furthest < MOST_RELATIVE) || std::size_t(order) > top ||
            !(largest < 1e300) || !(scale[i] > 0)) {
            bound[0] = INFINITE;
            continue;
        }
        std::vector<double> errors;
        const double *c = scaled.data();
        for (int m = 0; m <= order; ++m)
            errors.push_back(SLACK * roundings * UNIT * std::sqrt(squares(c, d, m, 0, 0, 0, 1)));
        const double lost = 2 * SMALLEST * (order + 4) * double(monomials);
        errors[0] += lost;
        errors[order] += lost;
        for (int m = 0; m <= order; ++m) errors[m] = errors[m] * std::ldexp(1.0, exponent * m) * scale[i] + LEAST;
        double square = 0;
        const double *const center = p.centers.data() + i / p.rho.size() * d;
        for (std::size_t f = 0; f < d; ++f) square += center[f] * center[f];
        if (p.about_zero) errors = about_center(errors, std::sqrt(square) * (1 + 1e-9) + LEAST_NORM);
        for (int m = 0; m <= order; ++m) bound[m] += errors[m];
    }
}

}  // namespace svmfast
