// Operations on the integers of a lattice, beyond vec.hpp: lanes of 32 bits that hold two words or four bytes.
#pragma once
#include "simd/vec.hpp"

namespace svmfast::SVMFAST_ISA {

typedef std::int32_t vw __attribute__((vector_size(W * 8)));

template <>
struct VectorOf<std::int32_t> {
    typedef vw type;
};

inline vf to_float(vw v) { return __builtin_convertvector(v, vf); }

// Adds, to each lane, the products of the integers of a and b in it.
struct AddWords {  // signed
    vw operator()(vw sum, vw a, vw b) const {
#if defined(__AVX512VNNI__)
        return (vw)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__AVX512F__)
        return sum + (vw)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
        return sum + (vw)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
        return sum + (vw)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
        for (std::size_t i = 0; i < WF; ++i)
            sum[i] += static_cast<std::int16_t>(a[i]) * static_cast<std::int16_t>(b[i]) + (a[i] >> 16) * (b[i] >> 16);
        return sum;
#endif
    }
};

// LATTICE_FEATURES: how many a lane holds at most; 0 if integers are no faster than single precision.
#if defined(__AVX512VNNI__)
constexpr std::size_t LATTICE_FEATURES = 4;
struct AddBytes {  // unsigned in a, signed in b
    vw operator()(vw sum, vw a, vw b) const { return (vw)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b); }
};
#elif defined(__x86_64__)
constexpr std::size_t LATTICE_FEATURES = 2;
#else
constexpr std::size_t LATTICE_FEATURES = 0;
#endif

// add_products_in_pairs() of tiles.hpp, of integers.
template <std::size_t N, class Step, class Left, class Right>
SVMFAST_INLINE void add_integers_in_pairs(vw (&sum)[N], std::size_t n, Left &&left, Right &&right, Step step) {
    vw odd[N] = {};
    std::size_t k = 0;
    for (; k + 1 < n; k += 2) {
        const std::int32_t *x0 = right(k), *x1 = right(k + 1);
        const vw z0 = broadcast(left(k)), z1 = broadcast(left(k + 1));
    SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) {
            sum[v] = step(sum[v], z0, load(x0 + v * WF));
            odd[v] = step(odd[v], z1, load(x1 + v * WF));
        }
    }
    if (k < n) {
        const std::int32_t *x = right(k);
        const vw z = broadcast(left(k));
        SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) sum[v] = step(sum[v], z, load(x + v * WF));
    }
    SVMFAST_UNROLL for (std::size_t v = 0; v < N; ++v) sum[v] += odd[v];
}

}  // namespace svmfast::SVMFAST_ISA
