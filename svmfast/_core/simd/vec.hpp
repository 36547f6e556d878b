// Vectors of doubles, floats and bytes, as wide as the instruction set that this file is compiled for (SVMFAST_ISA).
// Plain C operators work on them (vector extensions of GCC and Clang); only what they cannot express is a function
// here. Intrinsics are used here, and in characters.hpp for text, nowhere else.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define SVMFAST_UNROLL _Pragma("GCC unroll 32")
#define SVMFAST_INLINE inline __attribute__((always_inline))

namespace svmfast::SVMFAST_ISA {

#if defined(__AVX512F__)
constexpr std::size_t W = 8;
#elif defined(__AVX2__)
constexpr std::size_t W = 4;
#else
constexpr std::size_t W = 2;
#endif
constexpr std::size_t WF = 2 * W;

typedef double vd __attribute__((vector_size(W * 8)));
typedef std::int64_t vi __attribute__((vector_size(W * 8)));
typedef float vf __attribute__((vector_size(W * 8)));
typedef std::uint8_t vb __attribute__((vector_size(W * 8)));
typedef std::int32_t vw __attribute__((vector_size(W * 8)));

// The vector of numbers of a type, and its bits. (Used for exponents: an overflow, caused by a nan, wraps around and is
// found elsewhere by its size.)
template <class Number>
struct VectorOf {
    typedef Number type __attribute__((vector_size(W * 8)));
    typedef std::conditional_t<sizeof(Number) == 8, std::uint64_t, std::uint32_t> Integer;
    typedef Integer bits __attribute__((vector_size(W * 8)));
};
template <class Number>
using Vector = typename VectorOf<Number>::type;

template <class Number>
inline Vector<Number> load(const Number *p) {
    Vector<Number> v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class Number>
inline void store(Number *p, Vector<Number> v) {
    std::memcpy(p, &v, sizeof v);
}
// The same numbers in single precision.
inline void store_as(float *p, vd v) {
    typedef float Half __attribute__((vector_size(W * 4)));
    const Half half = __builtin_convertvector(v, Half);
    std::memcpy(p, &half, sizeof half);
}
// Adding minus zero changes no bit, so the compiler may drop it and load directly into all lanes. Adding plus zero,
// which turns -0.0 into +0.0, would cost an addition and a shuffle on the ports that multiply-adds need.
template <class Number>
inline Vector<Number> broadcast(Number x) {
    return x - Vector<Number>{};
}

// SVMFAST_WIDE(name): the intrinsic of that name for vectors as wide as these.
#if defined(__AVX512F__)
#define SVMFAST_WIDE(name) _mm512_##name
#elif defined(__AVX2__)
#define SVMFAST_WIDE(name) _mm256_##name
#elif defined(__x86_64__)
#define SVMFAST_WIDE(name) _mm_##name
#endif

// fma: a * b + c, with one rounding where the machine has it, two in the baseline build of x86-64; one lane of a vector
// has the same bits as a number. fms: a * b - c.
#if defined(__FMA__)
inline vd fma(vd a, vd b, vd c) { return SVMFAST_WIDE(fmadd_pd)(a, b, c); }
inline vf fma(vf a, vf b, vf c) { return SVMFAST_WIDE(fmadd_ps)(a, b, c); }
inline vd fms(vd a, vd b, vd c) { return SVMFAST_WIDE(fmsub_pd)(a, b, c); }
#elif defined(__aarch64__)
inline vd fma(vd a, vd b, vd c) { return (vd)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b); }
inline vf fma(vf a, vf b, vf c) { return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
inline vd fms(vd a, vd b, vd c) { return fma(a, b, -c); }
#else
template <class V>
inline V fma(V a, V b, V c) {
    return a * b + c;
}
inline vd fms(vd a, vd b, vd c) { return a * b - c; }
#endif
#if defined(__FMA__) || defined(__aarch64__)
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#endif

// maximum, minimum: b where a comparison with a is not true, so where one of them is nan. (Of a comparison with a
// constant GCC makes two instructions.)
#if defined(SVMFAST_WIDE)
inline vd maximum(vd a, vd b) { return SVMFAST_WIDE(max_pd)(a, b); }
inline vf maximum(vf a, vf b) { return SVMFAST_WIDE(max_ps)(a, b); }
inline vd minimum(vd a, vd b) { return SVMFAST_WIDE(min_pd)(a, b); }
inline vf minimum(vf a, vf b) { return SVMFAST_WIDE(min_ps)(a, b); }
#else
inline vd maximum(vd a, vd b) { return a > b ? a : b; }
inline vf maximum(vf a, vf b) { return a > b ? a : b; }
inline vd minimum(vd a, vd b) { return a < b ? a : b; }
inline vf minimum(vf a, vf b) { return a < b ? a : b; }
#endif
inline vd square_root(vd v) {
    for (std::size_t i = 0; i < W; ++i) v[i] = std::sqrt(v[i]);
    return v;
}
inline vd absolute(vd v) { return maximum(v, -v); }

// Joins the lanes by an operation, always in the same order: halves are joined until one lane is left.
template <class V, class Join>
inline auto across(const V &v, Join &&join) {
    typedef std::decay_t<decltype(v[0])> Number;
    typedef Number Part __attribute__((vector_size(16)));
    Part part[sizeof(V) / 16];
    std::memcpy(part, &v, sizeof v);
    for (std::size_t half = sizeof(V) / 32; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) part[i] = join(part[i], part[i + half]);
    if constexpr (sizeof(Number) == 8)
        return join(part[0][0], part[0][1]);
    else
        return join(join(part[0][0], part[0][2]), join(part[0][1], part[0][3]));
}
template <class V>
inline auto horizontal_sum(const V &v) {
    return across(v, [](auto a, auto b) { return a + b; });
}
inline float smallest(vf v) {
    return across(v, [](auto a, auto b) { return b < a ? b : a; });
}

// One bit for every lane that is not certainly above the limit.
inline std::uint64_t not_above(vf v, float limit) {
    const vf all = broadcast(limit);
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)v, (__m512)all, _CMP_NGT_UQ);
#elif defined(__x86_64__)
    return static_cast<unsigned>(SVMFAST_WIDE(movemask_ps)((vf) ~(v > all)));
#else
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < WF; ++i) bits |= std::uint64_t(!(v[i] > all[i])) << i;
    return bits;
