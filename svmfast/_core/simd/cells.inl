// Decision values of the cells of a routed model, and the loss of one cell's training rows with its gradient:
// cells.hpp. A fit goes through tiles of kernel values as prediction does, with the same sums.
#include "cells.hpp"
#include "rounding.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// Rows of a tile: enough sums side by side to hide the latency of multiply-adds of a single function.
constexpr std::size_t PREDICT_VECTORS = W == 8 ? 2 : 4, PREDICT_ROWS = PREDICT_VECTORS * W;
// Summing entry by entry is faster if a tile's rows have less than this share of all columns.
constexpr double SPARSE_SHARE = 0.35;

// Scratch of one tile: rows by feature, kernel values, decision values and each class's shares; [..][PREDICT_ROWS] all;
// and the tile's rows in the features of a cell.
struct Tile {
    Aligned<double> across, features, sums;
    double squared_norm[PREDICT_ROWS];
    std::vector<std::int64_t> start, own_order;
    std::vector<std::int32_t> position;
    std::vector<double> value;
    Pulse pulse;
    explicit Tile(const Cells &e)
        : across(e.columns * PREDICT_ROWS), features((e.widest + CELL_OCTET) * PREDICT_ROWS),
          sums((e.functions + e.groups * (e.groups ? e.groups - 1 : 0)) * PREDICT_ROWS), start(PREDICT_ROWS + 1),
          own_order(PREDICT_ROWS) {
        for (std::size_t r = 0; r < PREDICT_ROWS; ++r) own_order[r] = r;
    }

    // The rows order[0 .. count) with their columns numbered as the cell's features; columns that it lacks are left
    // out.
    Csr among(const ActiveColumns &columns, const Csr &rows, const std::int64_t *order, std::size_t count) {
        position.clear(), value.clear();
        for (std::size_t r = 0; r < count; ++r) {
            for (std::int64_t i = rows.indptr[order[r]]; i < rows.indptr[order[r] + 1]; ++i) {
                const std::int32_t at = columns.position(rows.indices[i]);
                if (at < 0) continue;
                position.push_back(at), value.push_back(rows.values[i]);
            }
            start[r + 1] = position.size();
        }
        return {start.data(), position.data(), value.data()};
    }
};

void listed_exponents(const Cell &cell, const Csr &rows, const std::int64_t *order, std::size_t count, double *out) {
    for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t j = 0; j < cell.m; ++j) out[j * PREDICT_ROWS + r] = cell.init[j];
        for (std::int64_t i = rows.indptr[order[r]]; i < rows.indptr[order[r] + 1]; ++i) {
            const auto f = static_cast<std::size_t>(rows.indices[i]);
            if (f >= cell.features.size()) break;
            const double x = rows.values[i];
            for (std::int64_t k = cell.list_start[f]; k < cell.list_start[f + 1]; ++k) {
                double &sum = out[static_cast<std::size_t>(cell.list_landmark[k]) * PREDICT_ROWS + r];
                sum = fma(x, cell.list_value[k], sum);
            }
        }
    }
}

void sparse_exponents(const Cell &cell, const Csr &rows, const std::int64_t *order, std::size_t count, double *out) {
    const std::size_t stride = round_up(cell.m, CELL_OCTET);
    constexpr std::size_t N = CELL_OCTET / W;
    for (std::size_t r = 0; r < count; ++r) {
        const std::int64_t begin = rows.indptr[order[r]];
        std::int64_t end = rows.indptr[order[r] + 1];
        while (end > begin && static_cast<std::size_t>(rows.indices[end - 1]) >= cell.features.size()) --end;
        const std::int32_t *at = rows.indices + begin;
        const double *value = rows.values + begin;
        std::size_t j = 0;
        const auto panel = [&](auto vectors) {
            constexpr std::size_t V = vectors;
            const double *columns = cell.columns.data() + j;
            vd sum[1][V];
    SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) sum[0][v] = load(cell.init.data() + j + v * W);
            add_products(sum, static_cast<std::size_t>(end - begin),
                         [=](std::size_t, std::size_t i) { return value[i]; },
                         [=](std::size_t i) { return columns + static_cast<std::size_t>(at[i]) * stride; });
            double lanes[V * W];
            SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) store(lanes + v * W, sum[0][v]);
            for (std::size_t i = 0; i < V * W; ++i) out[(j + i) * PREDICT_ROWS + r] = lanes[i];
            j += V * W;
        };
        while (j + 4 * N * W <= stride) panel(std::integral_constant<std::size_t, 4 * N>{});
        while (j < stride) panel(std::integral_constant<std::size_t, N>{});
    }
}

