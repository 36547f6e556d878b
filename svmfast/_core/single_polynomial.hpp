// The model of polynomial.hpp in single precision, for labels that the bound proves (docs/certificate.md, single
// precision).
#pragma once
#include <vector>

#include "aligned.hpp"
#include "polynomial.hpp"

namespace svmfast {

struct SinglePolynomials {
    double value_scale;           // the factor of the rows, a power of two
    Aligned<float> coefficients;  // in the same places, of scaled rows, and divided by the piece's scale
    std::vector<double> scale;    // [piece], a power of two
    std::vector<double> degrees;  // [piece][top + 1]: bounds for single precision; infinite where it cannot be used

    explicit SinglePolynomials(const Polynomials &);
};

}  // namespace svmfast
