// Vectors of doubles, floats and bytes, as wide as the instruction set that this file is compiled for (SVMFAST_ISA).
// Plain C operators work on them (vector extensions of GCC and Clang); only what they cannot express is a function
// here. Intrinsics are used here, in integers.hpp for products of integers and in characters.hpp for text, nowhere
// else.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// The vector of numbers of a type, and its bits. (Used for exponents: an overflow, caused by a nan, wraps around and is
// found elsewhere by its size.)
template <class Number>
struct VectorOf;
template <>
struct VectorOf<double> {
    typedef vd type;
    typedef std::uint64_t bits __attribute__((vector_size(W * 8)));
};
template <>
struct VectorOf<float> {
    typedef vf type;
    typedef std::uint32_t bits __attribute__((vector_size(W * 8)));
};
template <>
struct VectorOf<std::uint8_t> {
    typedef vb type;
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
// The same numbers in the precision of the target.
inline void store_as(double *p, vd v) { store(p, v); }
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
inline vd fma(vd a, vd b, vd c) { return a * b + c; }
inline vf fma(vf a, vf b, vf c) { return a * b + c; }
inline vd fms(vd a, vd b, vd c) { return a * b - c; }
#endif
#if defined(__FMA__) || defined(__aarch64__)
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
inline double fma(double a, double b, double c) { return a * b + c; }
inline float fma(float a, float b, float c) { return a * b + c; }
#endif

// maximum, minimum: b where a comparison with a is not true, so where one of them is nan.
#if defined(SVMFAST_WIDE)
inline vd maximum(vd a, vd b) { return SVMFAST_WIDE(max_pd)(a, b); }
inline vf maximum(vf a, vf b) { return SVMFAST_WIDE(max_ps)(a, b); }
inline vd minimum(vd a, vd b) { return SVMFAST_WIDE(min_pd)(a, b); }
inline vf minimum(vf a, vf b) { return SVMFAST_WIDE(min_ps)(a, b); }
inline vd square_root(vd v) { return SVMFAST_WIDE(sqrt_pd)(v); }
#else
inline vd maximum(vd a, vd b) { return a > b ? a : b; }
inline vf maximum(vf a, vf b) { return a > b ? a : b; }
inline vd minimum(vd a, vd b) { return a < b ? a : b; }
inline vf minimum(vf a, vf b) { return a < b ? a : b; }
inline vd square_root(vd v) { return vd{std::sqrt(v[0]), std::sqrt(v[1])}; }
#endif

inline vd absolute(vd v) { return maximum(v, -v); }

// Sum of the lanes, always in the same order: halves are added until one lane is left.
template <class V>
inline auto horizontal_sum(V v) {
    typedef decltype(v[0] + v[0]) Number;
    typedef Number Part __attribute__((vector_size(16)));
    Part part[sizeof(V) / 16];
    std::memcpy(part, &v, sizeof v);
    for (std::size_t half = sizeof(V) / 32; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) part[i] += part[i + half];
    if constexpr (sizeof(Number) == 8)
        return part[0][0] + part[0][1];
    else
        return (part[0][0] + part[0][2]) + (part[0][1] + part[0][3]);
}

inline float smallest(vf v) {
#if defined(__AVX512F__)
    return _mm512_reduce_min_ps((__m512)v);
#else
    float lanes[WF];
    store(lanes, v);
    for (std::size_t half = WF / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) lanes[i] = lanes[i + half] < lanes[i] ? lanes[i + half] : lanes[i];
    return lanes[0];
#endif
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
#elif defined(__AVX2__)
    // For each of the 16 masks, the halves of the lanes that are set, in front.
    alignas(64) static const std::uint64_t halves[16] = {
        0,      0x0100,     0x0302,     0x03020100,     0x0504,     0x05040100,     0x05040302,     0x050403020100,
        0x0706, 0x07060100, 0x07060302, 0x070603020100, 0x07060504, 0x070605040100, 0x070605040302, 0x0706050403020100};
    const unsigned bits = static_cast<unsigned>(_mm256_movemask_pd((__m256d)mask));
    const __m256i numbers = _mm256_add_epi64(_mm256_set1_epi64x(first), _mm256_setr_epi64x(0, 1, 2, 3));
    const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(halves[bits])));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(end), _mm256_permutevar8x32_epi32(numbers, order));
    return end + __builtin_popcount(bits);
#else
    for (std::size_t i = 0; i < W; ++i) {  // no branch: the pattern is random
        *end = first + static_cast<std::int64_t>(i);
        end += mask[i] & 1;
    }
    return end;
#endif
}

inline vd gather(const double *base, vi at) {
#if defined(__AVX512F__)
    return (vd)_mm512_i64gather_pd((__m512i)at, base, 8);
#elif defined(__AVX2__)
    return (vd)_mm256_i64gather_pd(base, (__m256i)at, 8);
#else
    return vd{base[at[0]], base[at[1]]};
#endif
}

// base[at] and base[at + 1], which lie in eight bytes.
inline void gather_pair(const float *base, vi at, vd &first, vd &second) {
#if defined(__AVX512F__)
    const __m512i both = _mm512_i64gather_epi64((__m512i)at, base, 4);
    first = (vd)_mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_cvtepi64_epi32(both)));
    second = (vd)_mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_cvtepi64_epi32(_mm512_srli_epi64(both, 32))));
#elif defined(__AVX2__)
    const __m256i both = _mm256_i64gather_epi64(reinterpret_cast<const long long *>(base), (__m256i)at, 4);
    const __m256 split =
        _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(both, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7)));
    first = (vd)_mm256_cvtps_pd(_mm256_castps256_ps128(split));
    second = (vd)_mm256_cvtps_pd(_mm256_extractf128_ps(split, 1));
#else
    for (std::size_t i = 0; i < W; ++i) first[i] = base[at[i]], second[i] = base[at[i] + 1];
#endif
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
    vd at(vi which) const {
        vd v{};
        for (std::size_t i = 0; i < W; ++i) v[i] = table[which[i]];
        return v;
    }
    vd at(const std::uint8_t *which) const {
#if defined(__AVX512F__)
        const __m256i index = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(which)));
        return (vd)_mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, index, table, 8);
#elif defined(__AVX2__)
        std::int32_t four;
        std::memcpy(&four, which, 4);
        const __m256d all = (__m256d)_mm256_set1_epi64x(-1);
        return (vd)_mm256_mask_i32gather_pd(_mm256_setzero_pd(), table, _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)), all,
                                            8);
#else
        vd v{};
        for (std::size_t i = 0; i < W; ++i) v[i] = table[which[i]];
        return v;
#endif
    }
};

}  // namespace svmfast::SVMFAST_ISA