void dense_exponents(const Cell &cell, const Csr &rows, const std::int64_t *order, std::size_t count,
                     std::size_t vectors, Aligned<double> &across, double *out) {
    const std::size_t d = cell.features.size();
    std::fill_n(across.begin(), d * PREDICT_ROWS, 0.0);
    for (std::size_t r = 0; r < count; ++r)
        for (std::int64_t i = rows.indptr[order[r]]; i < rows.indptr[order[r] + 1]; ++i)
            if (static_cast<std::size_t>(rows.indices[i]) < d)
                across[rows.indices[i] * PREDICT_ROWS + r] = rows.values[i];
    for (std::size_t j = 0; j < cell.m; ++j)
        for (std::size_t v = 0; v < vectors; ++v) store(out + j * PREDICT_ROWS + v * W, broadcast(cell.init[j]));
    product(cell.m, vectors, out, PREDICT_ROWS, cell.vectors.data(), d, across.data(), PREDICT_ROWS, d);
}

// Pseudo landmarks by the triangle inequality, from the exponents at x[0 .. m), before these become kernel values.
void triangle(const Cell &cell, std::size_t vectors, double *x) {
    const double scale = -1 / (cell.gamma * LOG2_E), back = -cell.gamma * LOG2_E;
    for (std::size_t v = 0; v < vectors; ++v) {
        double *at = x + v * W;
        // Distances replace the exponents for now.
        for (std::size_t j = 0; j < cell.m; ++j) {
            double *here = at + j * PREDICT_ROWS;
            store(here, square_root(maximum(load(here) * scale, vd{})));
        }
        for (std::size_t t = 0; t < cell.pseudo; ++t) {
            const double *distance = cell.distance.data() + t * cell.m;
            vd most = vd{};
            for (std::size_t j = 0; j < cell.m; ++j)
                most = maximum(most, absolute(load(at + j * PREDICT_ROWS) - distance[j]));
            store(at + (cell.m + t) * PREDICT_ROWS, exp2(most * most * back));
        }
        for (std::size_t j = 0; j < cell.m; ++j) {
            double *here = at + j * PREDICT_ROWS;
            const vd r = load(here);
            store(here, r * r * back);
        }
    }
}

// Products of pairs of kernel values, at x[m ..) in tiles of `rows`.
void multiply_pairs(const std::int64_t *pair, std::size_t count, std::size_t m, std::size_t rows, std::size_t vectors,
                    double *x) {
    for (std::size_t p = 0; p < count; ++p) {
        const double *a = x + pair[2 * p] * rows, *b = x + pair[2 * p + 1] * rows;
        for (std::size_t v = 0; v < vectors; ++v) store(x + (m + p) * rows + v * W, load(a + v * W) * load(b + v * W));
    }
}

// LIBSVM's pairs from the kernel values x: the shares of both classes, each a product with the class's own coefficients.
void decide_pairs(const Cells &e, const Cell &cell, std::size_t vectors, const double *x, double *f) {
    const std::size_t k = e.groups, width = k - 1;
    double *share = f + e.functions * PREDICT_ROWS;  // [class][coefficient row][PREDICT_ROWS]
    std::fill_n(share, k * width * PREDICT_ROWS, 0.0);
    for (std::size_t g = 0; g < k; ++g) {
        const std::size_t first = cell.group_start[g], size = cell.group_start[g + 1] - first;
        if (size)
            product(width, vectors, share + g * width * PREDICT_ROWS, PREDICT_ROWS, cell.coef.data() + first * width, size,
                    x + first * PREDICT_ROWS, PREDICT_ROWS, size);
    }
    for (std::size_t i = 0, p = 0; i < k; ++i)
        for (std::size_t j = i + 1; j < k; ++j, ++p)
            for (std::size_t v = 0; v < vectors; ++v) {
                const vd mine = load(share + (i * width + j - 1) * PREDICT_ROWS + v * W);
                const vd other = load(share + (j * width + i) * PREDICT_ROWS + v * W);
                store(f + p * PREDICT_ROWS + v * W, mine + other - cell.rho[p]);
            }
}

