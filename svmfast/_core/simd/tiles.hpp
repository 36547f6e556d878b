// The register-tiled product of the core, and the tile sizes that fill the registers of each instruction set. The
// calling code decides how a tile is used (sums, kernel values, scores).
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "aligned.hpp"
#include "dispatch.hpp"
#include "math.hpp"
#include "simd/vec.hpp"

namespace svmfast::SVMFAST_ISA {

// Support vectors lie in panels of NV vectors. ROWS * NV sums, NV vectors and a broadcast number are in registers, of
// which AVX-512 has 32 and the others 16.
constexpr std::size_t LANES = NV * W;
constexpr std::size_t ROWS = W == 8 ? 8 : 4;

// The same in single precision.
constexpr std::size_t SINGLE_LANES = NF * WF;
constexpr std::size_t SINGLE_ROWS = W == 8 ? 12 : 6;

// A feature of a tile of dense rows costs its multiply-adds; one of a sparse row, or a group of integers, also a
// broadcast and an index (measured).
constexpr double SPARSE_COST = 1.7;

struct MultiplyAdd {
    template <class V>
    V operator()(V sum, V left, V right) const {
        return fma(left, right, sum);
    }
};

// Two roundings per term on every instruction set.
struct MultiplyThenAdd {
    template <class V>
    V operator()(V sum, V left, V right) const {
        return sum + left * right;
    }
};

// sum[r][v] += left(r, k) * right(k)[v] for k = 0 .. n - 1, in this order; left(r, k) is a number, right(k) points at N
// vectors. `step` adds a term.
template <std::size_t R, std::size_t N, class V, class Left, class Right, class Step = MultiplyAdd>
SVMFAST_INLINE void add_products(V (&sum)[R][N], std::size_t n, Left &&left, Right &&right, Step step = {}) {
    constexpr std::size_t lanes = sizeof(V) / sizeof(sum[0][0][0]);
    for (std::size_t k = 0; k < n; ++k) {
        const auto *from = right(k);
        V x[N];
    SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) x[v] = load(from + v * lanes);
        SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r) {
            const V a = broadcast(left(r, k));
            SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) sum[r][v] = step(sum[r][v], a, x[v]);
        }
    }
}

// add_products() for one row, in two chains that hide the latency of the multiply-add: even terms and odd terms are summed apart.
template <std::size_t N, class V, class Left, class Right, class Step = MultiplyAdd>
SVMFAST_INLINE void add_products_in_pairs(V (&sum)[N], std::size_t n, Left &&left, Right &&right, Step step = {}) {
    constexpr std::size_t lanes = sizeof(V) / sizeof(sum[0][0]);
    V odd[N] = {};
    std::size_t k = 0;
    for (; k + 1 < n; k += 2) {
        const auto *x0 = right(k), *x1 = right(k + 1);
        const V z0 = broadcast(left(k)), z1 = broadcast(left(k + 1));
        SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) {
            sum[v] = step(sum[v], z0, load(x0 + v * lanes));
            odd[v] = step(odd[v], z1, load(x1 + v * lanes));
        }
    }
    if (k < n) {
        const auto *x = right(k);
        const V z = broadcast(left(k));
        SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) sum[v] = step(sum[v], z, load(x + v * lanes));
    }
    SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) sum[v] += odd[v];
}

// A sparse row: its terms [from, end).
struct SparseRow {
    std::size_t row;  // of the block
    std::size_t from, end;
};

// Sums of products of sparse rows with one panel, x[feature][N vectors], slice by slice of the features so that the
// data read stay in the L1 cache. Row i begins with start(i, v) in vector v; its sums go to finish(i, sums). partial:
// room for N vectors a row where there are several slices.
template <std::size_t N, class V, class Step = MultiplyAdd, class Row, class Number, class Start, class Finish>
SVMFAST_INLINE void sparse_panel(const Number *x, std::size_t d, const std::vector<Row> &rows, const std::int32_t *position,
                                 const Number *value, Aligned<V> &partial, std::vector<std::size_t> &next, Start &&start,
                                 Finish &&finish) {
    constexpr std::size_t lanes = N * sizeof(V) / sizeof(Number), slice = 24576 / (N * sizeof(V));
    const std::size_t slices = std::max<std::size_t>(1, divide_up(d, slice));
    if (slices > 1) partial.resize(rows.size() * N), next.resize(rows.size());
    for (std::size_t s = 0; s < slices; ++s)
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::size_t from = s ? next[i] : rows[i].from;
            const bool last = s + 1 == slices;
            const auto past = static_cast<std::int32_t>((s + 1) * slice);
            const std::size_t stop =
                last ? rows[i].end : std::lower_bound(position + from, position + rows[i].end, past) - position;
            V k[1][N];
            SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) k[0][v] = s ? partial[i * N + v] : start(i, v);
            add_products_in_pairs(k[0], stop - from, [=](std::size_t j) { return value[from + j]; },
                                  [=](std::size_t j) { return x + position[from + j] * lanes; }, Step{});
            if (last) {
                finish(i, k);
                continue;
            }
            next[i] = stop;
            SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) partial[i * N + v] = k[0][v];
        }
}

// Calls body(std::integral_constant<std::size_t, n>{}) for 1 <= n <= Most; nothing for 0.
template <std::size_t Most, class Body>
inline void with_size(std::size_t n, Body &&body) {
    if constexpr (Most > 0) {
        if (n == Most)
            body(std::integral_constant<std::size_t, Most>{});
        else
            with_size<Most - 1>(n, body);
    }
}

}  // namespace svmfast::SVMFAST_ISA
