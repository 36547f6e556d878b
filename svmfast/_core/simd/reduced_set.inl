// Kernel values of a reduced set, its residuals and its gradient, a tile of rows at a time: kernel values stay in the
// cache between the three passes that need them. Compiled once per instruction set; see reduced_set.hpp.
#include "reduced_set.hpp"
#include "simd/tiles.hpp"
#include "vote.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// One tile's scratch: kernel values (later: q = weight on x in the gradient) and what their derivative needs.
struct Scratch {
    Aligned<double> kernel, slope;  // [row][padded]; slope: dK / d(u.x), not needed for rbf
    std::vector<double> residual;   // [row][width], weighted

    Scratch(const ReducedSet &s, std::size_t rows)
        : kernel(rows * s.padded), slope(s.kind == KernelKind::rbf ? 0 : rows * s.padded), residual(rows * s.width) {}
};

// The kernel value and its slope from the sum of the dot product.
template <KernelKind kind>
inline void finish(const ReducedSet &s, vd sum, Scratch &t, std::size_t at) {
    double *kernel = t.kernel.data() + at;
    if constexpr (kind == KernelKind::rbf) {
        store(kernel, exp2(sum));
    } else if constexpr (kind == KernelKind::polynomial) {
        const vd below = s.degree > 0 ? powi(sum, s.degree - 1) : vd{};
        store(kernel, s.degree > 0 ? below * sum : broadcast(1.0));
        store(t.slope.data() + at, below * (s.gamma * s.degree));
    } else {
        const vd k = tanh(sum);
        store(kernel, k);
        store(t.slope.data() + at, (1.0 - k * k) * s.gamma);
    }
}

inline double offset_of(const ReducedRows &rows, const ReducedSet &s, std::size_t row) {
    return s.kind == KernelKind::rbf ? -s.gamma * LOG2_E * rows.squared_norm[row] : s.coef0;
}

template <KernelKind kind>
void dense_kernel(const ReducedRows &rows, const ReducedSet &s, std::size_t tile, Scratch &t) {
    const double *z = rows.packed.data() + tile * s.d * ROWS;
    double offset[ROWS] = {};
    for (std::size_t r = 0; r < rows.tiles[tile].count; ++r) offset[r] = offset_of(rows, s, rows.tiles[tile].first + r);
    for (std::size_t slot = 0; slot < s.vector_slots; slot += LANES) {
        const double *u = s.vectors.data() + slot * s.d;
        vd k[ROWS][NV];
    SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r)
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) k[r][v] = start_value<kind>(s.init.data() + slot + v * W, offset[r]);
        add_products(k, s.d, [=](std::size_t r, std::size_t f) { return z[f * ROWS + r]; },
                     [=](std::size_t f) { return u + f * LANES; });
        SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r)
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) finish<kind>(s, k[r][v], t, r * s.padded + slot + v * W);
    }
}

template <KernelKind kind>
void sparse_kernel(const ReducedRows &rows, const ReducedSet &s, std::size_t first, std::size_t count, Scratch &t) {
    for (std::size_t slot = 0; slot < s.vector_slots; slot += LANES) {
        const double *u = s.vectors.data() + slot * s.d;
        for (std::size_t r = 0; r < count; ++r) {
            const double offset = offset_of(rows, s, first + r);
            vd k[NV];
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) k[v] = start_value<kind>(s.init.data() + slot + v * W, offset);
            const std::int64_t begin = rows.start[first + r];
            const std::int32_t *at = rows.index.data() + begin;
            const double *value = rows.value.data() + begin;
            add_products_in_pairs(k, static_cast<std::size_t>(rows.start[first + r + 1] - begin),
                                  [=](std::size_t i) { return value[i]; }, [=](std::size_t i) { return u + at[i] * LANES; });
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) finish<kind>(s, k[v], t, r * s.padded + slot + v * W);
        }
    }
}

// Calls visit(number of one vector, of the other, of their product) for the rows of a tile.
template <class Visit>
void each_product(const ReducedSet &s, std::size_t count, Scratch &t, Visit &&visit) {
    for (std::size_t r = 0; r < count; ++r) {
        double *const row = t.kernel.data() + r * s.padded;
        for (std::size_t p = 0; p < s.pairs.shape(0); ++p)
            visit(row[s.pairs(p, 0)], row[s.pairs(p, 1)], row[s.vector_slots + p]);
    }
}

// The place of the pair of classes t and g: the coefficient row of g's vectors for it, and its number among all pairs.
inline std::size_t row_for(std::size_t g, std::size_t t) { return t < g ? t : t - 1; }
inline std::size_t pair_of(const ReducedSet &s, std::size_t t, std::size_t g) {
    return pair_number(s.groups, std::min(t, g), std::max(t, g));
}

