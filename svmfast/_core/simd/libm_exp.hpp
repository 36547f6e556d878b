// libm's exp of many numbers, to libm's bits: computed in vectors with about 61 bits, which tells to which double libm
// must have rounded. The proof is in docs/certificate.md (the exact engine).
#pragma once
#include <cmath>

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
    // 2^(j/16) in two parts; ln 2 / 16 in two parts of 38 bits, whose products with k are exact; 1 / 8!, .., 1 / 2!.
    alignas(64) static const double high[16] = {0x1p+0,
                                                0x1.0b5586cf9890fp+0,
                                                0x1.172b83c7d517bp+0,
                                                0x1.2387a6e756238p+0,
                                                0x1.306fe0a31b715p+0,
                                                0x1.3dea64c123422p+0,
                                                0x1.4bfdad5362a27p+0,
                                                0x1.5ab07dd485429p+0,
                                                0x1.6a09e667f3bcdp+0,
                                                0x1.7a11473eb0187p+0,
                                                0x1.8ace5422aa0dbp+0,
                                                0x1.9c49182a3f09p+0,
                                                0x1.ae89f995ad3adp+0,
                                                0x1.c199bdd85529cp+0,
                                                0x1.d5818dcfba487p+0,
                                                0x1.ea4afa2a490dap+0};
    alignas(64) static const double low[16] = {0x0p+0,
                                               0x1.8a62e4adc610bp-54,
                                               -0x1.19041b9d78a76p-55,
                                               0x1.9b07eb6c70573p-54,
                                               0x1.6f46ad23182e4p-55,
                                               0x1.ada0911f09ebcp-55,
                                               0x1.d4397afec42e2p-56,
                                               0x1.6324c054647adp-54,
                                               -0x1.bdd3413b26456p-54,
                                               -0x1.41577ee04992fp-55,
                                               0x1.6e9f156864b27p-54,
                                               0x1.c7c46b071f2bep-56,
                                               0x1.7a1cd345dcc81p-54,
                                               0x1.11065895048ddp-55,
                                               0x1.2ed02d75b3707p-55,
                                               -0x1.e9c23179c2893p-54};
    constexpr double coefficient[] = {0x1.a01a01a01a01ap-16,
                                      0x1.a01a01a01a01ap-13,
                                      0x1.6c16c16c16c17p-10,
                                      0x1.1111111111111p-7,
                                      0x1.5555555555555p-5,
                                      0x1.5555555555555p-3,
                                      0x1p-1};
    typedef VectorOf<double>::bits Bits;
    // What libm's error beyond half a unit and ours may add up to, and the range in which results are normal numbers.
    constexpr double room = 0x1p-57, range = 700;
    const Table<TABLE_SMALL / W> highs(high), lows(low);
    std::int64_t *end = unsure;
    for (std::size_t i = 0; i < n; i += W) {
        const vd t = factor * load(x + i);
        const vd shifted = fma(t, broadcast(0x1.71547652b82fep+4), broadcast(Exponent<double>::magic));
        const vd k = shifted - Exponent<double>::magic;
        const vd most = t - k * 0x1.62e42fefap-5, rest = k * -0x1.cf79abc9ep-44;
        const vd r = most + rest, of_rest = r - most, r_low = (most - (r - of_rest)) + (rest - of_rest);
        const vd q = fma(r * r, polynomial(coefficient, r), r_low);
        const vd s = r + q, s_low = q - (s - r);
        const vi j = (vi)((Bits)shifted & 15);
        const vd a = highs.at(j), a_low = lows.at(j), p = a * s, p_low = fma(a, s, -p);
        const vd sum = a + p;
        const vd sum_low = (p - (sum - a)) + (p_low + fma(a, s_low, fma(a_low, s, a_low)));
        const vd least = sum + (sum_low - room), largest = sum + (sum_low + room);
        const vd result = (vd)((Bits)least + (((Bits)shifted - (Bits)j) << 48));
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
