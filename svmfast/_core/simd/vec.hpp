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

}  // namespace svmfast::SVMFAST_ISA