inline double dot(const ReducedSet &s, std::size_t group, std::size_t q, const double *kernel) {
    const double *c = s.coef.data() + q * s.padded;
    vd sum = {};
    for (std::size_t j = s.group_start[group]; j < s.group_start[group + 1]; j += W)
        sum = fma(load(c + j), load(kernel + j), sum);
    return horizontal_sum(sum);
}

inline std::size_t group_of(const ReducedSet &s, const ReducedTile &tile) { return s.groups == 1 ? 0 : tile.winner; }

// The winner's decision values of one row.
void decide(const ReducedSet &s, std::size_t winner, const double *kernel, double *out) {
    for (std::size_t q = 0; q < s.width; ++q) out[q] = dot(s, winner, q, kernel) - (s.groups == 1 ? s.rho[q] : 0);
    for (std::size_t g = 0; g < s.groups; ++g)
        if (g != winner)
            out[row_for(winner, g)] += dot(s, g, row_for(g, winner), kernel) - s.rho[pair_of(s, winner, g)];
}

// Weighted residuals of the tile's rows; of scores of classes, what each adds to the gradient.
void residuals(const ReducedRows &rows, const ReducedSet &s, const ReducedTile &tile, Scratch &t, ReducedSums &sums) {
    const bool scores = s.width > rows.width;
    const std::size_t winner = group_of(s, tile);
    for (std::size_t r = 0; r < tile.count; ++r) {
        double *residual = t.residual.data() + r * s.width;
        decide(s, winner, t.kernel.data() + r * s.padded, residual);
        const double *target = rows.target.data() + (tile.first + r) * rows.width;
        const double *weight = rows.weight.data() + (tile.first + r) * rows.width;
        const double own = scores ? residual[tile.winner] : 0;
        double value = 0, sum = 0;
        for (std::size_t q = 0; q < rows.width; ++q) {
            double &at = residual[q + (scores && q >= tile.winner)];
            const double side = scores && q >= tile.winner ? 1 : -1, decision = side * (own - at);
            const bool beyond = rows.hinge && decision * target[q] >= 1;
            const double difference = beyond ? 0 : decision - target[q], weighted = weight[q] * difference;
            at = -side * weighted;
            value += weighted * difference, sum += side * weighted;
        }
        if (scores) residual[tile.winner] = sum;
        sums.value += 0.5 * value;
        for (std::size_t q = 0; s.groups == 1 && q < s.width; ++q) sums.rho[q] -= residual[q];
        for (std::size_t g = 0; g < s.groups; ++g)
            if (g != winner) sums.rho[pair_of(s, winner, g)] -= residual[row_for(winner, g)];
    }
    std::fill(t.residual.begin() + tile.count * s.width, t.residual.end(), 0.0);
}

// Gradient by the coefficients of one class, rows [first_q, last_q), with the residuals from `residual` on; the kernel
// values become q = (sum residual c) dK/d(u.x).
template <KernelKind kind>
inline void back_group(const ReducedSet &s, std::size_t r0, std::size_t g, std::size_t first_q, std::size_t last_q,
                       const double *norm, const double *residual, Scratch &t, ReducedSums &sums) {
    const vd slope_factor = broadcast(2 * s.gamma);
    for (std::size_t j = s.group_start[g]; j < s.group_start[g + 1]; j += W) {
        vd k[ROWS], weight[ROWS] = {};
        SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r) k[r] = load(t.kernel.data() + (r0 + r) * s.padded + j);
        for (std::size_t q = first_q; q < last_q; ++q) {
            const vd c = load(s.coef.data() + q * s.padded + j);
            vd grad = load(sums.coef.data() + q * s.padded + j);
            SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r) {
                const vd here = broadcast(residual[r * s.width + q - first_q]);
                weight[r] = fma(here, c, weight[r]);
                grad = fma(here, k[r], grad);
            }
            store(sums.coef.data() + q * s.padded + j, grad);
        }
        vd pull = load(sums.pull.data() + j), spread = load(sums.spread.data() + j);
        SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r) {
            vd q;
            if constexpr (kind == KernelKind::rbf)
                q = weight[r] * k[r] * slope_factor;
            else
                q = weight[r] * load(t.slope.data() + (r0 + r) * s.padded + j);
            pull += q;
            if constexpr (kind == KernelKind::rbf) spread = fma(q, broadcast(norm[r]), spread);
            store(t.kernel.data() + (r0 + r) * s.padded + j, q);
        }
        store(sums.pull.data() + j, pull);
        store(sums.spread.data() + j, spread);
    }
}

template <KernelKind kind>
void back(const ReducedSet &s, const ReducedTile &tile, const double *squared_norm, Scratch &t, ReducedSums &sums) {
    const std::size_t winner = group_of(s, tile);
    // Whole register tiles: rows after the last have zero residuals.
    for (std::size_t r0 = 0; r0 < tile.count; r0 += ROWS) {
        const double *const norm = squared_norm + tile.first + r0;
        const double *residual = t.residual.data() + r0 * s.width;
        back_group<kind>(s, r0, winner, 0, s.width, norm, residual, t, sums);
        for (std::size_t g = 0; g < s.groups; ++g) {
            if (g == winner) continue;
            const std::size_t q = row_for(g, winner);
            back_group<kind>(s, r0, g, q, q + 1, norm, residual + row_for(winner, g), t, sums);
        }
    }
}

