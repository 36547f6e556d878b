// The merging problem of two support vectors of the same sign: svmfast/methods/budget/sgd.py has the formulas. m is the
// share of x_i, the point whose weight in z is h; the paper's algorithm 1 has the partner's share, which contradicts
// its z. kappa enters as its logarithm to base 2, which is available.
#pragma once
#include "budget.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {

constexpr double GOLDEN = 0.6180339887498949;

inline vd merged_length(vd m, vd log_kappa, vd h) {
    const vd g = 1.0 - h;
    return fma(m, exp2(log_kappa * (g * g)), (1.0 - m) * exp2(log_kappa * (h * h)));
}

inline vd relative_degradation(vd m, vd kappa, vd s) {
    const vd n = 1.0 - m;
    return maximum(m * m + n * n + 2.0 * m * n * kappa - s * s, vd{});
}

// Golden section search for the maximum of s on [low, low + width]; `iterations` shrink the width below the precision.
inline vd golden_section(vd m, vd log_kappa, double low, double width, int iterations) {
    vd a = broadcast(low), b = broadcast(low + width);
    vd left = b - GOLDEN * (b - a), right = a + GOLDEN * (b - a);
    vd s_left = merged_length(m, log_kappa, left), s_right = merged_length(m, log_kappa, right);
    for (int i = 0; i < iterations; ++i) {
        const auto keep_left = s_left >= s_right;
        a = keep_left ? a : left;
        b = keep_left ? right : b;
        const vd probe = keep_left ? b - GOLDEN * (b - a) : a + GOLDEN * (b - a);
        const vd value = merged_length(m, log_kappa, probe);
        const vd old_left = left, old_s_left = s_left;
        left = keep_left ? probe : right;
        s_left = keep_left ? value : s_right;
        right = keep_left ? old_left : probe;
        s_right = keep_left ? old_s_left : value;
    }
    return 0.5 * (a + b);
}

// One Newton step on s'(h) = 0, where s is concave: it makes a looked-up h exact up to rounding.
inline double improve_h(double m, double log_kappa, double h) {
    const double g = 1.0 - h, l = log_kappa * 0.6931471805599453;
    vd exponents = vd{};
    exponents[0] = log_kappa * g * g;
    exponents[1] = log_kappa * h * h;
    const vd e = exp2(exponents);
    const double at_i = m * e[0], at_j = (1.0 - m) * e[1];
    const double slope = h * at_j - g * at_i,
                 curvature = at_i * (1.0 + 2.0 * l * g * g) + at_j * (1.0 + 2.0 * l * h * h);
    if (!(curvature > 0.0)) return h;
    const double better = h - slope / curvature;
    return better >= 0.0 && better <= 1.0 ? better : h;
}

inline int golden_iterations(double width, double eps) {
    int n = 0;
    for (; width > eps; width *= GOLDEN) ++n;
    return n;
}

// Cell number and position within the cell of u in [0, cells].
inline void split_cell(vd u, std::size_t cells, vi &cell, vd &part) {
    constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
    const vd shifted = minimum(maximum(u - 0.5, vd{}), broadcast(static_cast<double>(cells) - 1.0)) + magic;
    cell = (vi)shifted - (vi)broadcast(magic);
    part = u - (shifted - magic);
}

struct TableCell {
    vi at;
    vd row_part, column_part;
};

inline TableCell table_cell(const MergeTable &t, vd m, vd kappa) {
    TableCell cell;
    vi row, column;
    split_cell(m * static_cast<double>(t.n), t.n / 2, row, cell.row_part);
    split_cell(kappa * static_cast<double>(t.n - 1), t.n - 1, column, cell.column_part);
    cell.at = row * static_cast<std::int64_t>(t.n) + column;
    return cell;
}

inline vd bilinear(const float *values, std::size_t n, const TableCell &cell) {
    vd v00, v01, v10, v11;
    gather_pair(values, cell.at, v00, v01);
    gather_pair(values + n, cell.at, v10, v11);
    const vd low = fma(cell.column_part, v01 - v00, v00), high = fma(cell.column_part, v11 - v10, v10);
    return fma(cell.row_part, high - low, low);
}

// The angle with which the weight degradation increases, for m <= 1/2 and a fixed smaller coefficient; see MergeTable.
inline vd lookup_angle(const MergeTable &t, vd m, vd kappa) { return bilinear(t.angle, t.n, table_cell(t, m, kappa)); }

// h at m <= 1/2, where it is continuous.
inline vd lookup_h(const MergeTable &t, vd m, vd kappa) { return bilinear(t.h, t.n, table_cell(t, m, kappa)); }

}  // namespace svmfast::SVMFAST_ISA
