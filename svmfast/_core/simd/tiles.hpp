// The register-tiled product of the core, and the tile sizes that fill the registers of each instruction set. The
// calling code decides how a tile is used (sums, kernel values, scores). Includes what all loops use.
#pragma once
#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "arrays.hpp"
#include "dispatch.hpp"
#include "interrupt.hpp"
#include "math.hpp"
#include "simd/exp2.hpp"

namespace svmfast::SVMFAST_ISA {

// Support vectors lie in panels of NV vectors. ROWS * NV sums, NV vectors and a broadcast number are in registers, of
// which AVX-512 has 32 and the others 16.
constexpr std::size_t LANES = NV * W;
constexpr std::size_t ROWS = W == 8 ? 8 : 4;

// The same in single precision.
constexpr std::size_t SINGLE_LANES = NF * WF;

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

// add_products() for one row, in two chains that hide the latency of the multiply-add: even terms and odd terms are summed
// apart.
template <std::size_t N, class V, class Left, class Right, class Step = MultiplyAdd>
SVMFAST_INLINE void add_to_chains(V (&even)[N], V (&odd)[N], std::size_t n, Left &&left, Right &&right, Step step = {}) {
    constexpr std::size_t lanes = sizeof(V) / sizeof(even[0][0]);
    std::size_t k = 0;
    for (; k + 1 < n; k += 2) {
        const auto *x0 = right(k), *x1 = right(k + 1);
        const V z0 = broadcast(left(k)), z1 = broadcast(left(k + 1));
        SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) {
            even[v] = step(even[v], z0, load(x0 + v * lanes));
            odd[v] = step(odd[v], z1, load(x1 + v * lanes));
        }
    }
    if (k < n) {
        const auto *x = right(k);
        const V z = broadcast(left(k));
        SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) even[v] = step(even[v], z, load(x + v * lanes));
    }
}

template <std::size_t N, class V, class Left, class Right, class Step = MultiplyAdd>
SVMFAST_INLINE void add_products_in_pairs(V (&sum)[N], std::size_t n, Left &&left, Right &&right, Step step = {}) {
    V odd[N] = {};
    add_to_chains(sum, odd, n, left, right, step);
    SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) sum[v] += odd[v];
}

// Where the sums of a vector of support vectors with a row start; of the Gaussian kernel in the exponent.
template <KernelKind kind>
SVMFAST_INLINE vd start_value(const double *init, double offset) {
    if constexpr (kind == KernelKind::rbf) return load(init) + offset;
    return broadcast(offset);
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
