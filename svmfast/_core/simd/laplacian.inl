// Laplacian kernel values and decision values: sums of absolute differences, one panel of vectors at a time.
#include <cmath>
#include <vector>

#include "interrupt.hpp"
#include "math.hpp"
#include "routed.hpp"
#include "simd/exp2.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

constexpr std::size_t DISTANCE_ROWS = 4;

// exp(-gamma ||x - z||_1) of `count` dense rows and one panel -> out[row][LANES]. `beyond`: the contribution to the
// distance of columns that the panel lacks.
inline void kernel_panel(const L1Panels &p, std::size_t panel, const double *const *x, const double *beyond,
                         std::size_t count, double (*out)[LANES]) {
    const double *values = p.values.data() + panel * p.columns * LANES;
    vd sum[DISTANCE_ROWS][NV];
    for (std::size_t r = 0; r < DISTANCE_ROWS; ++r)
        for (std::size_t v = 0; v < NV; ++v) sum[r][v] = broadcast(r < count ? beyond[r] : 0.0);
    // Missing rows of the last tile repeat the first: no branch in the loop, results unused.
    const double *all[DISTANCE_ROWS];
    for (std::size_t r = 0; r < DISTANCE_ROWS; ++r) all[r] = x[r < count ? r : 0];
    add_products(
        sum, p.columns, [&](std::size_t r, std::size_t f) { return all[r][f]; },
        [=](std::size_t f) { return values + f * LANES; }, [](vd s, vd x, vd z) { return s + absolute(x - z); });
    const vd scale = broadcast(-p.gamma * LOG2_E);
    for (std::size_t r = 0; r < count; ++r)
        for (std::size_t v = 0; v < NV; ++v) store(out[r] + v * W, exp2(scale * sum[r][v]));
}

// A row's entries in the columns of listed vectors.
struct ListedRow {
    std::vector<std::int32_t> place;   // of each column: the entry's number, or -1
    std::vector<std::int32_t> column;  // of each entry
    std::vector<double> value;
    Aligned<double> size;  // |value|, and zeros up to a whole vector

    explicit ListedRow(const L1Panels &p) : place(p.listed ? p.columns : 0, -1) {}

    // Stores the row's entries; returns the contribution of columns that no vector has to its distances.
    double read(const L1Panels &p, const Csr &rows, std::size_t row) {
        for (const std::int32_t f : column) place[f] = -1;
        column.clear(), value.clear(), size.clear();
        double beyond = 0;
        for (std::int64_t i = rows.indptr[row]; i < rows.indptr[row + 1]; ++i) {
            const std::int32_t f = p.features.position(rows.indices[i]);
            if (f < 0) {
                beyond += std::fabs(rows.values[i]);
                continue;
            }
            place[f] = static_cast<std::int32_t>(column.size());
            column.push_back(f), value.push_back(rows.values[i]), size.push_back(std::fabs(rows.values[i]));
        }
        size.resize(round_up(size.size(), W), 0.0);
        return beyond;
    }

    // exp(-gamma ||x - z||_1) of this row and one panel's worth of vectors. Sizes of entries that a vector also has are
    // left out of the sum: subtracting them from the sum of all would cause cancellation.
    void panel(const L1Panels &p, std::size_t number, double beyond, double *out) {
        alignas(64) double distance[LANES] = {};
        for (std::size_t i = number * LANES; i < std::min(p.n, (number + 1) * LANES); ++i) {
            double common = beyond;
            const std::int64_t begin = p.list_start[i], end = p.list_start[i + 1];
            for (std::int64_t k = begin; k < end; ++k) {
                const std::int32_t at = place[p.list_column[k]];
                common += std::fabs((at < 0 ? 0.0 : value[at]) - p.list_value[k]);
                if (at >= 0) size[at] = 0;
            }
            vd rest = {};
            for (std::size_t k = 0; k < size.size(); k += W) rest += load(size.data() + k);
            for (std::int64_t k = begin; k < end; ++k) {
                const std::int32_t at = place[p.list_column[k]];
                if (at >= 0) size[at] = std::fabs(value[at]);
            }
            distance[i - number * LANES] = common + horizontal_sum(rest);
        }
        const vd scale = broadcast(-p.gamma * LOG2_E);
        for (std::size_t v = 0; v < NV; ++v) store(out + v * W, exp2(scale * load(distance + v * W)));
    }
};

}  // namespace