// Marks the tile's rows with a value within rounding error of zero, as the exact sums do (simd/decision.inl).
void mark_near_boundary(const Cells &e, const Cell &cell, const Csr &rows, const std::int64_t *which, std::size_t count,
           const double *squared_norm, const double *f, std::uint8_t *near_boundary) {
    Rounding error[PREDICT_ROWS] = {};
    double per_coef[PREDICT_ROWS] = {}, fixed[PREDICT_ROWS] = {};
    for (std::size_t r = 0; r < count; ++r) {
        const std::size_t entries = rows.indptr[which[r] + 1] - rows.indptr[which[r]];
        error[r] = rounding(KernelKind::rbf, cell.gamma, 0, 0, cell.m, cell.features.size() + entries, cell.max_norm,
                            squared_norm[r]);
        per_coef[r] = error[r].sum, fixed[r] = error[r].fixed;
    }
    double unsure[PREDICT_ROWS];
    for (std::size_t at = 0; at < PREDICT_ROWS; at += W) {
        vi any = {};
        for (std::size_t p = 0; p < e.functions; ++p) {
            if (cell.coef_l1[p] == 0) continue;  // a constant, the same in any order
            const vd bound = load(per_coef + at) * cell.coef_l1[p] + (load(fixed + at) + error[0].rho * std::fabs(cell.rho[p]));
            const vd size = absolute(load(f + p * PREDICT_ROWS + at));
            any |= ~(vi)((size > bound) & (size <= std::numeric_limits<double>::max()));  // proves_sign of vote.hpp
        }
        store(unsure + at, any ? broadcast(1.0) : vd{});
    }
    for (std::size_t r = 0; r < count; ++r) near_boundary[which[r]] = !error[r].small() || unsure[r] != 0;
}

// The kernel values of the rows which[0 .. here) and their pseudo landmarks -> t.features.
void kernel_values(const Cells &e, const Cell &cell, const Csr &rows, const std::int64_t *which, std::size_t here,
                   std::size_t vectors, Tile &t) {
    double *const x = t.features.data();
    double offset[PREDICT_ROWS] = {};
    std::size_t entries = 0;
    for (std::size_t r = 0; r < here; ++r) {
        entries += rows.entries(which[r]);
        t.squared_norm[r] = rows.squared_norm(which[r]);
        offset[r] = t.squared_norm[r] * (-cell.gamma * LOG2_E);
    }
    const bool as_they_are = cell.features.plain();
    const Csr mine = as_they_are ? rows : t.among(cell.features, rows, which, here);
    const std::int64_t *at = as_they_are ? which : t.own_order.data();
    if (cell.listed || entries < SPARSE_SHARE * cell.features.size() * here) {
        for (std::size_t j = 0; j < cell.m; ++j)
            for (std::size_t r = here; r < vectors * W; ++r) x[j * PREDICT_ROWS + r] = 0;
        if (cell.listed)
            listed_exponents(cell, mine, at, here, x);
        else
            sparse_exponents(cell, mine, at, here, x);
    } else {
        dense_exponents(cell, mine, at, here, vectors, t.across, x);
    }
    const auto each = [=](std::size_t count, auto &&change) {
        for (std::size_t v = 0; v < vectors; ++v)
            for (std::size_t j = 0; j < count; ++j) {
                double *const value = x + j * PREDICT_ROWS + v * W;
                store(value, change(load(value), v));
            }
    };
    // Rounding must not make K exceed 1.
    each(cell.m, [&](vd t, std::size_t v) { return -maximum(-(t + load(offset + v * W)), vd{}); });
    if (e.kind == Pseudo::triangle && cell.pseudo) triangle(cell, vectors, x);
    each(cell.m, [](vd t, std::size_t) { return exp2(t); });
    if (e.kind == Pseudo::poly) multiply_pairs(cell.pair.data(), cell.pseudo, cell.m, PREDICT_ROWS, vectors, x);
}

