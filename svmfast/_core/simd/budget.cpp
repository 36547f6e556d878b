// Budgeted stochastic gradient descent: the step, and what keeps the number of support vectors at the budget.
#include "budget.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simd/kernel_row.hpp"
#include "simd/merge.hpp"
#include "ticks.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// Coefficients closer than this count as equal: rounding must not choose between unmerged points.
constexpr double TIE = 1.0 + 1e-9;
constexpr double GSS_EPS = 0.01, PRECISE_EPS = 1e-10;
// A vector's scale is folded into its numbers before it underflows.
constexpr double SMALLEST_SCALE = 1e-100;
// Projection: added to the kernel matrix's diagonal; its inverse is made afresh every so many changes.
constexpr double RIDGE = 1e-6;
constexpr std::int64_t INVERSE_REFRESH = 1024;

std::size_t active_octets(const BudgetState &s) {
    return s.occupied < s.budget ? s.occupied / 8 + 1 : s.octets();
}

// Inner products and kernel values of a row with every slot; returns the sum of coefficient * kernel.
double kernel_row(BudgetState &s, const std::int32_t *columns, const double *values, std::size_t nnz, double norm) {
    const std::size_t octets = active_octets(s);
    dot_row(octets, s.vectors.data(), s.stride, columns, values, nnz, s.raw.data());
    const vd row_offset = broadcast(s.gamma * BudgetState::LOG2_E * norm);
    const double *const raw = s.raw.data(), *const gain = s.gain.data(), *const offset = s.offset.data();
    const double *const coef = s.coef.data();
    double *const log_kernels = s.log_kernel.data(), *const kernels = s.kernel.data();
    vd sum[PER_OCTET] = {};
    for (std::size_t o = 0; o < octets; ++o)
        for (std::size_t i = 0; i < PER_OCTET; ++i) {
            const std::size_t j = o * 8 + i * W;
            const vd log_kernel = minimum(fma(load(raw + j), load(gain + j), load(offset + j) - row_offset), vd{});
            const vd kernel = exp2_fast(log_kernel);
            store(log_kernels + j, log_kernel);
            store(kernels + j, kernel);
            sum[i] = fma(load(coef + j), kernel, sum[i]);
        }
    return octet_sum(sum);
}

// Coefficient (without 1 / (lambda t)) that the loss's subgradient asks for.
double step_coefficient(const BudgetState &s, double target, double f) {
    if (s.loss == Loss::hinge) return target * f < 1.0 ? target * s.weight[target > 0] : 0.0;
    const double residual = target - f;
    if (std::fabs(residual) <= s.epsilon) return 0.0;
    return residual > 0 ? 1.0 : -1.0;
}

void put(BudgetState &s, std::size_t slot, const TrainingRows &rows, std::int64_t row, double coef) {
    const std::int64_t begin = rows.indptr[row], end = rows.indptr[row + 1];
    SlotEntries &entries = s.entries[slot];
    entries.columns.assign(rows.indices + begin, rows.indices + end);
    entries.values.assign(rows.values + begin, rows.values + end);
    entries.current = true;
    for (std::int64_t p = begin; p < end; ++p)
        s.vectors[static_cast<std::size_t>(rows.indices[p]) * s.stride + slot] = rows.values[p];
    s.place(slot, 1.0, rows.norms[row]);
    s.coef[slot] = coef;
    s.born[slot] = static_cast<double>(s.steps);
}

// The non-zero entries of a slot's vector.
const SlotEntries &find_entries(BudgetState &s, std::size_t slot) {
    if (s.entries[slot].current) return s.entries[slot];
    SlotEntries &found = s.found;
    found.columns.resize(s.columns + 1);  // one more: an entry is written before it is known to count
    found.values.resize(s.columns + 1);
    std::size_t n = 0;
    const double *v = s.vectors.data() + slot;
    for (std::size_t k = 0; k < s.columns; ++k, v += s.stride) {
        found.columns[n] = static_cast<std::int32_t>(k);
        found.values[n] = *v * s.scale[slot];
        n += *v != 0.0;
    }
    found.columns.resize(n);
    found.values.resize(n);
    return found;
}

