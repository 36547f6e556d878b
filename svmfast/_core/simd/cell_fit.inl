// The loss of the training rows of one cell, with its gradient: cells.hpp. A fit goes through tiles of kernel values as
// prediction does, with the same sums.
#include "cells.hpp"
#include "simd/panels.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// Products of pairs of kernel values, at x[m ..) in tiles of `rows`.
void multiply_pairs(const std::int64_t *pair, std::size_t count, std::size_t m, std::size_t rows, std::size_t vectors,
                    double *x) {
    for (std::size_t p = 0; p < count; ++p) {
        const double *a = x + pair[2 * p] * rows, *b = x + pair[2 * p + 1] * rows;
        for (std::size_t v = 0; v < vectors; ++v) store(x + (m + p) * rows + v * W, load(a + v * W) * load(b + v * W));
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