void laplacian_values(const L1Panels &p, const double *x, std::size_t first, std::size_t last, double *out) {
    double k[DISTANCE_ROWS][LANES];
    const double none[DISTANCE_ROWS] = {};
    Pulse pulse;
    for (std::size_t row = first; row < last; row += DISTANCE_ROWS) {
        pulse.spent(DISTANCE_ROWS * p.n * (p.columns + 10));
        const std::size_t count = std::min(DISTANCE_ROWS, last - row);
        const double *at[DISTANCE_ROWS];
        for (std::size_t r = 0; r < DISTANCE_ROWS; ++r) at[r] = x + (row + (r < count ? r : 0)) * p.columns;
        for (std::size_t panel = 0; panel < p.panels(); ++panel) {
            kernel_panel(p, panel, at, none, count, k);
            const std::size_t begin = panel * LANES, width = std::min(LANES, p.n - begin);
            for (std::size_t r = 0; r < count; ++r) std::copy(k[r], k[r] + width, out + (row + r) * p.n + begin);
        }
    }
}

void laplacian_decisions(const L1Panels &p, const Csr &rows, std::size_t first, std::size_t last, double *out) {
    double k[DISTANCE_ROWS][LANES];
    static_assert(DISTANCE_ROWS == 4);
    std::vector<double> dense(p.listed ? 0 : DISTANCE_ROWS * p.columns);
    ListedRow listed[DISTANCE_ROWS] = {ListedRow(p), ListedRow(p), ListedRow(p), ListedRow(p)};
    Aligned<double> sums(DISTANCE_ROWS * p.width * W);
    Pulse pulse;
    for (std::size_t row = first; row < last; row += DISTANCE_ROWS) {
        const std::size_t count = std::min(DISTANCE_ROWS, last - row);
        std::fill(dense.begin(), dense.end(), 0.0);
        std::fill(sums.begin(), sums.end(), 0.0);
        const double *at[DISTANCE_ROWS];
        double beyond[DISTANCE_ROWS] = {};
        for (std::size_t r = 0; r < DISTANCE_ROWS; ++r) {
            double *x = dense.data() + (p.listed ? 0 : r * p.columns);
            at[r] = x;
            if (r >= count) continue;
            if (p.listed) {
                beyond[r] = listed[r].read(p, rows, row + r);
                continue;
            }
            for (std::int64_t i = rows.indptr[row + r]; i < rows.indptr[row + r + 1]; ++i) {
                const std::int32_t f = p.features.position(rows.indices[i]);
                if (f < 0)
                    beyond[r] += std::fabs(rows.values[i]);
                else
                    x[f] = rows.values[i];
            }
        }
        for (std::size_t panel = 0; panel < p.panels(); ++panel) {
            if (p.listed)
                for (std::size_t r = 0; r < count; ++r) listed[r].panel(p, panel, beyond[r], k[r]);
            else
                kernel_panel(p, panel, at, beyond, count, k);
            const double *coef = p.coef.data() + panel * p.width * LANES;
            for (std::size_t r = 0; r < count; ++r)
                for (std::size_t w = 0; w < p.width; ++w) {
                    double *sum = sums.data() + (r * p.width + w) * W;
                    vd s = load(sum);
                    for (std::size_t v = 0; v < NV; ++v) s = fma(load(coef + w * LANES + v * W), load(k[r] + v * W), s);
                    store(sum, s);
                }
            pulse.spent(DISTANCE_ROWS * LANES * (p.listed ? 30 + listed[0].size.size() / W : p.columns + p.width));
        }
        for (std::size_t r = 0; r < count; ++r)
            for (std::size_t w = 0; w < p.width; ++w)
                out[(row + r) * p.width + w] = horizontal_sum(load(sums.data() + (r * p.width + w) * W)) - p.rho[w];
    }
}

}  // namespace svmfast::SVMFAST_ISA
