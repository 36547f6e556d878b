// Truncated expansions in single precision, for labels that the bound proves (docs/certificate.md, single precision).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aligned.hpp"
#include "arrays.hpp"

namespace svmfast {

// The polynomials of a model: piece = cell * functions + function.
struct Polynomials {
    In1<std::int32_t> features;  // the column of each variable, ascending
    double gamma;
    bool about_zero;
    In2<double> centers;       // [cell][d]
    In2<std::int32_t> orders;  // [cell][function]
    In2<std::int64_t> starts;  // the same
    In1<double> coefficients, rho;
    // [cell][function][top + 1] and [cell][function][5], those of svmfast.certificate.REST and expansion_bounds.
    std::optional<In3<double>> degrees, rest;
};

struct SinglePolynomials {
    double value_scale;           // the factor of the rows, a power of two
    Aligned<float> coefficients;  // in the same places, of scaled rows, and divided by the piece's scale
    std::vector<double> scale;    // [piece], a power of two
    std::vector<double> degrees;  // [piece][top + 1]: bounds for single precision; infinite where it cannot be used

    explicit SinglePolynomials(const Polynomials &);
};

}  // namespace svmfast
