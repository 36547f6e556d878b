// Kernel values in single precision, in register tiles, with their weighted sums: single_precision.hpp for the layout.
#pragma once
#include <algorithm>
#include <vector>

#include "interrupt.hpp"
#include "math.hpp"
#include "simd/exp2.hpp"
#include "simd/tiles.hpp"
#include "single_precision.hpp"

namespace svmfast::SVMFAST_ISA {

// The most terms that a lane sums in single precision before the sum is added to a double.
constexpr std::size_t FOLD_TERMS = 32;
constexpr std::size_t FOLD_PANELS = FOLD_TERMS / NF;
// Features of a dense row whose products are summed in one chain: a panel of them, and the rows of a tile, stay in the
// L1 cache. The sums of several chains are added, which also rounds less often than a single one.
constexpr std::size_t CHAIN = 128;
constexpr std::size_t SLICE = 24576 / (SINGLE_LANES * 4);  // features of a panel that stay in the L1 cache
constexpr std::size_t PANEL_BYTES = 256 * 1024;            // of panels that stay in the L2 cache,
constexpr std::size_t TILE_BYTES = 512 * 1024;             // and of kernel values

// Rows of a tile: half of what fits into the registers, because the exponentials of a smaller tile overlap with the
// products of the next (measured).
constexpr std::size_t TILE_ROWS = W == 8 ? SINGLE_ROWS / 2 : SINGLE_ROWS;

// The function applied to a finished sum: 2^t, R(t) = exp(t) - 1 - t - t^2 / 2, a power, tanh(t); and the magnitude of
// its value where the bound uses that.
struct Gaussian {
    static vf of(vf t, int) { return exp2(t); }
    static vf magnitude(vf value) { return value; }
};
struct Remainder : Gaussian {
    static vf of(vf t, int) { return exp_remainder(t); }
};
struct Power {
    static vf of(vf t, int degree) { return powi(t, degree); }
    static vf magnitude(vf value) { return maximum(value, -value); }
};
struct Sigmoid : Gaussian {
    static vf of(vf t, int) { return tanh(t); }
};

// Sums of coefficients times kernel values, [row][class]; if there are sizes also the sums of magnitudes; and for pairs
// of classes the kernel values themselves, which still have to be multiplied by coefficients.
struct SingleSums {
    const SinglePack &s;
    std::size_t stride;  // kernel values of a row
    std::vector<double> total, magnitude;
    Aligned<float> kernel;  // [row of a tile][panel][lanes]

    SingleSums(const SinglePack &s, std::size_t rows)
        : s(s), stride(s.pairs ? s.group_panels.back() * SINGLE_LANES : 0), total(rows * s.e.groups, 0.0),
          magnitude(s.size.empty() ? 0 : rows * s.e.groups, 0.0) {}

    void fold(std::size_t row, std::size_t group, const vf *acc) {
        total[row * s.e.groups + group] += static_cast<double>(horizontal_sum(acc[0]));
        if (!magnitude.empty()) magnitude[row * s.e.groups + group] += static_cast<double>(horizontal_sum(acc[1]));
    }
};

// Finishes the sums k of R rows and one panel.
template <class Function, std::size_t R>
inline void finish(const SinglePack &s, SingleSums &sums, std::size_t panel, std::size_t first_row, vf (&k)[R][NF],
                   vf *acc) {
    SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
        SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) k[r][v] = Function::of(k[r][v], s.e.degree);
    const std::size_t at = panel * SINGLE_LANES;
    SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) {
        const vf c = load(s.coef.data() + at + v * WF);
        SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r) acc[2 * r] = fma(c, k[r][v], acc[2 * r]);
    }
    if (!sums.magnitude.empty()) {
        SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) {
            const vf c = load(s.size.data() + at + v * WF);
            SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r) acc[2 * r + 1] = fma(c, Function::magnitude(k[r][v]), acc[2 * r + 1]);
        }
    }
    if (s.pairs) {
        SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
            SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v)
                store(sums.kernel.data() + (first_row + r) * sums.stride + at + v * WF, k[r][v]);
    }
}

// One tile of R dense rows z[feature][R] with the panels [first, last) of a class; `first_row` of the kept kernel values.
template <class Function, std::size_t R>
void dense_tile(const SinglePack &s, SingleSums &sums, const float *z, const float *offset, std::size_t first_row,
                std::size_t first, std::size_t last, vf *acc) {
    const std::size_t d = s.e.active.size();
    std::fill(acc, acc + 2 * R, vf{});
    for (std::size_t panel = first; panel < last; ++panel) {
        const float *x = s.values.data() + panel * d * SINGLE_LANES, *init = s.init.data() + panel * SINGLE_LANES;
        vf k[R][NF];
        SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
            SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) k[r][v] = load(init + v * WF) + offset[r];
        add_products(k, d, [=](std::size_t r, std::size_t f) { return z[f * R + r]; },
                     [=](std::size_t f) { return x + f * SINGLE_LANES; });
        finish<Function, R>(s, sums, panel, first_row, k, acc);
    }
}

