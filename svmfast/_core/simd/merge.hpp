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

// h: golden section search for the maximum of s on [0, 1/2]; `iterations` shrink the width below the precision. Below
// kappa = e^-2 s can have two modes, one in each half of [0, 1], and the better one must be found. For m <= 1/2 it is
// the one in [0, 1/2], since s(h) - s(1-h) = (1-2m) (kappa^(h^2) - kappa^((1-h)^2)) >= 0 there.
inline vd search_h(vd m, vd log_kappa, int iterations) {
    vd a = vd{}, b = broadcast(0.5);
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

constexpr int golden_iterations(double width, double eps) {
    int n = 0;
    for (; width > eps; width *= GOLDEN) ++n;
    return n;
}

// Cell number and position within the cell of u in [0, cells].
inline void split_cell(vd u, std::size_t cells, vi &cell, vd &part) {
    constexpr double magic = Exponent<double>::magic;  // adding it rounds to an integer in the low bits
    const vd shifted = minimum(maximum(u - 0.5, vd{}), broadcast(static_cast<double>(cells) - 1.0)) + magic;
    cell = (vi)shifted - (vi)broadcast(magic);
    part = u - (shifted - magic);
}

// One of the tables at m <= 1/2, interpolated: the angle with which the weight degradation increases for a fixed
// smaller coefficient (see MergeTable), or h, which is continuous there.
inline vd lookup(const MergeTable &t, const float *values, vd m, vd kappa) {
    vi row, column;
    vd row_part, column_part, v00 = {}, v01 = {}, v10 = {}, v11 = {};
    split_cell(m * static_cast<double>(t.n), t.n / 2, row, row_part);
    split_cell(kappa * static_cast<double>(t.n - 1), t.n - 1, column, column_part);
    const vi at = row * static_cast<std::int64_t>(t.n) + column;
    gather_pair(values, at, v00, v01);
    gather_pair(values + t.n, at, v10, v11);
    const vd low = fma(column_part, v01 - v00, v00), high = fma(column_part, v11 - v10, v10);
    return fma(row_part, high - low, low);
}

// Which two support vectors to merge: the one with the smallest coefficient, and the partner of the same sign that
// degrades the weight least.

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// Coefficients closer than this count as equal, so that rounding does not choose between unmerged points.
constexpr double TIE = 1.0 + 1e-9;

inline vd lane_numbers() {
    return of_lanes<vd>([](std::size_t i) { return static_cast<double>(i); }, std::make_index_sequence<W>());
}

// The first partner: smallest |coefficient|. Unmerged points all have the same one; the oldest of them is taken, so
// that the budget keeps turning over (taking the newest would freeze the first B points and reduce the accuracy).
inline std::size_t smallest_slot(const BudgetState &s) {
    vd least = broadcast(INFINITE);
    for (std::size_t j = 0; j < s.stride; j += W) {
        const vd a = absolute(load(&s.coef[j]));
        const vd used = a > 0.0 ? a : INFINITE + vd{};
        least = minimum(least, used);
    }
    const double limit = TIE * across(least, [](auto a, auto b) { return b < a ? b : a; });
    vd oldest = broadcast(INFINITE), at = vd{}, index = lane_numbers();
    for (std::size_t j = 0; j < s.stride; j += W, index += static_cast<double>(W)) {
        const vd a = absolute(load(&s.coef[j])), born = load(&s.born[j]);
        const auto better = (a > 0.0) & (a <= limit) & (born < oldest);
        oldest = better ? born : oldest;
        at = better ? index : at;
    }
    double best = INFINITE;
    std::size_t slot = 0;
    for (std::size_t i = 0; i < W; ++i)
        if (oldest[i] < best) best = oldest[i], slot = static_cast<std::size_t>(at[i]);
    return slot;
}

constexpr std::size_t NONE = SIZE_MAX;

// Lists the slots that may be the best partner, in order; with `reach`, without those that are too far away compared
// with the nearest. Returns their number.
inline std::size_t list_candidates(BudgetState &s, std::size_t first, const float *reach) {
    const double sign = s.coef[first] > 0 ? 1.0 : -1.0, self = static_cast<double>(first);
    const double *const kernel = s.kernel.data(), *const coef = s.coef.data();
    vd index = lane_numbers();
    double floor = 0.0;
    if (reach) {
        vd nearest = vd{}, number = index;
        for (std::size_t j = 0; j < s.stride; j += W, number += static_cast<double>(W))
            nearest = maximum(nearest, ((load(coef + j) * sign > 0.0) & (number != self)) ? load(kernel + j) : vd{});
        const double kappa = across(nearest, [](auto a, auto b) { return a < b ? b : a; });
        const std::size_t cells = s.table.n - 1;
        floor = reach[std::min(static_cast<std::size_t>(kappa * static_cast<double>(cells)), cells - 1)];
    }
    std::int64_t *const begin = s.candidates.data(), *end = begin;
    for (std::size_t j = 0; j < s.stride; j += W, index += static_cast<double>(W))
        end = append_lanes(end, (load(coef + j) * sign > 0.0) & (index != self) & (load(kernel + j) >= floor),
                           static_cast<std::int64_t>(j));
    const std::size_t count = static_cast<std::size_t>(end - begin);
    std::fill_n(end, W, 0);  // fills the last vector
    return count;
}

// The candidate where cost(m, log2 kappa, kappa, both) is smallest, ties to the lower slot; `both` is the sum of the
// two coefficients.
template <class Cost>
inline std::size_t best_partner(BudgetState &s, std::size_t first, const float *reach, Cost &&cost) {
    const std::size_t count = list_candidates(s, first, reach);
    const double own = std::fabs(s.coef[first]);
    vd best = broadcast(INFINITE), at = broadcast(-1.0), rank = lane_numbers();
    for (std::size_t j = 0; j < count; j += W, rank += static_cast<double>(W)) {
        vi slot;
        std::memcpy(&slot, s.candidates.data() + j, sizeof slot);
        const vd both = own + absolute(gather(s.coef.data(), slot));
        const vd m = minimum(own / both, broadcast(0.5));  // `own` is the smaller; ties may round above 1/2
        const vd loss = cost(m, gather(s.log_kernel.data(), slot), gather(s.kernel.data(), slot), both);
        const auto better = (rank < static_cast<double>(count)) & (loss < best);
        best = better ? loss : best;
        at = better ? rank : at;
    }
    std::size_t partner = NONE;
    double least = INFINITE;
    for (std::size_t i = 0; i < W; ++i) {
        if (at[i] < 0) continue;
        const std::size_t slot = static_cast<std::size_t>(s.candidates[static_cast<std::size_t>(at[i])]);
        if (partner == NONE || best[i] < least || (best[i] == least && slot < partner)) least = best[i], partner = slot;
    }
    return partner;
}

constexpr int GSS_ITERATIONS = golden_iterations(0.5, 0.01), PRECISE_ITERATIONS = golden_iterations(0.5, 1e-10);

// h by the strategy's own means.
inline vd find_h(const BudgetState &s, vd m, vd kappa, vd log_kappa) {
    if (s.maintenance == Maintenance::gss) return search_h(m, log_kappa, GSS_ITERATIONS);
    if (s.maintenance == Maintenance::gss_precise) return search_h(m, log_kappa, PRECISE_ITERATIONS);
    return lookup(s.table, s.table.h, m, kappa);
}

inline std::size_t find_partner(BudgetState &s, std::size_t first) {
    if (s.maintenance == Maintenance::lookup_wd)
        return best_partner(s, first, s.table.reach,
                            [&](vd m, vd, vd kappa, vd) { return lookup(s.table, s.table.angle, m, kappa); });
    return best_partner(s, first, nullptr, [&](vd m, vd log_kappa, vd kappa, vd both) {
        const vd length = merged_length(m, log_kappa, find_h(s, m, kappa, log_kappa));
        return both * both * relative_degradation(m, exp2(log_kappa), length);
    });
}

struct Merge {
    double h, coef;
};

inline Merge solve_merge(const BudgetState &s, std::size_t first, std::size_t second) {
    const double a = std::fabs(s.coef[first]), b = std::fabs(s.coef[second]), both = a + b;
    const vd m = broadcast(std::min(a / both, 0.5)), log_kappa = broadcast(s.log_kernel[second]);
    const vd h = find_h(s, m, exp2(log_kappa), log_kappa);
    return {h[0], std::copysign(both * merged_length(m, log_kappa, h)[0], s.coef[second])};
}

}  // namespace svmfast::SVMFAST_ISA
