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
#if defined(__AVX512F__)
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

#if defined(__AVX512F__)
// The same in one instruction, where has_vnni() of dispatch.hpp. Written out, as this file is compiled for processors
// without it as well.
struct AddWordsAtOnce {
    vw operator()(vw sum, vw a, vw b) const {
        asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
        return sum;
    }
};
struct AddBytesAtOnce {  // unsigned in a, signed in b
    vw operator()(vw sum, vw a, vw b) const {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
        return sum;
    }
};
#endif

}  // namespace svmfast::SVMFAST_ISA
