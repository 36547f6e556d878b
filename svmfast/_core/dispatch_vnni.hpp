// For the few functions that are compiled a fourth time, with AVX-512 VNNI, which adds products of bytes in one
// instruction and which not every machine with AVX-512 has.
#pragma once
#include "dispatch.hpp"

namespace svmfast {

// Whether this machine has AVX-512 VNNI. SVMFAST_ISA=avx512 turns it off.
inline bool has_vnni() {
    static const bool vnni = [] {
#if defined(SVMFAST_VARIANTS)
        const char *asked = std::getenv("SVMFAST_ISA");
        return best_isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni") &&
               !(asked && !std::strcmp(asked, "avx512"));
#else
        return false;
#endif
    }();
    return vnni;
}

}  // namespace svmfast

#if defined(SVMFAST_VARIANTS)
#define SVMFAST_DISPATCH_VNNI(function, ...) \
    (::svmfast::has_vnni() ? ::svmfast::avx512vnni::function(__VA_ARGS__) : SVMFAST_DISPATCH(function, __VA_ARGS__))
#define SVMFAST_DECLARE_VNNI(declaration) \
    SVMFAST_DECLARE(declaration)          \
    namespace svmfast::avx512vnni {       \
    declaration;                          \
    }
#else
#define SVMFAST_DISPATCH_VNNI SVMFAST_DISPATCH
#define SVMFAST_DECLARE_VNNI SVMFAST_DECLARE
#endif
