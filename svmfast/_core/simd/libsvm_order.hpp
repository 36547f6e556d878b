// Rows summed operation by operation as LIBSVM sums them. See decision.hpp for the layout.
#pragma once
#include "decision.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

constexpr std::size_t TOGETHER = 4;  // rows that hide each other's latency

// to[row * stride ..] = the sums of a panel of d features for rows that have these features and no others;
// z[feature][row]. Processors that add and multiply in different units need as many operations in each, so of four
// subtractions two are done by a fused multiply-add: its product, with 1, is exact. (Not inlined: else a sum leaves its
// register.)
template <bool rbf>
__attribute__((noinline)) void tile(const double *x, const double *z, std::size_t d, double *to, std::size_t stride) {
    const vd one = broadcast(1.0);
    vd sum[TOGETHER][NV] = {};
    for (std::size_t f = 0; f < d; ++f, x += LANES, z += TOGETHER) SVMFAST_UNROLL for (std::size_t r = 0; r < TOGETHER; ++r) {
            const vd a = broadcast(z[r]);
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) {
                const vd other = load(x + v * W);
                const vd difference = (r * NV + v) % 4 < 2 ? fms(a, one, other) : a - other;
                sum[r][v] += rbf ? difference * difference : a * other;
            }
        }
    for (std::size_t r = 0; r < TOGETHER; ++r)
        for (std::size_t v = 0; v < NV; ++v) store(to + r * stride + v * W, sum[r][v]);
}

// Squared differences in the order of the indices, libm's exp, coefficients in the
// order of the file; multiplications and additions rounded separately. Lanes are support vectors, so each lane
// performs LIBSVM's own sequence of operations. A few rows are processed together, so that each panel is read from
// memory once for all of them.
class LibsvmOrder {
  public:
    static constexpr std::size_t BATCH = 8;

    explicit LibsvmOrder(const Expansion &e)
        : e(e), together(e.scattered ? e.panels() : std::min(e.panels(), PANELS)), stride(together * LANES),
          k(BATCH * stride), unsure(stride + W), across(BATCH * stride),
          so_far(together < e.panels() ? e.functions * BATCH : 0), z(e.scattered ? stride : BATCH * e.active.size()) {}

    // Rows which[0 .. count), count <= BATCH -> out[row][functions].
    void evaluate(const RowBlock &rows, const std::uint32_t *which, std::size_t count, double *out) {
        if (!e.scattered) {
            for (std::size_t b = 0; b < count; ++b)
                plan(rows, rows.row(which[b]), e.kind == KernelKind::rbf, walk[b]);
            tiled = 0;
            while (tiled + TOGETHER <= count && complete(tiled)) tiled += TOGETHER;
        }
        // Each part continues the sums of the one before, so the division into parts changes no bit.
        begin = 0;
        do {
            end = std::min(e.panels(), begin + together);
            part(rows, which, count, out);
            begin = end;
        } while (end < e.panels());
    }

  private:
    struct Step {
        std::int64_t at;  // place in a panel, or ABSENT
        double z;
    };
    static constexpr std::int64_t ABSENT = -1;

    // A limited number of panels at a time, so that a thread's memory does not grow with the model; where vectors have few
    // of many columns all of them, as each part would visit all columns.
    static constexpr std::size_t PANELS = (1 << 14) / LANES;

    const Expansion &e;
    std::size_t together, stride;
    std::size_t begin = 0, end = 0;    // the panels of this part
    Aligned<double> k;                 // [row of the batch][lane]: the kernel's arguments, then its values
    std::vector<std::int64_t> unsure;  // of libm_exp
    Aligned<double> across;            // [lane][row of the batch]: kernel values
    Aligned<double> so_far;            // [function][row of the batch], where there are several parts
    std::vector<Step> walk[BATCH];
    // Rows of the batch, a multiple of TOGETHER, that have all features of a panel and no others.
    std::size_t tiled = 0;
    Aligned<double> z;  // [row / TOGETHER][feature][row % TOGETHER] of these rows; scattered: zeros, one for each lane
    Pulse pulse;

