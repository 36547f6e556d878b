// Bounds on the distance of a row's sums in single precision from the values of LIBSVM's own arithmetic: proven in
// docs/single-precision.md.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/single_rows.hpp"

namespace svmfast::SVMFAST_ISA {

class RowBound {
  public:
    RowBound(const SinglePack &s, const RowFacts &facts)
        : s(&s), error(facts.argument_error), underflow(static_cast<double>(s.e.n) * 0x1p-118 * s.coef_scale) {
        if (s.e.kind != KernelKind::rbf) {
            of_dot_products(facts);
            return;
        }
        const double far = s.reach + facts.norm, terms = static_cast<double>(s.e.active.size()) + facts.entries + 10;
        relative = 1.001 * (0.72 * error + 1.1 * FUNCTION_ERROR + SUM_ERROR);
        libsvm.sum = EPSILON * (terms * s.e.gamma * far * far + static_cast<double>(s.e.n) + 30);
        libsvm.rho = 2 * EPSILON;
    }

    // Of a sum of kernel values with coefficients of the sum `l1` of magnitudes, where `magnitude` is that of the
    // terms.
    double of(double magnitude, double l1) const {
        return relative * magnitude + fixed * l1 + (degree > 0 ? of_arguments(magnitude, l1) : 0);
    }
    // What LIBSVM's arithmetic, and underflow, add to decision function p.
    double room(std::size_t p) const { return libsvm.of(s->e.coef_l1[p], s->e.rho[p]) + underflow; }

  private:
    static constexpr double EPSILON = std::numeric_limits<double>::epsilon();

    const SinglePack *s;
    double error;  // of an argument
    double underflow;
    int degree = 0;       // of a polynomial kernel
    double relative = 0;  // for each unit of magnitude,
    double fixed = 0;     // and of sum |coefficient|
    Rounding libsvm{};

    void of_dot_products(const RowFacts &facts) {
        const Expansion &e = s->e;
        underflow *= stretch(*s, facts);
        if (e.kind == KernelKind::polynomial) {
            degree = std::max(e.degree, 0);
            relative = 1.001 * (1.01 * degree * U + SUM_ERROR);
        } else {
            fixed = error + 1.001 * (TANH_ERROR + SUM_ERROR) * std::min(1.0, facts.argument);
        }
        libsvm = rounding(e.kind, e.gamma, e.coef0, e.degree, e.n,
                          e.max_entries + static_cast<std::size_t>(facts.entries), e.max_norm, facts.norm * facts.norm);
    }
    // What the errors of the arguments change, from the mean of their powers.
    double of_arguments(double magnitude, double l1) const {
        if (!(l1 > 0)) return 0;
        const double mean = std::pow(1.001 * (magnitude + underflow) / l1, 1.0 / degree);
        return 1.01 * degree * error * std::pow(mean + error, degree - 1) * l1;
    }
};

}  // namespace svmfast::SVMFAST_ISA