void decide(const Cells &e, const Cell &cell, const Csr &rows, const std::int64_t *order, std::size_t count, Tile &t,
            double *out, std::uint8_t *near_boundary) {
    double *x = t.features.data(), *f = t.sums.data();
    for (std::size_t first = 0; first < count; first += PREDICT_ROWS) {
        const std::size_t here = std::min(PREDICT_ROWS, count - first), vectors = divide_up(here, W);
        const std::int64_t *which = order + first;
        t.pulse.spent(PREDICT_ROWS * (cell.m + cell.pseudo + 1) * (e.columns + cell.active + 1));
        if (cell.active) kernel_values(e, cell, rows, which, here, vectors, t);
        if (cell.active && e.groups) {
            decide_pairs(e, cell, vectors, x, f);
            mark_near_boundary(e, cell, rows, which, here, t.squared_norm, f, near_boundary);
        } else if (cell.active) {
            for (std::size_t a = 0; a < cell.active; ++a)
                for (std::size_t v = 0; v < vectors; ++v)
                    store(f + a * PREDICT_ROWS + v * W, broadcast(-cell.rho[cell.function[a]]));
            product(cell.active, vectors, f, PREDICT_ROWS, cell.coef.data(), cell.m + cell.pseudo, x, PREDICT_ROWS,
                    cell.m + cell.pseudo);
        }
        for (std::size_t r = 0; r < here; ++r) {
            double *to = out + which[r] * e.functions;
            if (cell.active < e.functions)
                for (std::size_t p = 0; p < e.functions; ++p) to[p] = -cell.rho[p];
            for (std::size_t a = 0; a < cell.active; ++a) to[cell.function[a]] = f[a * PREDICT_ROWS + r];
        }
    }
}

constexpr std::size_t FIT_ROWS = FIT_VECTORS * W;

// The loss, and its derivative by f, which overwrites f; returns the sum over the tile.
double losses(const FitRows &rows, std::size_t tile, double *f) {
    const double *target = rows.target.data() + tile * rows.functions * FIT_ROWS;
    const double *weight = rows.weight.data() + tile * FIT_ROWS;
    vd total = {};
    for (std::size_t at = 0; at < FIT_ROWS; at += W) {
        const vd w = load(weight + at);
        for (std::size_t p = 0; p < rows.functions; ++p) {
            double *g = f + p * FIT_ROWS + at;
            const vd y = load(target + p * FIT_ROWS + at);
            if (rows.hinge) {
                const vd slack = maximum(1.0 - y * load(g), vd{});
                total += w * slack * slack;
                store(g, -2.0 * w * y * slack);
            } else {
                const vd r = load(g) - y;
                total += w * r * r;
                store(g, 2.0 * w * r);
            }
        }
    }
    return horizontal_sum(total);
}

}  // namespace

void cell_decisions(const Cells &e, const Csr &rows, const std::int64_t *order, const std::int64_t *start,
                    double *out, std::uint8_t *near_boundary) {
    Tile t(e);
    for (std::size_t c = 0; c < e.cells.size(); ++c)
        if (start[c] < start[c + 1]) decide(e, e.cells[c], rows, order + start[c], start[c + 1] - start[c], t, out, near_boundary);
}