    void part(const RowBlock &rows, const std::uint32_t *which, std::size_t count, double *out) {
        if (e.scattered)
            for (std::size_t b = 0; b < count; ++b) by_columns(rows, rows.row(which[b]), k.data() + b * stride);
        else if (e.kind == KernelKind::rbf)
            panelled<true>(count);
        else
            panelled<false>(count);
        const std::size_t lanes = (end - begin) * LANES;
        pulse.spent(BATCH * lanes * (8 + e.width));
        for (std::size_t b = 0; b < count; ++b) {
            double *const values = k.data() + b * stride;
            if (e.kind == KernelKind::rbf)
                libm_exp(values, lanes, -e.gamma, unsure.data());
            else
                for (std::size_t i = 0; i < lanes; ++i) values[i] = kernel(values[i]);
        }
        for (std::size_t i = 0; i < lanes; ++i)
            for (std::size_t b = 0; b < BATCH; ++b) across[i * BATCH + b] = k[b * stride + i];
        each_function(e, [&](const Function &f) {
            double sum[BATCH] = {};
            if (begin > 0) std::copy_n(so_far.data() + f.number * BATCH, BATCH, sum);
            add(f.group, f.row, sum);
            if (f.other < e.groups) add(f.other, f.other_row, sum);
            if (end < e.panels()) {
                std::copy_n(sum, BATCH, so_far.data() + f.number * BATCH);
                return;
            }
            for (std::size_t b = 0; b < count; ++b) out[which[b] * e.functions + f.number] = sum[b] - e.rho[f.number];
        });
    }

    double kernel(double sum) const {
        return e.kind == KernelKind::polynomial ? powi(e.gamma * sum + e.coef0, e.degree)
               : e.kind == KernelKind::sigmoid  ? std::tanh(e.gamma * sum + e.coef0)
                                                : sum;
    }

    // Adds a class's terms to the sums of all rows of the batch: each row's additions depend only on its own sum. (Not
    // inlined: else a sum leaves its register.)
    __attribute__((noinline)) void add(std::size_t group, std::size_t coef_row, double *sums) const {
        vd sum[BATCH / W];
        SVMFAST_UNROLL for (std::size_t v = 0; v < BATCH / W; ++v) sum[v] = load(sums + v * W);
        const std::size_t stop = std::min(e.group_panels[group + 1], end);
        for (std::size_t panel = std::max(e.group_panels[group], begin); panel < stop; ++panel) {
            const double *coef = e.coef.data() + (panel * e.width + coef_row) * LANES;
            const double *values = across.data() + (panel - begin) * LANES * BATCH;
            // A filler lane has coefficient 0 and a finite kernel value: adding its +-0 changes no bit of a sum.
            SVMFAST_UNROLL for (std::size_t l = 0; l < LANES; ++l) {
                const vd c = broadcast(coef[l]);
                SVMFAST_UNROLL for (std::size_t v = 0; v < BATCH / W; ++v)
                    sum[v] = sum[v] + c * load(values + l * BATCH + v * W);
            }
        }
        SVMFAST_UNROLL for (std::size_t v = 0; v < BATCH / W; ++v) store(sums + v * W, sum[v]);
    }

    // A row's features in the order in which LIBSVM visits them. An rbf distance also includes the model's features that
    // the row lacks (z = 0) and the row's that the model lacks (ABSENT: x = 0).
    void plan(const RowBlock &rows, std::size_t row, bool rbf, std::vector<Step> &steps) const {
        steps.clear();
        std::size_t f = 0;
        for (std::int64_t i = rows.indptr[row]; i < rows.indptr[row + 1]; ++i) {
            const std::int32_t column = rows.indices[i];
            for (; rbf && f < e.active.size() && e.active[f] < column; ++f) steps.push_back({std::int64_t(f), 0.0});
            const std::int32_t at = e.position(column);
            if (at >= 0) f = at + 1;
            if (at >= 0 || rbf) steps.push_back({at >= 0 ? at : ABSENT, rows.values[i]});
        }
        for (; rbf && f < e.active.size(); ++f) steps.push_back({std::int64_t(f), 0.0});
    }