// The same for `tiles` tiles of more than CHAIN features: acc[tile][2 R], partial[tile][R][NF].
template <class Function, std::size_t R>
void wide_tiles(const SinglePack &s, SingleSums &sums, const float *z, const float *offset, std::size_t tiles,
                std::size_t first, std::size_t last, vf *partial, vf *acc) {
    const std::size_t d = s.e.active.size();
    std::fill(acc, acc + tiles * 2 * R, vf{});
    for (std::size_t panel = first; panel < last; ++panel) {
        const float *x = s.values.data() + panel * d * SINGLE_LANES, *init = s.init.data() + panel * SINGLE_LANES;
        for (std::size_t from = 0; from < d; from += CHAIN)
            for (std::size_t t = 0; t < tiles; ++t) {
                const float *const row = z + (t * d + from) * R, *const vectors = x + from * SINGLE_LANES;
                vf *const so_far = partial + t * R * NF;
                vf k[R][NF] = {};
                add_products(k, std::min(CHAIN, d - from), [=](std::size_t r, std::size_t f) { return row[f * R + r]; },
                             [=](std::size_t f) { return vectors + f * SINGLE_LANES; });
                SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
                    SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v)
                        k[r][v] += from ? so_far[r * NF + v] : load(init + v * WF) + offset[t * R + r];
                if (from + CHAIN >= d) {
                    finish<Function, R>(s, sums, panel, t * R, k, acc + t * 2 * R);
                    continue;
                }
                SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
                    SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) so_far[r * NF + v] = k[r][v];
            }
    }
}

// A sparse row of the model's columns: entries [from, to) of a slice of features.
struct SparseRow {
    const std::int32_t *position;
    const float *value;
    std::size_t row;          // of the block
    float offset;
    std::size_t from, end;    // its remaining entries
};

// Sparse rows with all panels of a class, panel by panel and slice by slice, so that the data read stay in the L1 cache.
template <class Function>
void sparse_class(const SinglePack &s, SingleSums &sums, std::vector<SparseRow> &rows, std::size_t group,
                         Aligned<vf> &acc, Aligned<vf> &partial) {
    const std::size_t d = s.e.active.size(), slices = std::max<std::size_t>(1, divide_up(d, SLICE));
    std::vector<std::size_t> begin(rows.size());
    std::size_t entries = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        begin[i] = rows[i].from;
        entries += rows[i].end - rows[i].from;
    }
    Pulse pulse;
    const std::size_t end = s.group_panels[group + 1];
    for (std::size_t first = s.group_panels[group]; first < end; first += FOLD_PANELS) {
        std::fill(acc.begin(), acc.end(), vf{});
        for (std::size_t panel = first; panel < std::min(first + FOLD_PANELS, end); ++panel) {
            const float *x = s.values.data() + panel * d * SINGLE_LANES, *init = s.init.data() + panel * SINGLE_LANES;
            for (std::size_t slice = 0; slice < slices; ++slice)
                for (std::size_t i = 0; i < rows.size(); ++i) {
                    SparseRow &row = rows[i];
                    vf k[1][NF];
                    SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v)
                        k[0][v] = slice ? partial[i * NF + v] : load(init + v * WF) + row.offset;
                    const std::size_t n = row.from;
                    std::size_t stop = row.end;
                    if (slices > 1 && slice + 1 < slices) {
                        const auto past = static_cast<std::int32_t>((slice + 1) * SLICE);
                        stop = std::lower_bound(row.position + n, row.position + row.end, past) - row.position;
                    }
                    row.from = stop;
                    const std::int32_t *at = row.position + n;
                    const float *value = row.value + n;
                    add_products_in_pairs(k[0], stop - n, [=](std::size_t j) { return value[j]; },
                                          [=](std::size_t j) { return x + at[j] * SINGLE_LANES; });
                    if (slice + 1 < slices) {
                        SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) partial[i * NF + v] = k[0][v];
                        continue;
                    }
                    row.from = begin[i];
                    finish<Function, 1>(s, sums, panel, i, k, acc.data() + 2 * i);
                }
        }
        for (std::size_t i = 0; i < rows.size(); ++i) sums.fold(rows[i].row, group, acc.data() + 2 * i);
        pulse.spent((entries + rows.size()) * (std::min(first + FOLD_PANELS, end) - first) * SINGLE_LANES);
    }
}

}  // namespace svmfast::SVMFAST_ISA