void cell_fit(const FitRows &rows, const FitPoint &s, std::size_t first, std::size_t last, FitSums &sums) {
    constexpr std::size_t V = FIT_ROWS / W;
    const std::size_t width = s.m + s.pseudo, P = rows.functions;
    Aligned<double> exponent(s.m * FIT_ROWS), x(width * FIT_ROWS), f(P * FIT_ROWS), back(width * FIT_ROWS),
        turned(FIT_ROWS * rows.padded_functions);
    const double per_gamma = 1 / (s.gamma * LOG2_E);
    Pulse pulse;
    for (std::size_t tile = first; tile < last; ++tile) {
        pulse.spent(3 * FIT_ROWS * width * (rows.d + P + 1));
        const double *norm = rows.norm.data() + tile * FIT_ROWS;
        for (std::size_t j = 0; j < s.m; ++j)
            for (std::size_t v = 0; v < V; ++v)
                store(exponent.data() + j * FIT_ROWS + v * W,
                      broadcast(s.init[j]) - s.gamma * LOG2_E * load(norm + v * W));
        const double *across = rows.across.data() + tile * rows.d * FIT_ROWS;
        product(s.m, V, exponent.data(), FIT_ROWS, s.scaled.data(), rows.d, across, FIT_ROWS, rows.d);
        for (std::size_t i = 0; i < s.m * FIT_ROWS; i += W) {
            const vd t = -maximum(-load(exponent.data() + i), vd{});
            store(exponent.data() + i, t);
            store(x.data() + i, exp2(t));
        }
        multiply_pairs(s.pair, s.pseudo, s.m, FIT_ROWS, V, x.data());
        for (std::size_t p = 0; p < P; ++p) std::fill_n(f.data() + p * FIT_ROWS, FIT_ROWS, -s.rho[p]);
        product(P, V, f.data(), FIT_ROWS, s.coef, width, x.data(), FIT_ROWS, width);
        sums.value += losses(rows, tile, f.data());

        // Coefficients and offsets.
        std::fill(turned.begin(), turned.end(), 0.0);
        for (std::size_t p = 0; p < P; ++p) {
            vd total = {};
            for (std::size_t v = 0; v < V; ++v) total += load(f.data() + p * FIT_ROWS + v * W);
            sums.rho[p] -= horizontal_sum(total);
            for (std::size_t r = 0; r < FIT_ROWS; ++r) turned[r * rows.padded_functions + p] = f[p * FIT_ROWS + r];
        }
        if (P == 1) {
            for (std::size_t k = 0; k < width; ++k) {
                vd total = {};
                for (std::size_t v = 0; v < V; ++v)
                    total = fma(load(f.data() + v * W), load(x.data() + k * FIT_ROWS + v * W), total);
                sums.coef[k * rows.padded_functions] += horizontal_sum(total);
            }
        } else {
            product(width, rows.padded_functions / W, sums.coef.data(), rows.padded_functions, x.data(), FIT_ROWS,
                    turned.data(), rows.padded_functions, FIT_ROWS);
        }
        // The derivative by every entry of c, then through the products by the kernel values.
        std::fill(back.begin(), back.end(), 0.0);
        product(width, V, back.data(), FIT_ROWS, s.transposed.data(), P, f.data(), FIT_ROWS, P);
        for (std::size_t p = 0; p < s.pseudo; ++p) {
            const std::size_t i = s.pair[2 * p] * FIT_ROWS, j = s.pair[2 * p + 1] * FIT_ROWS;
            const double *from = back.data() + (s.m + p) * FIT_ROWS;
            for (std::size_t r = 0; r < FIT_ROWS; r += W) {
                const vd g = load(from + r);
                store(back.data() + i + r, fma(g, load(x.data() + j + r), load(back.data() + i + r)));
                store(back.data() + j + r, fma(g, load(x.data() + i + r), load(back.data() + j + r)));
            }
        }
        vd by_gamma = {};
        for (std::size_t j = 0; j < s.m; ++j) {
            vd pull = {};
            for (std::size_t r = 0; r < FIT_ROWS; r += W) {
                double *at = back.data() + j * FIT_ROWS + r;
                const vd q = load(at) * load(x.data() + j * FIT_ROWS + r);
                store(at, q);
                pull += q;
                by_gamma = fma(q, load(exponent.data() + j * FIT_ROWS + r), by_gamma);
            }
            sums.pull[j] += horizontal_sum(pull);
        }
        sums.gamma += horizontal_sum(by_gamma) * per_gamma;
        product(s.m, rows.padded_d / W, sums.vectors.data(), rows.padded_d, back.data(), FIT_ROWS,
                rows.along.data() + tile * FIT_ROWS * rows.padded_d, rows.padded_d, FIT_ROWS);
    }
}

}  // namespace svmfast::SVMFAST_ISA
