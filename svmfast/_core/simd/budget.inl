// Budgeted stochastic gradient descent: the step, and the maintenance of the budget, with the merging problem that only
// it solves, so that the compiler inlines one into the other.
#include "budget.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// The merging problem of two support vectors of the same sign: svmfast/methods/budget/sgd.py has the formulas. m is the
// share of x_i, the point whose weight in z is h; the paper's algorithm 1 has the partner's share, which contradicts
// its z. kappa enters as its logarithm to base 2, which is available.

constexpr double GOLDEN = 0.6180339887498949;

vd merged_length(vd m, vd log_kappa, vd h) {
    const vd g = 1.0 - h;
    return fma(m, exp2(log_kappa * (g * g)), (1.0 - m) * exp2(log_kappa * (h * h)));
}

vd relative_degradation(vd m, vd kappa, vd s) {
    const vd n = 1.0 - m;
    return maximum(m * m + n * n + 2.0 * m * n * kappa - s * s, vd{});
}

// h: golden section search for the maximum of s on [0, 1/2]; `iterations` shrink the width below the precision. Below
// kappa = e^-2 s can have two modes, one in each half of [0, 1], and the better one must be found. For m <= 1/2 it is
// the one in [0, 1/2], since s(h) - s(1-h) = (1-2m) (kappa^(h^2) - kappa^((1-h)^2)) >= 0 there.
vd search_h(vd m, vd log_kappa, int iterations) {
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
void split_cell(vd u, std::size_t cells, vi &cell, vd &part) {
    constexpr double magic = Exponent<double>::magic;  // adding it rounds to an integer in the low bits
    const vd shifted = minimum(maximum(u - 0.5, vd{}), broadcast(static_cast<double>(cells) - 1.0)) + magic;
    cell = (vi)shifted - (vi)broadcast(magic);
    part = u - (shifted - magic);
}

// One of the tables at m <= 1/2, interpolated: the angle with which the weight degradation increases for a fixed
// smaller coefficient (see MergeTable), or h, which is continuous there.
vd lookup(const MergeTable &t, const float *values, vd m, vd kappa) {
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

vd lane_numbers() {
    return of_lanes<vd>([](std::size_t i) { return static_cast<double>(i); }, std::make_index_sequence<W>());
}

// The first partner: smallest |coefficient|. Unmerged points all have the same one; the oldest of them is taken, so
// that the budget keeps turning over (taking the newest would freeze the first B points and reduce the accuracy).
std::size_t smallest_slot(const BudgetState &s) {
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
std::size_t list_candidates(BudgetState &s, std::size_t first, const float *reach) {
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
std::size_t best_partner(BudgetState &s, std::size_t first, const float *reach, Cost &&cost) {
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
vd find_h(const BudgetState &s, vd m, vd kappa, vd log_kappa) {
    if (s.maintenance == Maintenance::gss) return search_h(m, log_kappa, GSS_ITERATIONS);
    if (s.maintenance == Maintenance::gss_precise) return search_h(m, log_kappa, PRECISE_ITERATIONS);
    return lookup(s.table, s.table.h, m, kappa);
}

std::size_t find_partner(BudgetState &s, std::size_t first) {
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

Merge solve_merge(const BudgetState &s, std::size_t first, std::size_t second) {
    const double a = std::fabs(s.coef[first]), b = std::fabs(s.coef[second]), both = a + b;
    const vd m = broadcast(std::min(a / both, 0.5)), log_kappa = broadcast(s.log_kernel[second]);
    const vd h = find_h(s, m, exp2(log_kappa), log_kappa);
    return {h[0], std::copysign(both * merged_length(m, log_kappa, h)[0], s.coef[second])};
}

// The steps.

// A vector's scale is folded into its numbers before it underflows.
constexpr double SMALLEST_SCALE = 1e-100;
// Projection: added to the kernel matrix's diagonal; and the number of changes after which the inverse is recomputed.
constexpr double RIDGE = 1e-6;
constexpr std::int64_t INVERSE_REFRESH = 1024;

constexpr std::size_t PER_OCTET = 8 / W;
// Number of octets whose sums are in registers at the same time: AVX-512 has 32 registers, others 16.
constexpr std::size_t TILE = W == 8 ? 16 : W == 4 ? 6 : 3;

template <std::size_t N>
inline void dot_tile(const double *vectors, std::size_t stride, const std::int32_t *columns, const double *values,
                     std::size_t nnz, double *out) {
    vd sum[1][N * PER_OCTET] = {};
    add_products(
        sum, nnz, [=](std::size_t, std::size_t p) { return values[p]; },
        [=](std::size_t p) { return vectors + static_cast<std::size_t>(columns[p]) * stride; });
    SVMFAST_UNROLL for (std::size_t i = 0; i < N * PER_OCTET; ++i) store(out + i * W, sum[0][i]);
}

// out[slot] = sum over the row's entries of value * vectors[column][slot], for the first `octets` octets.
inline void dot_row(std::size_t octets, const double *vectors, std::size_t stride, const std::int32_t *columns,
                    const double *values, std::size_t nnz, double *out) {
    for (; octets > TILE; octets -= TILE, vectors += TILE * 8, out += TILE * 8)
        dot_tile<TILE>(vectors, stride, columns, values, nnz, out);
    with_size<TILE>(octets, [&](auto n) { dot_tile<n>(vectors, stride, columns, values, nnz, out); });
}

// The sum of an octet's lanes, in the same order for every width.
inline double octet_sum(const vd (&parts)[PER_OCTET]) {
    double octet __attribute__((vector_size(64)));
    std::memcpy(&octet, parts, sizeof octet);
    return horizontal_sum(octet);
}

std::size_t active_octets(const BudgetState &s) { return s.occupied < s.budget ? s.occupied / 8 + 1 : s.octets(); }

// Inner products and kernel values of a row with every slot; returns the sum of coefficient * kernel.
double kernel_row(BudgetState &s, const std::int32_t *columns, const double *values, std::size_t nnz, double norm) {
    const std::size_t octets = active_octets(s);
    dot_row(octets, s.vectors.data(), s.stride, columns, values, nnz, s.raw.data());
    const vd row_offset = broadcast(s.gamma * LOG2_E * norm);
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

// The coefficient (without 1 / (lambda t)) that the subgradient of the loss gives the row.
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

// The nonzero entries of a slot's vector.
const SlotEntries &find_entries(BudgetState &s, std::size_t slot) {
    if (s.entries[slot].current) return s.entries[slot];
    SlotEntries &found = s.found;
    found.columns.resize(s.columns + 1);  // one more: an entry is written before it is known to be nonzero
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
    for (const std::int32_t column : entries.columns)
        s.vectors[static_cast<std::size_t>(column) * s.stride + slot] = 0.0;
    s.place(slot, 1.0, 0.0);
    s.coef[slot] = s.born[slot] = 0.0;
    s.entries[slot].current = false;
    s.free_slot = slot;
    --s.occupied;
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

// Extends the inverse of the kernel matrix by the row and column of a slot, whose kernel row is given. Those of slots
// that it lacks are zero.
void extend_inverse(BudgetState &s, std::size_t slot) {
    const std::size_t n = s.stride;
    double *q = s.inverse.data(), schur = 1.0 + RIDGE;
    Aligned<double> &u = s.work;
    std::fill(u.begin(), u.end(), 0.0);
    for (std::size_t j = 0; j < n; ++j) {
        if (j == slot || s.coef[j] == 0.0) continue;
        for (std::size_t l = 0; l < n; ++l) u[l] += s.kernel[j] * q[j * n + l];
    }
    for (std::size_t j = 0; j < n; ++j)
        if (j != slot && s.coef[j] != 0.0) schur -= s.kernel[j] * u[j];
    schur = std::max(schur, RIDGE);
    u[slot] = -1.0;
    for (std::size_t j = 0; j < n; ++j) {
        const double factor = u[j] / schur;
        for (std::size_t l = 0; l < n; ++l) q[j * n + l] += factor * u[l];
    }
    ++s.since_inverse;
}

void make_inverse(BudgetState &s) {
    Pulse pulse;
    std::fill(s.inverse.begin(), s.inverse.end(), 0.0);
    for (std::size_t i = 0; i < s.stride; ++i) {
        if (s.coef[i] == 0.0) continue;
        pulse.spent(2 * s.stride * s.stride);
        kernel_row(s, find_entries(s, i), s.norm[i]);
        extend_inverse(s, i);
    }
    s.since_inverse = 0;
}

// Removes `first` and projects it onto the others (Wang, Crammer and Vucetic 2012): with Q the inverse kernel matrix
// the coefficients of the projection are -Q_ji / Q_ii.
void project(BudgetState &s, std::size_t first, std::size_t fresh) {
    const std::size_t n = s.stride;
    double *q = s.inverse.data();
    if (s.since_inverse < 0 || s.since_inverse >= INVERSE_REFRESH)
        make_inverse(s);
    else
        extend_inverse(s, fresh);
    const double *row = q + first * n;
    const double diagonal = row[first], own = s.coef[first];
    for (std::size_t j = 0; j < n; ++j) {
        if (j == first || s.coef[j] == 0.0) continue;
        s.coef[j] -= own * row[j] / diagonal;
        // An exact zero would mark an empty slot.
        if (s.coef[j] == 0.0) s.coef[j] = std::numeric_limits<double>::min();
    }
    std::copy_n(row, n, s.work.begin());
    for (std::size_t j = 0; j < n; ++j) {
        const double factor = s.work[j] / diagonal;
        for (std::size_t l = 0; l < n; ++l) q[j * n + l] -= factor * s.work[l];
    }
    for (std::size_t j = 0; j < n; ++j) q[first * n + j] = q[j * n + first] = 0.0;
}

// budget + 1 slots are in use: reduces them to the budget.
void maintain(BudgetState &s, std::size_t fresh) {
    const std::size_t first = smallest_slot(s);
    if (s.maintenance == Maintenance::project) {
        project(s, first, fresh);
        clear(s, first, find_entries(s, first));
        return;
    }
    const SlotEntries &entries = find_entries(s, first);
    std::size_t partner = NONE;
    if (s.maintenance != Maintenance::remove) {
        // The new point's kernel row is still available from the step; an older point's is computed again from its
        // entries, which are few if it was never merged.
        if (first != fresh) kernel_row(s, entries, s.norm[first]);
        partner = find_partner(s, first);
    }
    if (partner != NONE) merge_into(s, first, entries, partner, solve_merge(s, first, partner));
    clear(s, first, entries);
}

}  // namespace

void budget_steps(BudgetState &s, const TrainingRows &rows, const std::int64_t *order, std::size_t count) {
    Pulse pulse;
    for (std::size_t n = 0; n < count; ++n) {
        // Rows are visited in random order, which the processor cannot predict, so they are prefetched.
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
        pulse.spent((nnz + 16) * s.stride + (s.maintenance == Maintenance::project ? 2 * s.stride * s.stride : 0));
        ++s.steps;
        const double shrink = 1.0 / (s.lambda * static_cast<double>(s.steps));
        const double sum = kernel_row(s, rows.indices + begin, rows.values + begin, nnz, rows.norms[row]);
        const double f = shrink * (sum + s.bias_sum);
        const double coef = step_coefficient(s, rows.targets[row], f);
        if (coef == 0.0) continue;
        if (s.bias) s.bias_sum += coef;
        const std::size_t slot = s.occupied < s.budget ? s.occupied : s.free_slot;
        put(s, slot, rows, row, coef);
        if (++s.occupied <= s.budget) {
            s.free_slot = s.occupied;
            continue;
        }
        maintain(s, slot);
        ++s.maintained;
    }
}

void gaussian_rows(const Csr &rows, const double *norms, const std::int64_t *order, std::size_t count,
                   const double *vectors, const double *squares, std::size_t stride, double gamma, double *out) {
    for (std::size_t n = 0; n < count; ++n, out += stride) {
        const std::int64_t row = order[n], begin = rows.indptr[row];
        dot_row(stride / 8, vectors, stride, rows.indices + begin, rows.values + begin, rows.entries(row), out);
        for (std::size_t j = 0; j < stride; j += W) {
            const vd distance = norms[row] + load(squares + j) - 2.0 * load(out + j);
            store(out + j, exp2(minimum(distance * (-gamma * LOG2_E), vd{})));
        }
    }
}

void make_merge_table(std::size_t n, double eps, double *wd, double *h) {
    const int iterations = golden_iterations(0.5, eps);
    for (std::size_t row = 0; row <= n / 2; ++row)
        for (std::size_t column = 0; column < n; column += W) {
            vd kappa = vd{}, log_kappa = vd{};
            for (std::size_t i = 0; i < W; ++i) {
                kappa[i] = static_cast<double>(std::min(column + i, n - 1)) / static_cast<double>(n - 1);
                log_kappa[i] = kappa[i] > 0 ? std::log2(kappa[i]) : -1e30;  // kappa 0: any positive power is 0
            }
            const vd m = broadcast(static_cast<double>(row) / static_cast<double>(n));
            vd at = search_h(m, log_kappa, iterations), s = merged_length(m, log_kappa, at);
            // The end point belongs to the interval; at kappa 0 it is the maximum.
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
