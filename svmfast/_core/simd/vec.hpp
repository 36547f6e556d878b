// One vector of doubles, as wide as the instruction set this file is being compiled for (SVMFAST_ISA).
// Plain C operators work on it (vector extensions of GCC and Clang); only what they cannot say is a function here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SVMFAST_UNROLL _Pragma("GCC unroll 32")

namespace svmfast::SVMFAST_ISA {

#if defined(__AVX512F__)
constexpr std::size_t W = 8;
#elif defined(__AVX2__)
constexpr std::size_t W = 4;
#else
constexpr std::size_t W = 2;
#endif

typedef double vd __attribute__((vector_size(W * 8)));
typedef std::int64_t vi __attribute__((vector_size(W * 8)));
// Of exponents: what overflows in them (a nan went in, and is found out by its size elsewhere) wraps around.
typedef std::uint64_t vu __attribute__((vector_size(W * 8)));

inline vd load(const double *p) {
    vd v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store(double *p, vd v) { std::memcpy(p, &v, sizeof v); }
// Minus zero, which changes no bit, so the compiler may drop it and load straight into all lanes; plus zero, which makes
// +0.0 of -0.0, would cost an addition and a shuffle where multiply-adds wait for the same ports.
inline vd broadcast(double x) { return x - vd{}; }

// a * b + c; one rounding where the machine has it, two in the baseline build.
inline vd fma(vd a, vd b, vd c) {
#if defined(__AVX512F__)
    return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
    return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return a * b + c;
#endif
}

inline vd maximum(vd a, vd b) {
#if defined(__AVX512F__)
    return (vd)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (vd)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return a > b ? a : b;
#endif
}

// Sum of the lanes, always in the same order.
inline double horizontal_sum(vd v) {
    double lanes[W];
    store(lanes, v);
    for (std::size_t half = W / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
}

// 2^t for t <= 1023, about 1 ulp; below -1022 the smallest normal number stands for zero.
// t = n + r with |r| <= 1/2 by adding and taking away 1.5 * 2^52; 2^r by a polynomial of degree 11 (interpolation at
// Chebyshev nodes, relative error 2e-17); n goes straight into the exponent bits.
inline vd exp2(vd t) {
    constexpr double magic = 6755399441055744.0;
    t = maximum(t, broadcast(-1022.0));
    const vd shifted = t + magic;
    const vd r = t - (shifted - magic);
    vd p = broadcast(0x1.e9d3fe3952179p-32);
    p = fma(p, r, broadcast(0x1.e6063f7217bc6p-28));
    p = fma(p, r, broadcast(0x1.b524fae627834p-24));
    p = fma(p, r, broadcast(0x1.62bfd47773353p-20));
    p = fma(p, r, broadcast(0x1.ffcbfc670dcd4p-17));
    p = fma(p, r, broadcast(0x1.430913096fd9fp-13));
    p = fma(p, r, broadcast(0x1.5d87fe78a5276p-10));
    p = fma(p, r, broadcast(0x1.3b2ab6fba1ddap-7));
    p = fma(p, r, broadcast(0x1.c6b08d704a0c2p-5));
    p = fma(p, r, broadcast(0x1.ebfbdff82c598p-3));
    p = fma(p, r, broadcast(0x1.62e42fefa39efp-1));
    p = fma(p, r, broadcast(1.0));
    return (vd)((vu)p + ((vu)shifted << 52));
}

// One vector of floats, of the same width.
constexpr std::size_t WF = 2 * W;
typedef float vf __attribute__((vector_size(WF * 4)));
typedef std::uint32_t vuf __attribute__((vector_size(WF * 4)));

inline vf load(const float *p) {
    vf v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store(float *p, vf v) { std::memcpy(p, &v, sizeof v); }
inline vf broadcast(float x) { return x - vf{}; }

inline vf fma(vf a, vf b, vf c) {
#if defined(__AVX512F__)
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

inline vf maximum(vf a, vf b) {
#if defined(__AVX512F__)
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return a > b ? a : b;
#endif
}

// Sum of the lanes, always in the same order: halves are added until one lane is left.
inline float horizontal_sum(vf v) {
    typedef float v4 __attribute__((vector_size(16)));
    v4 quarter[WF / 4];
    std::memcpy(quarter, &v, sizeof v);
    for (std::size_t half = WF / 8; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) quarter[i] += quarter[i + half];
    return (quarter[0][0] + quarter[0][2]) + (quarter[0][1] + quarter[0][3]);
}

// 2^t for t <= 127, to a relative error of 2^-21; below -126 the smallest normal number stands for zero. As for doubles, with
// the magic number 1.5 * 2^23 and a polynomial of degree 5 (minimax with the constant 1, 9.2e-8); AVX-512 takes n from
// below instead, so that r lies in [0, 1], and has the instructions for both steps (8.3e-8).
inline vf exp2(vf t) {
    t = maximum(t, broadcast(-126.0f));
#if defined(__AVX512DQ__)
    const vf r = (vf)_mm512_reduce_ps((__m512)t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    vf p = broadcast(0x1.e974fcp-10f);
    p = fma(p, r, broadcast(0x1.277854p-7f));
    p = fma(p, r, broadcast(0x1.c91ce6p-5f));
    p = fma(p, r, broadcast(0x1.ebdb56p-3f));
    p = fma(p, r, broadcast(0x1.62e4bap-1f));
    p = fma(p, r, broadcast(1.0f));
    return (vf)_mm512_scalef_ps((__m512)p, (__m512)t);
#else
    constexpr float magic = 12582912.0f;
    const vf shifted = t + magic;
    const vf r = t - (shifted - magic);
    vf p = broadcast(0x1.5bba14p-10f);
    p = fma(p, r, broadcast(0x1.3cea88p-7f));
    p = fma(p, r, broadcast(0x1.c6b752p-5f));
    p = fma(p, r, broadcast(0x1.ebf9bcp-3f));
    p = fma(p, r, broadcast(0x1.62e42ap-1f));
    p = fma(p, r, broadcast(1.0f));
    return (vf)((vuf)p + ((vuf)shifted << 23));
#endif
}

// exp(t) - 1 - t - t^2 / 2 for |t| <= 1, to a relative error of 2^-20: t^3 times a polynomial of degree 6 (minimax, 2.6e-8).
inline vf exp_remainder(vf t) {
    vf p = broadcast(0x1.74cd52p-19f);
    p = fma(p, t, broadcast(0x1.a83cb2p-16f));
    p = fma(p, t, broadcast(0x1.a0200ap-13f));
    p = fma(p, t, broadcast(0x1.6c0688p-10f));
    p = fma(p, t, broadcast(0x1.1110fcp-7f));
    p = fma(p, t, broadcast(0x1.555566p-5f));
    p = fma(p, t, broadcast(0x1.555556p-3f));
    return t * t * t * p;
}

// One vector of bytes, of the same width.
typedef std::uint8_t vb __attribute__((vector_size(W * 8)));
inline vb load_bytes(const std::uint8_t *p) {
    vb v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

// A table of doubles that is looked up by bytes, W at a time. With AVX-512 tables of up to TABLE_LARGE numbers stay in
// registers; REGISTERS = 0 is for any size, in memory.
#if defined(__AVX512F__)
constexpr std::size_t TABLE_SMALL = 2 * W, TABLE_LARGE = 4 * W;
#else
constexpr std::size_t TABLE_SMALL = 0, TABLE_LARGE = 0;
#endif

template <std::size_t REGISTERS>
struct Table {
#if defined(__AVX512F__)
    vd part[REGISTERS];
    explicit Table(const double *table) {
        SVMFAST_UNROLL for (std::size_t i = 0; i < REGISTERS; ++i) part[i] = load(table + i * W);
    }
    vd at(const std::uint8_t *which) const {
        const __m512i index = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(which)));
        const __m512d low = _mm512_permutex2var_pd((__m512d)part[0], index, (__m512d)part[1]);
        if constexpr (REGISTERS == 2) return (vd)low;
        const __m512d high = _mm512_permutex2var_pd((__m512d)part[REGISTERS - 2], index, (__m512d)part[REGISTERS - 1]);
        return (vd)_mm512_mask_blend_pd(_mm512_test_epi64_mask(index, _mm512_set1_epi64(TABLE_SMALL)), low, high);
    }
#endif
};

template <>
struct Table<0> {
    const double *table;
    explicit Table(const double *table) : table(table) {}
    vd at(const std::uint8_t *which) const {
#if defined(__AVX512F__)
        const __m256i index = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(which)));
        return (vd)_mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, index, table, 8);
#elif defined(__AVX2__)
        std::int32_t four;
        std::memcpy(&four, which, 4);
        const __m256d all = (__m256d)_mm256_set1_epi64x(-1);
        return (vd)_mm256_mask_i32gather_pd(_mm256_setzero_pd(), table, _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)), all, 8);
#else
        vd v{};
        for (std::size_t i = 0; i < W; ++i) v[i] = table[which[i]];
        return v;
#endif
    }
};

}  // namespace svmfast::SVMFAST_ISA