    // Whether the rows b .. b + TOGETHER - 1 visit the features of a panel one after the other, then in `z`.
    bool complete(std::size_t b) {
        const std::size_t d = e.active.size();
        for (std::size_t r = 0; r < TOGETHER; ++r) {
            if (walk[b + r].size() != d) return false;
            for (std::size_t f = 0; f < d; ++f) z[b * d + f * TOGETHER + r] = walk[b + r][f].z;
        }
        return true;
    }

    // The sums of a panel for a row with its features at any places.
    template <bool rbf>
    void row_sums(const double *x, const std::vector<Step> &steps, double *to) {
        alignas(64) static const double zeros[LANES] = {};
        vd sum[1][NV] = {};
        const auto number = [&](std::size_t, std::size_t i) { return steps[i].z; };
        const auto values = [&](std::size_t i) { return steps[i].at == ABSENT ? zeros : x + steps[i].at * LANES; };
        if constexpr (rbf)
            add_products(sum, steps.size(), number, values, [](vd s, vd z, vd x) { return s + (x - z) * (x - z); });
        else
            add_products(sum, steps.size(), number, values, MultiplyThenAdd{});
        SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) store(to + v * W, sum[0][v]);
        pulse.spent(steps.size() * LANES);
    }

    template <bool rbf>
    void panelled(std::size_t count) {
        const std::size_t d = e.active.size();
        for (std::size_t panel = begin; panel < end; ++panel) {
            const double *x = e.values.data() + panel * d * LANES;
            double *to = k.data() + (panel - begin) * LANES;
            std::size_t b = 0;
            for (; b < tiled; b += TOGETHER) tile<rbf>(x, z.data() + b * d, d, to + b * stride, stride);
            pulse.spent(tiled * d * LANES);
            for (; b < count; ++b) row_sums<rbf>(x, walk[b], to + b * stride);
        }
    }

    // Column by column, so that each lane has its terms in the order of the indices; those of features that neither the
    // row nor the vector has are 0.
    void by_columns(const RowBlock &rows, std::size_t row, double *sums) {
        const bool rbf = e.kind == KernelKind::rbf;
        std::fill_n(sums, stride, 0.0);
        // Calls visit(lane, value) for the model's columns [f, last).
        const auto columns = [&](std::size_t f, std::size_t last, auto &&visit) {
            for (std::int64_t c = e.column_start[f]; c < e.column_start[last]; ++c)
                visit(e.column_lane[c], e.column_value[c]);
            pulse.spent(2 * static_cast<std::size_t>(e.column_start[last] - e.column_start[f]));
        };
        const auto add_square = [=](std::size_t lane, double x) { sums[lane] += x * x; };
        std::size_t f = 0;
        for (std::int64_t i = rows.indptr[row]; i < rows.indptr[row + 1]; ++i) {
            const double number = rows.values[i];
            const std::size_t first = f;
            while (f < e.active.size() && e.active[f] < rows.indices[i]) ++f;
            const std::size_t here = f;
            f += f < e.active.size() && e.active[f] == rows.indices[i];
            if (!rbf) {
                columns(here, f, [=](std::size_t lane, double x) { sums[lane] += x * number; });
                continue;
            }
            columns(first, here, add_square);
            columns(here, f, [&](std::size_t lane, double x) { z[lane] = x; });
            for (std::size_t l = 0; l < stride; ++l) sums[l] += (z[l] - number) * (z[l] - number);
            columns(here, f, [&](std::size_t lane, double) { z[lane] = 0; });
            pulse.spent(stride);
        }
        if (rbf) columns(f, e.active.size(), add_square);
    }
};

}  // namespace
}  // namespace svmfast::SVMFAST_ISA
