// Rows summed operation by operation as LIBSVM sums them. See decision.hpp for the layout.
#include <algorithm>
#include <cmath>
#include <limits>

#include "decision.hpp"
#include "interrupt.hpp"
#include "simd/panel.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// Squared differences in the order of the indices, libm's exp, coefficients in the
// order of the file; multiplications and additions rounded separately. Lanes are support vectors, so each lane sees
// LIBSVM's own sequence of operations. A few rows go together, so that each panel comes once from memory for all of them.
class LibsvmOrder {
   public:
    static constexpr std::size_t BATCH = 8;

    explicit LibsvmOrder(const Expansion &e)
        : e(e), stride(e.panels() * LANES), k(BATCH * stride), across(BATCH * stride) {}

    // Rows which[0 .. count), count <= BATCH -> out[row][functions].
    void evaluate(const RowBlock &rows, const std::uint32_t *which, std::size_t count, double *out) {
        if (e.scattered)
            for (std::size_t b = 0; b < count; ++b) merged(rows, rows.first + which[b], k.data() + b * stride);
        else if (e.kind == KernelKind::rbf)
            panelled<true>(rows, which, count);
        else
            panelled<false>(rows, which, count);
        pulse.spent(k.size() * (8 + e.width));
        for (std::size_t b = 0; b < count; ++b)
            for (std::size_t i = 0; i < stride; ++i) across[i * BATCH + b] = kernel(k[b * stride + i]);
        each_function(e, [&](std::size_t p, std::size_t i, std::size_t row_i, std::size_t j, std::size_t row_j) {
            Sums s{};
            s = add(i, row_i, s);
            if (j < e.groups) s = add(j, row_j, s);
            double sum[BATCH];
            SVMFAST_UNROLL for (std::size_t v = 0; v < BATCH / W; ++v) store(sum + v * W, s.of[v]);
            for (std::size_t b = 0; b < count; ++b) out[which[b] * e.functions + p] = sum[b] - e.rho[p];
        });
    }

   private:
    // One sum for each row of the batch.
    struct Sums {
        vd of[BATCH / W];
    };
    struct Step {
        std::int64_t at;  // place in a panel, or ABSENT
        double z;
    };
    static constexpr std::int64_t ABSENT = -1;

    const Expansion &e;
    std::size_t stride;
    Aligned<double> k;       // [row of the batch][lane]: the kernel's arguments
    Aligned<double> across;  // [lane][row of the batch]: kernel values
    std::vector<Step> walk[BATCH];
    Pulse pulse;

    double kernel(double sum) const {
        switch (e.kind) {
            case KernelKind::rbf: return std::exp(-e.gamma * sum);
            case KernelKind::polynomial: return powi(e.gamma * sum + e.coef0, e.degree);
            case KernelKind::sigmoid: return std::tanh(e.gamma * sum + e.coef0);
            default: return sum;
        }
    }

    // Adds a class's share to the sums of all rows of the batch: the rows' additions wait for their own sums only.
    Sums add(std::size_t group, std::size_t coef_row, Sums s) const {
        for (std::size_t panel = e.group_panels[group]; panel < e.group_panels[group + 1]; ++panel) {
            const double *coef = e.coef.data() + (panel * e.width + coef_row) * LANES;
            const double *values = across.data() + panel * LANES * BATCH;
            // A filler lane has coefficient 0 and a finite kernel value: adding its +-0 changes no bit of a sum.
            SVMFAST_UNROLL for (std::size_t l = 0; l < LANES; ++l) {
                const vd c = broadcast(coef[l]);
                SVMFAST_UNROLL for (std::size_t v = 0; v < BATCH / W; ++v)
                    s.of[v] = s.of[v] + c * load(values + l * BATCH + v * W);
            }
        }
        return s;
    }

    // A row's features in the order LIBSVM meets them. An rbf distance also meets the model's features that the row
    // lacks (z = 0) and the row's that the model lacks (ABSENT: x = 0).
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

    template <bool rbf>
    void panelled(const RowBlock &rows, const std::uint32_t *which, std::size_t count) {
        alignas(64) static const double zeros[LANES] = {};
        for (std::size_t b = 0; b < count; ++b) plan(rows, rows.first + which[b], rbf, walk[b]);
        const std::size_t d = e.active.size();
        for (std::size_t panel = 0; panel < e.panels(); ++panel) {
            const double *x = e.values.data() + panel * d * LANES;
            for (std::size_t b = 0; b < count; ++b) {
                vd sum[NV] = {};
                for (const Step &step : walk[b]) {
                    const double *xs = step.at == ABSENT ? zeros : x + step.at * LANES;
                    const vd z = broadcast(step.z);
                    SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) {
                        const vd xv = load(xs + v * W);
                        if constexpr (rbf) {
                            const vd difference = xv - z;
                            sum[v] = sum[v] + difference * difference;
                        } else {
                            sum[v] = sum[v] + xv * z;
                        }
                    }
                }
                double *to = k.data() + b * stride + panel * LANES;
                SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) store(to + v * W, sum[v]);
                pulse.spent(walk[b].size() * LANES);
            }
        }
    }

    void merged(const RowBlock &rows, std::size_t row, double *sums) {
        const std::int64_t first = rows.indptr[row], last = rows.indptr[row + 1];
        const std::int32_t end = std::numeric_limits<std::int32_t>::max();
        for (std::size_t g = 0, sv = 0; g < e.groups; ++g) {
            double *to = sums + e.group_panels[g] * LANES;
            for (; sv < e.group_end[g]; ++sv) {
                std::int64_t a = e.sv_start[sv], i = first;
                double sum = 0;
                while (a < e.sv_start[sv + 1] || i < last) {
                    const std::int32_t ca = a < e.sv_start[sv + 1] ? e.active[e.sv_active[a]] : end;
                    const std::int32_t ci = i < last ? rows.indices[i] : end;
                    const double x = ca <= ci ? e.sv_value[a] : 0.0, z = ci <= ca ? rows.values[i] : 0.0;
                    sum += e.kind == KernelKind::rbf ? (x - z) * (x - z) : x * z;
                    a += ca <= ci;
                    i += ci <= ca;
                }
                *to++ = sum;
                pulse.spent(static_cast<std::size_t>(e.sv_start[sv + 1] - e.sv_start[sv] + last - first));
            }
        }
    }
};

}  // namespace

void libsvm_order_rows(const Expansion &e, const RowBlock &rows, const std::uint32_t *which, std::size_t count, double *out) {
    if (count == 0) return;
    LibsvmOrder exactly(e);
    for (std::size_t i = 0; i < count; i += LibsvmOrder::BATCH)
        exactly.evaluate(rows, which + i, std::min(LibsvmOrder::BATCH, count - i), out);
}

}  // namespace svmfast::SVMFAST_ISA
