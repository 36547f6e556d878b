// Inner products of one sparse row with feature-major vectors, eight slots at a time.
#pragma once
#include "simd/vec.hpp"

namespace svmfast::SVMFAST_ISA {

constexpr std::size_t PER_OCTET = 8 / W;
// Octets whose sums stay in registers together: 32 registers with AVX-512, else 16.
constexpr std::size_t TILE = W == 8 ? 16 : W == 4 ? 6 : 3;
inline vd minimum(vd a, vd b) {
#if defined(__AVX512F__)
    return (vd)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (vd)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    return a < b ? a : b;
#endif
}

template <std::size_t N>
inline void dot_tile(const double *vectors, std::size_t stride, const std::int32_t *columns, const double *values,
                     std::size_t nnz, double *out) {
    vd sum[N * PER_OCTET];
    SVMFAST_UNROLL
    for (std::size_t i = 0; i < N * PER_OCTET; ++i) sum[i] = vd{};
    for (std::size_t p = 0; p < nnz; ++p) {
        const double *column = vectors + static_cast<std::size_t>(columns[p]) * stride;
        const vd x = broadcast(values[p]);
        SVMFAST_UNROLL
        for (std::size_t i = 0; i < N * PER_OCTET; ++i) sum[i] = fma(x, load(column + i * W), sum[i]);
    }
    SVMFAST_UNROLL
    for (std::size_t i = 0; i < N * PER_OCTET; ++i) store(out + i * W, sum[i]);
}

template <std::size_t N>
inline void dot_rest(std::size_t octets, const double *vectors, std::size_t stride, const std::int32_t *columns,
                     const double *values, std::size_t nnz, double *out) {
    if constexpr (N > 0) {
        if (octets == N)
            dot_tile<N>(vectors, stride, columns, values, nnz, out);
        else
            dot_rest<N - 1>(octets, vectors, stride, columns, values, nnz, out);
    }
}

// out[slot] = sum over the row's entries of value * vectors[column][slot], for the first `octets` octets.
inline void dot_row(std::size_t octets, const double *vectors, std::size_t stride, const std::int32_t *columns,
                    const double *values, std::size_t nnz, double *out) {
    for (; octets > TILE; octets -= TILE, vectors += TILE * 8, out += TILE * 8)
        dot_tile<TILE>(vectors, stride, columns, values, nnz, out);
    dot_rest<TILE>(octets, vectors, stride, columns, values, nnz, out);
}

// 2^t for t <= 0 to 1.1e-10, exact at 0: the step needs no more, and it is half of the step's work. (1 + r times a
// polynomial of degree 6 that interpolates (2^r - 1) / r at Chebyshev nodes; otherwise as exp2.)
inline vd exp2_fast(vd t) {
    constexpr double magic = 6755399441055744.0;
    t = maximum(t, broadcast(-1022.0));
    const vd shifted = t + magic;
    const vd r = t - (shifted - magic);
    vd p = broadcast(0x1.00a581594758ep-16);
    p = fma(p, r, broadcast(0x1.443fffc90db59p-13));
    p = fma(p, r, broadcast(0x1.5d879ead06a82p-10));
    p = fma(p, r, broadcast(0x1.3b2a1b7152befp-7));
    p = fma(p, r, broadcast(0x1.c6b08d883dca1p-5));
    p = fma(p, r, broadcast(0x1.ebfbe045f4d3cp-3));
    p = fma(p, r, broadcast(0x1.62e42fefa39efp-1));
    p = fma(p, r, broadcast(1.0));
    return (vd)((vu)p + ((vu)shifted << 52));
}

// The sum of an octet's lanes, in the same order for every width.
inline double octet_sum(const vd (&parts)[PER_OCTET]) {
    double lane[8];
    for (std::size_t i = 0; i < PER_OCTET; ++i) store(lane + i * W, parts[i]);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

}  // namespace svmfast::SVMFAST_ISA