void dense_gradient(const ReducedRows &rows, const ReducedSet &s, std::size_t tile, const Scratch &t,
                    ReducedSums &sums) {
    const double *z = rows.packed.data() + tile * s.d * ROWS;
    for (std::size_t slot = 0; slot < s.vector_slots; slot += LANES) {
        double *grad = sums.vectors.data() + slot * s.d;
        vd q[ROWS][NV];
        SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r)
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) q[r][v] = load(t.kernel.data() + r * s.padded + slot + v * W);
        for (std::size_t f = 0; f < s.d; ++f) {
            vd sum[NV];
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) sum[v] = load(grad + f * LANES + v * W);
            SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r) {
                const vd zr = broadcast(z[f * ROWS + r]);
                SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) sum[v] = fma(zr, q[r][v], sum[v]);
            }
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) store(grad + f * LANES + v * W, sum[v]);
        }
    }
}

void sparse_gradient(const ReducedRows &rows, const ReducedSet &s, std::size_t first, std::size_t count,
                     const Scratch &t, ReducedSums &sums) {
    for (std::size_t slot = 0; slot < s.vector_slots; slot += LANES) {
        double *grad = sums.vectors.data() + slot * s.d;
        for (std::size_t r = 0; r < count; ++r) {
            vd q[NV];
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) q[v] = load(t.kernel.data() + r * s.padded + slot + v * W);
            for (std::int64_t i = rows.start[first + r]; i < rows.start[first + r + 1]; ++i) {
                double *at = grad + rows.index[i] * LANES;
                const vd z = broadcast(rows.value[i]);
                SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) store(at + v * W, fma(z, q[v], load(at + v * W)));
            }
        }
    }
}

// For each row the sum of q u, feature by feature, and the sum of q.
void row_sums(const ReducedSet &s, const ReducedTile &tile, const Scratch &t, double *out) {
    const double scale = 1 / (2 * s.gamma * LOG2_E);  // of the packed vectors
    for (std::size_t r0 = 0; r0 < tile.count; r0 += ROWS)
        for (std::size_t f = 0; f <= s.d; ++f) {
            vd sum[ROWS] = {};
            for (std::size_t j = 0; j < s.group_start.back(); j += W) {
                const double *panel = s.vectors.data() + j / LANES * LANES * s.d + j % LANES;
                const vd u = f < s.d ? load(panel + f * LANES) * scale : broadcast(1.0);
                SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r)
                    sum[r] = fma(load(t.kernel.data() + (r0 + r) * s.padded + j), u, sum[r]);
            }
            for (std::size_t r = 0; r < std::min(ROWS, tile.count - r0); ++r)
                out[(tile.first + r0 + r) * (s.d + 1) + f] = horizontal_sum(sum[r]);
        }
}

template <KernelKind kind>
void run(const ReducedRows &rows, const ReducedSet &s, std::size_t first, std::size_t last, ReducedSums &sums) {
    Scratch t(s, rows.tile_rows);
    Pulse pulse;
    for (std::size_t i = first; i < last; ++i) {
        const ReducedTile &tile = rows.tiles[i];
        const std::size_t entries = rows.dense ? tile.count * s.d : rows.start[tile.first + tile.count] - rows.start[tile.first];
        pulse.spent(s.padded * (2 * entries + tile.count * s.width));
        if (rows.dense)
            dense_kernel<kind>(rows, s, i, t);
        else
            sparse_kernel<kind>(rows, s, tile.first, tile.count, t);
        each_product(s, tile.count, t, [](double a, double b, double &product) { product = a * b; });
        residuals(rows, s, tile, t, sums);
        back<kind>(s, tile, rows.squared_norm.data(), t, sums);
        each_product(s, tile.count, t, [](double &a, double &b, double &q) { a += q, b += q; });
        if (rows.dense)
            dense_gradient(rows, s, i, t, sums);
        else
            sparse_gradient(rows, s, tile.first, tile.count, t, sums);
        if (sums.by_rows) row_sums(s, tile, t, sums.by_rows);
    }
}

}  // namespace

void reduced_rows(const ReducedRows &rows, const ReducedSet &s, std::size_t first, std::size_t last, ReducedSums &sums) {
    switch (s.kind) {
        case KernelKind::rbf: return run<KernelKind::rbf>(rows, s, first, last, sums);
        case KernelKind::sigmoid: return run<KernelKind::sigmoid>(rows, s, first, last, sums);
        default: return run<KernelKind::polynomial>(rows, s, first, last, sums);
    }
}

}  // namespace svmfast::SVMFAST_ISA
