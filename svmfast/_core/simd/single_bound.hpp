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
        : s(&s), error(facts.argument_error), underflow(static_cast<double>(s.e.n) * 0x1p-118 * s.coef_scale * stretch(s, facts)) {
        const double n = static_cast<double>(s.e.n), entries = facts.entries;
        switch (s.e.kind) {
            case KernelKind::polynomial:
                degree = std::max(s.e.degree, 0);
                relative = 1.001 * (1.01 * degree * U + SUM_ERROR);
                break;
            case KernelKind::sigmoid:
                fixed = error + 1.001 * (TANH_ERROR + SUM_ERROR) * std::min(1.0, facts.argument);
                break;
            default: {
                const double far = s.reach + facts.norm;
                relative = 1.001 * (0.72 * error + 1.1 * FUNCTION_ERROR + SUM_ERROR);
                libsvm = {0, EPSILON * ((static_cast<double>(s.e.active.size()) + entries + 10) * s.e.gamma * far * far + n + 30), 2 * EPSILON, 0};
                return;
            }
        }
        libsvm = rounding(s.e.kind, s.e.gamma, s.e.coef0, s.e.degree, s.e.n, s.e.max_entries + static_cast<std::size_t>(entries), s.e.max_norm, facts.norm * facts.norm);
    }

    // Of a sum of kernel values with coefficients of the sum `l1` of magnitudes, where `magnitude` is that of the terms.
    double of(double magnitude, double l1) const {
        double reach = relative * magnitude + fixed * l1;
        if (degree > 0 && l1 > 0) {
            // The mean of the arguments' powers.
            const double mean = std::pow(1.001 * (magnitude + underflow) / l1, 1.0 / degree);
            reach += 1.01 * degree * error * std::pow(mean + error, degree - 1) * l1;
        }
        return reach;
    }
    // What LIBSVM's arithmetic, and underflow, add to decision function p.
    double room(std::size_t p) const { return libsvm.of(s->e.coef_l1[p], s->e.rho[p]) + underflow; }

  private:
    static constexpr double EPSILON = std::numeric_limits<double>::epsilon();

    const SinglePack *s;
    double error;
    double underflow;
    int degree = 0;       // of a polynomial kernel
    double relative = 0;  // for each unit of magnitude,
    double fixed = 0;     // and of sum |coefficient|
    Rounding libsvm{};
};

}  // namespace svmfast::SVMFAST_ISA