#endif
}

#if defined(__AVX512DQ__)
// t - floor(t), and a * 2^floor(t).
inline vf above_floor(vf t) { return (vf)_mm512_reduce_ps((__m512)t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
inline vf times_power(vf a, vf t) { return (vf)_mm512_scalef_ps((__m512)a, (__m512)t); }
#endif

// Appends first + lane for each lane whose mask is set; there must be room for a whole vector. Returns the new end.
inline std::int64_t *append_lanes(std::int64_t *end, vi mask, std::int64_t first) {
#if defined(__AVX512F__)
    const __mmask8 bits = _mm512_movepi64_mask((__m512i)mask);
    const __m512i numbers = _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    _mm512_storeu_si512(end, _mm512_maskz_compress_epi64(bits, numbers));
    return end + __builtin_popcount(bits);
#else
    for (std::size_t i = 0; i < W; ++i) {  // no branch: the pattern is random
        *end = first + static_cast<std::int64_t>(i);
        end += mask[i] & 1;
    }
    return end;
#endif
}

// make(i) for every lane i. (A list: lane by lane, the vector would be in memory.)
template <class V, class Make, std::size_t... I>
SVMFAST_INLINE V of_lanes(Make &&make, std::index_sequence<I...>) {
    return V{make(I)...};
}
template <class Index>
inline vd gather(const double *base, Index at) {
    return of_lanes<vd>([=](std::size_t i) { return base[at[i]]; }, std::make_index_sequence<W>());
}
// base[at] and base[at + 1].
inline void gather_pair(const float *base, vi at, vd &first, vd &second) {
    typedef float Half __attribute__((vector_size(W * 4)));
    const auto each = std::make_index_sequence<W>();
    first = __builtin_convertvector(of_lanes<Half>([=](std::size_t i) { return base[at[i]]; }, each), vd);
    second = __builtin_convertvector(of_lanes<Half>([=](std::size_t i) { return base[at[i] + 1]; }, each), vd);
}

// A table of doubles that is looked up by bytes, W at a time. With AVX-512 tables of up to TABLE_LARGE numbers stay in
// registers; REGISTERS = 0 is for any size, in memory.
constexpr std::size_t TABLE_SMALL = W == 8 ? 2 * W : 0, TABLE_LARGE = 2 * TABLE_SMALL;

template <std::size_t REGISTERS>
struct Table {
#if defined(__AVX512F__)
    vd part[REGISTERS];
    explicit Table(const double *table) {
        SVMFAST_UNROLL for (std::size_t i = 0; i < REGISTERS; ++i) part[i] = load(table + i * W);
    }
    vd at(const std::uint8_t *which) const {
        return at((vi)_mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(which))));
    }
    vd at(vi which) const {
        const __m512i index = (__m512i)which;
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
    template <class Index>
    vd at(Index which) const {
        return gather(table, which);
    }
};

inline vf to_float(vw v) { return __builtin_convertvector(v, vf); }

// Adds, to each lane of 32 bits, the products of the two words or four bytes of a and b in it.
struct AddWords {  // signed
    vw operator()(vw sum, vw a, vw b) const {
#if defined(__x86_64__)
        typedef decltype(SVMFAST_WIDE(set1_epi16)(0)) words;
        return sum + (vw)SVMFAST_WIDE(madd_epi16)((words)a, (words)b);
#else
        return sum + a * b;  // not used: there is no lattice
#endif
    }
};

#if defined(__AVX512F__)
// Where has_vnni() of dispatch.hpp. Written out, as this file is compiled for processors without it as well.
struct AddBytesAtOnce {  // unsigned in a, signed in b
    vw operator()(vw sum, vw a, vw b) const {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
        return sum;
    }
};
#endif

}  // namespace svmfast::SVMFAST_ISA
