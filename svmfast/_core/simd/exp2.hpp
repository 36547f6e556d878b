// Exponentials and hyperbolic tangents of vectors. 2^t: t = n + r with |r| <= 1/2 by adding and subtracting 1.5 *
// 2^(bits of the mantissa); 2^r by a polynomial; n is added to the bits of the exponent.
#pragma once
#include "simd/vec.hpp"

// glibc has had the present exp, which errs by at most 0.511 units in the last place, since version 2.28. The vectors
// need a fused multiply-add.
#if defined(__GLIBC__) && defined(__AVX2__) && __GLIBC_PREREQ(2, 28)
#define SVMFAST_LIBM_EXP_IN_VECTORS
#endif

namespace svmfast::SVMFAST_ISA {

template <class Number>
struct Exponent {
    static constexpr bool wide = sizeof(Number) == 8;
    static constexpr Number least = wide ? -1022 : -126, magic = wide ? 0x1.8p52 : 0x1.8p23;
    static constexpr int mantissa = wide ? 52 : 23;
};

// Coefficients from the highest power down.
template <class Number, std::size_t N>
SVMFAST_INLINE Vector<Number> polynomial(const Number (&coefficient)[N], Vector<Number> x) {
    Vector<Number> p = broadcast(coefficient[0]);
    SVMFAST_UNROLL for (std::size_t i = 1; i < N; ++i) p = fma(p, x, broadcast(coefficient[i]));
    return p;
}

template <class Number, std::size_t N>
SVMFAST_INLINE Vector<Number> exp2_by(const Number (&coefficient)[N], Vector<Number> t) {
    typedef typename VectorOf<Number>::bits Bits;
    typedef Exponent<Number> E;
    const Vector<Number> shifted = t + E::magic;
    const Vector<Number> p = polynomial(coefficient, t - (shifted - E::magic));
    return (Vector<Number>)((Bits)p + ((Bits)shifted << E::mantissa));
}

// 2^t for t <= 1023, about 1 ulp; below -1022 the smallest normal number stands for zero. (Interpolation at Chebyshev
// nodes, relative error 2e-17.)
inline vd exp2(vd t) {
    constexpr double coefficient[] = {
        0x1.e9d3fe3952179p-32, 0x1.e6063f7217bc6p-28, 0x1.b524fae627834p-24, 0x1.62bfd47773353p-20,
        0x1.ffcbfc670dcd4p-17, 0x1.430913096fd9fp-13, 0x1.5d87fe78a5276p-10, 0x1.3b2ab6fba1ddap-7,
        0x1.c6b08d704a0c2p-5,  0x1.ebfbdff82c598p-3,  0x1.62e42fefa39efp-1,  1.0};
    return exp2_by(coefficient, maximum(t, broadcast(Exponent<double>::least)));
}

// 2^t for t <= 0 with error 1.1e-10, exact at 0: a training step, half of whose work this is, needs no more. (1 + r times
// a polynomial of degree 6 that interpolates (2^r - 1) / r at Chebyshev nodes.)
inline vd exp2_fast(vd t) {
    constexpr double coefficient[] = {0x1.00a581594758ep-16, 0x1.443fffc90db59p-13, 0x1.5d879ead06a82p-10,
                                      0x1.3b2a1b7152befp-7,  0x1.c6b08d883dca1p-5,  0x1.ebfbe045f4d3cp-3,
                                      0x1.62e42fefa39efp-1,  1.0};
    return exp2_by(coefficient, maximum(t, broadcast(Exponent<double>::least)));
}

// 2^t for t <= 127, to a relative error of 2^-21; below -126 the smallest normal number stands for zero. A nan stays
// one, so that it proves nothing. (The polynomial, with the constant 1, errs by 1.09e-7.) AVX-512 takes n from below
// instead, so that r lies in [0, 1], and has the instructions for both steps (9.5e-8).
inline vf exp2(vf t) {
    t = maximum(broadcast(Exponent<float>::least), t);
#if defined(__AVX512DQ__)
    constexpr float coefficient[] = {0x1.e974fcp-10f, 0x1.277854p-7f, 0x1.c91ce6p-5f,
                                     0x1.ebdb56p-3f,  0x1.62e4bap-1f, 1.0f};
    return times_power(polynomial(coefficient, above_floor(t)), t);
#else
    constexpr float coefficient[] = {0x1.5bba14p-10f, 0x1.3cea88p-7f, 0x1.c6b752p-5f,
                                     0x1.ebf9bcp-3f,  0x1.62e42ap-1f, 1.0f};
    return exp2_by(coefficient, t);
#endif
}

// exp(t) - 1 - t - t^2 / 2 for |t| <= 1, to a relative error of 2^-20: t^3 times a polynomial of degree 6 (5.2e-8).
inline vf exp_remainder(vf t) {
    constexpr float coefficient[] = {0x1.74cd52p-19f, 0x1.a83cb2p-16f, 0x1.a0200ap-13f, 0x1.6c0688p-10f,
                                     0x1.1110fcp-7f,  0x1.555566p-5f,  0x1.555556p-3f};
    return t * t * t * polynomial(coefficient, t);
}

// libm's, lane by lane.
inline vd tanh(vd t) {
    for (std::size_t i = 0; i < W; ++i) t[i] = std::tanh(t[i]);
    return t;
}

// tanh(t) to a relative error of 2^-19, and of 1e-7 for large t, infinite ones too: t times a quotient of polynomials
// of t^2 (3.4e-8 up to 8.5, where tanh is 1 - 8.3e-8). A nan stays one.
inline vf tanh(vf t) {
    constexpr float above[] = {0x1.ec780cp-27f, 0x1.65574p-16f, 0x1.cf9c3ap-9f, 0x1.12c1bp-3f, 1.0f};
    constexpr float below[] = {0x1.b6b7fp-21f, 0x1.5faa94p-12f, 0x1.aa8c5ep-6f, 0x1.deb628p-2f, 1.0f};
    t = maximum(broadcast(-8.5f), minimum(broadcast(8.5f), t));
    const vf square = t * t;
    return t * (polynomial(above, square) / polynomial(below, square));
}

// libm's exp of many numbers, to libm's bits: computed in vectors with about 59 bits, which mostly tells to which double
// libm must have rounded. The proof is in docs/certificate.md (the exact engine).
// factor * x[i] -> its exponential, for n numbers, a multiple of W. unsure: room for n + W numbers.
inline void libm_exp(double *x, std::size_t n, double factor, std::int64_t *unsure) {
#if defined(SVMFAST_LIBM_EXP_IN_VECTORS)
    // 2^(j/32) in two parts.
    alignas(64) static constexpr double powers[] = {
        0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0, 0x1.172b83c7d517bp+0,
        0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0, 0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0,
        0x1.3dea64c123422p+0, 0x1.44e086061892dp+0, 0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0,
        0x1.6247eb03a5585p+0, 0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
        0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0, 0x1.ae89f995ad3adp+0,
        0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0, 0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0,
        0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0};
    alignas(64) static constexpr double rests[] = {
        0x0.0000000000000p-54,  0x1.d73e2a475b465p-55,  0x1.8a62e4adc610bp-54,  -0x1.6c51039449b3ap-54,
        -0x1.19041b9d78a76p-55, 0x1.e016e00a2643cp-54,  0x1.9b07eb6c70573p-54,  0x1.612e8afad1255p-55,
        0x1.6f46ad23182e4p-55,  -0x1.63aeabf42eae2p-54, 0x1.ada0911f09ebcp-55,  0x1.89b7a04ef80d0p-59,
        0x1.d4397afec42e2p-56,  -0x1.07abe1db13cadp-55, 0x1.6324c054647adp-54,  -0x1.383c17e40b497p-54,
        -0x1.bdd3413b26456p-54, -0x1.16e4786887a99p-55, -0x1.41577ee04992fp-55, -0x1.d4c1dd41532d8p-54,
        0x1.6e9f156864b27p-54,  -0x1.75fc781b57ebcp-57, 0x1.c7c46b071f2bep-56,  -0x1.d2f6edb8d41e1p-54,
        0x1.7a1cd345dcc81p-54,  -0x1.5584f7e54ac3bp-56, 0x1.11065895048ddp-55,  0x1.503cbd1e949dbp-56,
        0x1.2ed02d75b3707p-55,  -0x1.1a5cd4f184b5cp-54, -0x1.e9c23179c2893p-54, 0x1.9d3e12dd8a18bp-54};
    // (exp(r) - 1 - r) / r^2, interpolated at Chebyshev nodes of |r| <= ln 2 / 64.
    constexpr double coefficient[] = {0x1.6c16ffe5856bcp-10, 0x1.11114f8a8110fp-7, 0x1.555555555194dp-5,
                                      0x1.555555554dd45p-3, 0x1p-1};
    typedef VectorOf<double>::bits Bits;
    // What libm's error beyond half a unit and ours may add up to, relative to the result, and the range in which
    // results are normal numbers.
    constexpr double room = 0x1.6ap-58, range = 700;
    const Table<TABLE_LARGE / W> high(powers), low(rests);
    std::int64_t *end = unsure;
    for (std::size_t i = 0; i < n; i += W) {
        const vd t = factor * load(x + i);
        const vd shifted = fma(t, broadcast(0x1.71547652b82fep+5), broadcast(Exponent<double>::magic));
        const vd k = shifted - Exponent<double>::magic;
        // ln 2 / 32 in two parts; the product of the first, of 37 bits, and k is exact.
        const vd r = fma(k, broadcast(-0x1.cf79abc9e3b3ap-45), fma(k, broadcast(-0x1.62e42fefap-6), t));
        const vd q = r * r * polynomial(coefficient, r);
        const vi j = (vi)((Bits)shifted & 31);
        const vd a = high.at(j), a_low = low.at(j);
        const vd p = fma(a, r, fma(a, q, fma(a_low, r, a_low)));
        const vd sum = a + p, sum_low = p - (sum - a);
        const vd least = sum + fma(sum, broadcast(-room), sum_low), largest = sum + fma(sum, broadcast(room), sum_low);
        const vd result = (vd)((Bits)least + (((Bits)shifted - (Bits)j) << 47));
        const vi sure = (vi)(least == largest) & (vi)(absolute(t) <= range);
        store(x + i, sure ? result : t);
        end = append_lanes(end, ~sure, static_cast<std::int64_t>(i));
    }
    for (const std::int64_t *i = unsure; i < end; ++i) x[*i] = std::exp(x[*i]);
#else
    (void)unsure;
    for (std::size_t i = 0; i < n; ++i) x[i] = std::exp(factor * x[i]);
#endif
}

}  // namespace svmfast::SVMFAST_ISA