void kernel_row(BudgetState &s, const SlotEntries &entries, double norm) {
    kernel_row(s, entries.columns.data(), entries.values.data(), entries.columns.size(), norm);
}

// Empties a slot whose entries are given.
void clear(BudgetState &s, std::size_t slot, const SlotEntries &entries) {
    for (const std::int32_t column : entries.columns) s.vectors[static_cast<std::size_t>(column) * s.stride + slot] = 0.0;
    s.place(slot, 1.0, 0.0);
    s.coef[slot] = s.born[slot] = 0.0;
    s.entries[slot].current = false;
    s.free_slot = slot;
    --s.occupied;
}

inline vd magnitude(vd v) { return maximum(v, -v); }

// The first partner: smallest |coefficient|. Unmerged points all have the same one; the oldest of them goes, so that
// the budget keeps turning over (taking the newest would freeze the first B points, at a cost in accuracy).
std::size_t smallest_slot(const BudgetState &s) {
    vd least = broadcast(INFINITE);
    for (std::size_t j = 0; j < s.stride; j += W) {
        const vd a = magnitude(load(&s.coef[j]));
        const vd used = a > 0.0 ? a : INFINITE + vd{};
        least = minimum(least, used);
    }
    double limit = INFINITE;
    for (std::size_t i = 0; i < W; ++i) limit = std::min(limit, least[i]);
    limit *= TIE;
    vd oldest = broadcast(INFINITE), at = vd{};
    vd index;
    for (std::size_t i = 0; i < W; ++i) index[i] = static_cast<double>(i);
    for (std::size_t j = 0; j < s.stride; j += W, index += static_cast<double>(W)) {
        const vd a = magnitude(load(&s.coef[j])), born = load(&s.born[j]);
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

// Lists the slots that may be the best partner, in order. With `reach` those too far away beside the nearest are left
// out. Returns how many there are.
std::size_t list_candidates(BudgetState &s, std::size_t first, const float *reach) {
    const double sign = s.coef[first] > 0 ? 1.0 : -1.0, self = static_cast<double>(first);
    const double *const kernel = s.kernel.data(), *const coef = s.coef.data();
    vd index;
    for (std::size_t i = 0; i < W; ++i) index[i] = static_cast<double>(i);
    double floor = 0.0;
    if (reach) {
        vd nearest = vd{}, number = index;
        for (std::size_t j = 0; j < s.stride; j += W, number += static_cast<double>(W))
            nearest = maximum(nearest, (load(coef + j) * sign > 0.0) & (number != self) ? load(kernel + j) : vd{});
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

// The candidate where cost(m, log2 kappa, kappa, both) is smallest, ties to the lower slot; `both` is the sum of the two
// coefficients.
template <class Cost>
std::size_t best_partner(BudgetState &s, std::size_t first, const float *reach, Cost &&cost) {
    const std::size_t count = list_candidates(s, first, reach);
    const double own = std::fabs(s.coef[first]);
    vd best = broadcast(INFINITE), at = broadcast(-1.0), rank;
    for (std::size_t i = 0; i < W; ++i) rank[i] = static_cast<double>(i);
    for (std::size_t j = 0; j < count; j += W, rank += static_cast<double>(W)) {
        vi slot;
        std::memcpy(&slot, s.candidates.data() + j, sizeof slot);
        const vd both = own + magnitude(gather(s.coef.data(), slot));
        const vd m = minimum(own / both, broadcast(0.5));  // own is the smallest; ties may round above 1/2
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

// Below kappa = e^-2 s can have two modes, one in either half of [0, 1], and the better one must be found. At m <= 1/2 it
// is the one in [0, 1/2], since s(h) - s(1-h) = (1-2m) (kappa^(h^2) - kappa^((1-h)^2)) >= 0 there: the other half cannot
// win and is not searched.
inline vd search_h(vd m, vd log_kappa, int iterations) { return golden_section(m, log_kappa, 0.0, 0.5, iterations); }

int search_iterations(Maintenance method) {
    return golden_iterations(0.5, method == Maintenance::gss ? GSS_EPS : PRECISE_EPS);
}

inline vd degradation_at(vd m, vd log_kappa, vd both, vd h) {
    return both * both * relative_degradation(m, exp2(log_kappa), merged_length(m, log_kappa, h));
}

std::size_t find_partner(BudgetState &s, std::size_t first, Maintenance method) {
    const MergeTable &table = s.table;
    switch (method) {
        case Maintenance::lookup_h:
            return best_partner(s, first, nullptr, [&](vd m, vd log_kappa, vd kappa, vd both) {
                return degradation_at(m, log_kappa, both, lookup_h(table, m, kappa));
            });
        case Maintenance::gss:
        case Maintenance::gss_precise: {
            const int iterations = search_iterations(method);
            return best_partner(s, first, nullptr, [=](vd m, vd log_kappa, vd, vd both) {
                return degradation_at(m, log_kappa, both, search_h(m, log_kappa, iterations));
            });
        }
        default:
            return best_partner(s, first, table.reach,
                                [&](vd m, vd, vd kappa, vd) { return lookup_angle(table, m, kappa); });
    }
}

double find_h(const BudgetState &s, double m, double kappa, double log_kappa, Maintenance method) {
    const vd vm = broadcast(m), vk = broadcast(kappa), vl = broadcast(log_kappa);
    if (method == Maintenance::gss || method == Maintenance::gss_precise)
        return search_h(vm, vl, search_iterations(method))[0];
    return improve_h(m, log_kappa, lookup_h(s.table, vm, vk)[0]);
}

struct Merge {
    double h, coef, degradation;
};

Merge solve_merge(const BudgetState &s, std::size_t first, std::size_t second, Maintenance method) {
    const double a = std::fabs(s.coef[first]), b = std::fabs(s.coef[second]), both = a + b;
    const double m = std::min(a / both, 0.5), log_kappa = s.log_kernel[second];
    const double kappa = exp2(broadcast(log_kappa))[0];
    const double h = find_h(s, m, kappa, log_kappa, method);
    const double length = merged_length(broadcast(m), broadcast(log_kappa), broadcast(h))[0];
    const double wd = relative_degradation(broadcast(m), broadcast(kappa), broadcast(length))[0];
    return {h, std::copysign(both * length, s.coef[second]), both * both * wd};
}

// z = h x_first + (1-h) x_second takes the second's slot; only the entries of the first are touched.
void merge_into(BudgetState &s, std::size_t first, const SlotEntries &entries, std::size_t second, const Merge &merge) {
    const double h = merge.h, g = 1.0 - h;
    const double dot = s.raw[second] * s.scale[second];
    double scale = g * s.scale[second];
    if (scale < SMALLEST_SCALE) {
        double *v = s.vectors.data() + second;
        for (std::size_t k = 0; k < s.columns; ++k, v += s.stride) *v *= scale;
        scale = 1.0;
    }
    const double share = h / scale;
    for (std::size_t p = 0; p < entries.columns.size(); ++p)
        s.vectors[static_cast<std::size_t>(entries.columns[p]) * s.stride + second] += share * entries.values[p];
    s.entries[second].current = false;
    s.place(second, scale, h * h * s.norm[first] + 2.0 * h * g * dot + g * g * s.norm[second]);
    s.coef[second] = merge.coef;
    s.born[second] = static_cast<double>(s.steps);
}

void audit(BudgetState &s, std::size_t first) {
    const std::size_t best = find_partner(s, first, Maintenance::gss_precise);
    MergeAudit &tally = s.tally;
    const double optimum = solve_merge(s, first, best, Maintenance::gss_precise).degradation;
    const double own = s.coef[first] * s.coef[first];
    const bool measured = optimum > 1e-9 * own;  // below it the difference of squares is rounding
    const Maintenance methods[] = {Maintenance::gss, Maintenance::lookup_h, Maintenance::lookup_wd};
    std::size_t chosen[MergeAudit::METHODS];
    tally.events += 1;
    tally.measured += measured;
    tally.optimum += optimum / own;
    for (std::size_t k = 0; k < MergeAudit::METHODS; ++k) {
        chosen[k] = find_partner(s, first, methods[k]);
        const double achieved = solve_merge(s, first, chosen[k], methods[k]).degradation;
        tally.agree[k] += chosen[k] == best ||
                          solve_merge(s, first, chosen[k], Maintenance::gss_precise).degradation <= optimum * TIE;
        tally.degradation[k] += achieved / own;
        if (measured) tally.factor[k] += achieved / optimum;
    }
    tally.same_as_gss += chosen[2] == chosen[0];
}

// Inverse of the kernel matrix of the occupied slots, by Gauss-Jordan elimination (positive definite: no pivoting).
void make_inverse(BudgetState &s) {
    const std::size_t n = s.stride;
    double *q = s.inverse.data();
    for (std::size_t i = 0; i < n; ++i) {
        std::fill_n(q + i * n, n, 0.0);
        if (s.coef[i] == 0.0) continue;
        kernel_row(s, find_entries(s, i), s.norm[i]);
        for (std::size_t j = 0; j < n; ++j) q[i * n + j] = s.coef[j] == 0.0 ? 0.0 : s.kernel[j];
        q[i * n + i] = 1.0 + RIDGE;
    }
    for (std::size_t p = 0; p < n; ++p) {
        if (s.coef[p] == 0.0) continue;
        double *pivot_row = q + p * n;
        const double inverse = 1.0 / pivot_row[p];
        pivot_row[p] = 1.0;
        for (std::size_t j = 0; j < n; ++j) pivot_row[j] *= inverse;
        for (std::size_t i = 0; i < n; ++i) {
            if (i == p || q[i * n + p] == 0.0) continue;
            const double factor = q[i * n + p];
            q[i * n + p] = 0.0;
            for (std::size_t j = 0; j < n; ++j) q[i * n + j] -= factor * pivot_row[j];
        }
    }
    s.since_inverse = 0;
}

// Removes `first` and projects it on the others (Wang, Crammer and Vucetic 2012): with Q the inverse kernel matrix the
// coefficients of the projection are -Q_ji / Q_ii and the degradation is alpha_i^2 / Q_ii.
double project(BudgetState &s, std::size_t first, std::size_t fresh, bool empty_inverse) {
    const std::size_t n = s.stride;
    double *q = s.inverse.data();
    if (empty_inverse || s.since_inverse >= INVERSE_REFRESH) {
        make_inverse(s);
    } else {
        // Border the inverse with the new point.
        Aligned<double> &u = s.work;
        std::fill(u.begin(), u.end(), 0.0);
        double schur = 1.0 + RIDGE;
        for (std::size_t j = 0; j < n; ++j) {
            if (j == fresh || s.coef[j] == 0.0) continue;
            for (std::size_t l = 0; l < n; ++l) u[l] += s.kernel[j] * q[j * n + l];
        }
        for (std::size_t j = 0; j < n; ++j)
            if (j != fresh && s.coef[j] != 0.0) schur -= s.kernel[j] * u[j];
        schur = std::max(schur, RIDGE);
        u[fresh] = -1.0;
        for (std::size_t j = 0; j < n; ++j) {
            const double factor = u[j] / schur;
            for (std::size_t l = 0; l < n; ++l) q[j * n + l] += factor * u[l];
        }
        ++s.since_inverse;
    }
    const double *row = q + first * n;
    const double diagonal = row[first], own = s.coef[first];
    for (std::size_t j = 0; j < n; ++j) {
        if (j == first || s.coef[j] == 0.0) continue;
        s.coef[j] -= own * row[j] / diagonal;
        // An exact zero would read as an empty slot.
        if (s.coef[j] == 0.0) s.coef[j] = std::numeric_limits<double>::min();
    }
    std::copy_n(row, n, s.work.begin());
    for (std::size_t j = 0; j < n; ++j) {
        const double factor = s.work[j] / diagonal;
        for (std::size_t l = 0; l < n; ++l) q[j * n + l] -= factor * s.work[l];
    }
    for (std::size_t j = 0; j < n; ++j) q[first * n + j] = q[j * n + first] = 0.0;
    return own * own / diagonal;
}

// budget + 1 slots are in use: brings them back to the budget. Returns the weight degradation in units of coefficients.
double maintain(BudgetState &s, std::size_t fresh) {
    const std::size_t first = smallest_slot(s);
    if (s.maintenance == Maintenance::project) {
        const double degradation = project(s, first, fresh, s.since_inverse < 0);
        clear(s, first, find_entries(s, first));
        return degradation;
    }
    const SlotEntries &entries = find_entries(s, first);
    std::size_t partner = NONE;
    if (s.maintenance != Maintenance::remove) {
        // The fresh point's kernel row is still at hand from the step; an older point's is made again from its
        // entries, few as long as it was never merged.
        if (first != fresh) kernel_row(s, entries, s.norm[first]);
        partner = find_partner(s, first, s.maintenance);
    }
    double degradation = s.coef[first] * s.coef[first];
    if (partner != NONE) {
        if (s.audit) audit(s, first);
        const Merge merge = solve_merge(s, first, partner, s.maintenance);
        degradation = merge.degradation;
        merge_into(s, first, entries, partner, merge);
        ++s.merged;
    }
    clear(s, first, entries);
    return degradation;
}

}  // namespace

void budget_steps(BudgetState &s, const TrainingRows &rows, const std::int64_t *order, std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) {
        // Rows are met in random order; what the machine cannot foresee is fetched ahead.
        if (n + 16 < count) {
            const std::int64_t far = order[n + 16], next = rows.indptr[order[n + 4]];
            __builtin_prefetch(rows.indptr + far);
            __builtin_prefetch(rows.norms + far);
            __builtin_prefetch(rows.targets + far);
            __builtin_prefetch(rows.values + next);
            __builtin_prefetch(rows.values + next + 8);
            __builtin_prefetch(rows.indices + next);
        }
        const std::int64_t row = order[n], begin = rows.indptr[row];
        const std::size_t nnz = static_cast<std::size_t>(rows.indptr[row + 1] - begin);
        ++s.steps;
        const double shrink = 1.0 / (s.lambda * static_cast<double>(s.steps));
        const double sum = kernel_row(s, rows.indices + begin, rows.values + begin, nnz, rows.norms[row]);
        const double f = shrink * (sum + s.bias_sum);
        const double coef = step_coefficient(s, rows.targets[row], f);
        if (coef == 0.0) continue;
        ++s.violations;
        if (s.bias) s.bias_sum += coef;
        const std::size_t slot = s.occupied < s.budget ? s.occupied : s.free_slot;
        put(s, slot, rows, row, coef);
        if (++s.occupied <= s.budget) {
            s.free_slot = s.occupied;
            continue;
        }
        const double start = ticks();
        s.degradation += shrink * shrink * maintain(s, slot);
        ++s.maintained;
        s.maintenance_ticks += ticks() - start;
    }
}

void make_merge_table(std::size_t n, double eps, double *wd, double *h) {
    const int iterations = golden_iterations(0.5, eps);
    for (std::size_t row = 0; row <= n / 2; ++row)
        for (std::size_t column = 0; column < n; column += W) {
            vd kappa, log_kappa;
            for (std::size_t i = 0; i < W; ++i) {
                kappa[i] = static_cast<double>(std::min(column + i, n - 1)) / static_cast<double>(n - 1);
                log_kappa[i] = kappa[i] > 0 ? std::log2(kappa[i]) : -1e30;  // kappa 0: any positive power is 0
            }
            const vd m = broadcast(static_cast<double>(row) / static_cast<double>(n));
            vd at = search_h(m, log_kappa, iterations), s = merged_length(m, log_kappa, at);
            // The end belongs to the interval; at kappa 0 it alone reaches the maximum.
            const vd s_end = fma(m, kappa, 1.0 - m);
            at = s_end > s ? vd{} : at;
            s = maximum(s, s_end);
            at = kappa == 1.0 ? m : at;  // s is constant there; this is the limit, which interpolation needs
            const vd loss = relative_degradation(m, kappa, s);
            for (std::size_t i = 0; i < W && column + i < n; ++i) {
                wd[row * n + column + i] = loss[i];
                h[row * n + column + i] = at[i];
            }
        }
}

}  // namespace svmfast::SVMFAST_ISA
