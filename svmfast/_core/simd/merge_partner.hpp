// Which two support vectors to merge: the one with the smallest coefficient, and the partner of the same sign that
// degrades the weight least.
#pragma once
#include "simd/merge.hpp"

namespace svmfast::SVMFAST_ISA {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// Coefficients closer than this count as equal, so that rounding does not choose between unmerged points.
constexpr double TIE = 1.0 + 1e-9;
constexpr double GSS_EPS = 0.01, PRECISE_EPS = 1e-10;

// The first partner: smallest |coefficient|. Unmerged points all have the same one; the oldest of them is taken, so
// that the budget keeps turning over (taking the newest would freeze the first B points and reduce the accuracy).
inline std::size_t smallest_slot(const BudgetState &s) {
    vd least = broadcast(INFINITE);
    for (std::size_t j = 0; j < s.stride; j += W) {
        const vd a = absolute(load(&s.coef[j]));
        const vd used = a > 0.0 ? a : INFINITE + vd{};
        least = minimum(least, used);
    }
    double limit = INFINITE;
    for (std::size_t i = 0; i < W; ++i) limit = std::min(limit, least[i]);
    limit *= TIE;
    vd oldest = broadcast(INFINITE), at = vd{};
    vd index = vd{};
    for (std::size_t i = 0; i < W; ++i) index[i] = static_cast<double>(i);
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
    vd index = vd{};
    for (std::size_t i = 0; i < W; ++i) index[i] = static_cast<double>(i);
    double floor = 0.0;
    if (reach) {
        vd nearest = vd{}, number = index;
        for (std::size_t j = 0; j < s.stride; j += W, number += static_cast<double>(W))
            nearest = maximum(nearest, ((load(coef + j) * sign > 0.0) & (number != self)) ? load(kernel + j) : vd{});
        double kappa = nearest[0];
        for (std::size_t i = 1; i < W; ++i) kappa = std::max(kappa, nearest[i]);
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
    vd best = broadcast(INFINITE), at = broadcast(-1.0), rank = vd{};
    for (std::size_t i = 0; i < W; ++i) rank[i] = static_cast<double>(i);
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

// Below kappa = e^-2 s can have two modes, one in each half of [0, 1], and the better one must be found. For m <= 1/2
// it is the one in [0, 1/2], since s(h) - s(1-h) = (1-2m) (kappa^(h^2) - kappa^((1-h)^2)) >= 0 there, so the other
// half is not searched.
inline vd search_h(vd m, vd log_kappa, int iterations) { return golden_section(m, log_kappa, 0.0, 0.5, iterations); }

inline int search_iterations(Maintenance method) {
    return golden_iterations(0.5, method == Maintenance::gss ? GSS_EPS : PRECISE_EPS);
}

inline vd degradation_at(vd m, vd log_kappa, vd both, vd h) {
    return both * both * relative_degradation(m, exp2(log_kappa), merged_length(m, log_kappa, h));
}

inline std::size_t find_partner(BudgetState &s, std::size_t first) {
    const MergeTable &table = s.table;
    switch (s.maintenance) {
        case Maintenance::lookup_h:
            return best_partner(s, first, nullptr, [&](vd m, vd log_kappa, vd kappa, vd both) {
                return degradation_at(m, log_kappa, both, lookup_h(table, m, kappa));
            });
        case Maintenance::gss:
        case Maintenance::gss_precise: {
            const int iterations = search_iterations(s.maintenance);
            return best_partner(s, first, nullptr, [=](vd m, vd log_kappa, vd, vd both) {
                return degradation_at(m, log_kappa, both, search_h(m, log_kappa, iterations));
            });
        }
        default:
            return best_partner(s, first, table.reach,
                                [&](vd m, vd, vd kappa, vd) { return lookup_angle(table, m, kappa); });
    }
}

inline double find_h(const BudgetState &s, double m, double kappa, double log_kappa) {
    const vd vm = broadcast(m), vk = broadcast(kappa), vl = broadcast(log_kappa);
    if (s.maintenance == Maintenance::gss || s.maintenance == Maintenance::gss_precise)
        return search_h(vm, vl, search_iterations(s.maintenance))[0];
    return improve_h(m, log_kappa, lookup_h(s.table, vm, vk)[0]);
}

struct Merge {
    double h, coef;
};

inline Merge solve_merge(const BudgetState &s, std::size_t first, std::size_t second) {
    const double a = std::fabs(s.coef[first]), b = std::fabs(s.coef[second]), both = a + b;
    const double m = std::min(a / both, 0.5), log_kappa = s.log_kernel[second];
    const double kappa = exp2(broadcast(log_kappa))[0];
    const double h = find_h(s, m, kappa, log_kappa);
    const double length = merged_length(broadcast(m), broadcast(log_kappa), broadcast(h))[0];
    return {h, std::copysign(both * length, s.coef[second])};
}

}  // namespace svmfast::SVMFAST_ISA
