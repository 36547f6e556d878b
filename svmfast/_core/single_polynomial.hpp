// Truncated expansions in single precision, for labels that the bound proves (docs/certificate.md, single precision).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "aligned.hpp"

namespace svmfast {

// The polynomials of a model as its owner holds them: piece = cell * functions + function.
struct Polynomials {
    std::size_t cells, functions, d;
    double gamma;
    bool about_zero;
    const double *centers;       // [cell][d]
    const std::int32_t *orders;  // [piece]
    const std::int64_t *starts;  // [piece]
    const double *coefficients;
    const double *degrees, *rest;  // [piece][top + 1] and [piece][5], those of expansion_bounds
    std::size_t top;
};

struct SinglePolynomials {
    double value_scale;           // the factor of the rows, a power of two
    Aligned<float> coefficients;  // in the same places, of scaled rows, and divided by the piece's scale
    std::vector<double> scale;    // [piece], a power of two
    std::vector<double> degrees;  // [piece][top + 1]: bounds for single precision; infinite where it cannot be used

    explicit SinglePolynomials(const Polynomials &);
};

}  // namespace svmfast
