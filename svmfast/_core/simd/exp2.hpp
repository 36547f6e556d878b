// Exponentials and hyperbolic tangents of vectors. 2^t: t = n + r with |r| <= 1/2 by adding and subtracting 1.5 *
// 2^(bits of the mantissa); 2^r by a polynomial; n is added to the bits of the exponent.
#pragma once
#include "simd/vec.hpp"

namespace svmfast::SVMFAST_ISA {

template <class Number>
struct Exponent;
template <>
struct Exponent<double> {
    static constexpr double least = -1022.0, magic = 6755399441055744.0;
    static constexpr int mantissa = 52;
};
template <>
struct Exponent<float> {
    static constexpr float least = -126.0f, magic = 12582912.0f;
    static constexpr int mantissa = 23;
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

}  // namespace svmfast::SVMFAST_ISA
