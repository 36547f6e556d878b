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
#if defined(__x86_64__)
        typedef decltype(SVMFAST_WIDE(set1_epi16)(0)) words;
        return sum + (vw)SVMFAST_WIDE(madd_epi16)((words)a, (words)b);
#else
        return sum + a * b;  // not used: there is no lattice
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
