// libm's exp of many numbers, to libm's bits: computed in vectors with about 59 bits, which mostly tells to which
// double libm must have rounded. The proof is in docs/certificate.md (the exact engine).
#pragma once
#include "simd/exp2.hpp"

// glibc has had the present exp, which errs by at most 0.511 units in the last place, since version 2.28. The vectors
// need a fused multiply-add.
#if defined(__GLIBC__) && defined(__AVX2__) && __GLIBC_PREREQ(2, 28)
#define SVMFAST_LIBM_EXP_IN_VECTORS
#endif

namespace svmfast::SVMFAST_ISA {

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
