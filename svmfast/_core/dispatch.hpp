// The choice among the compiled instruction-set variants on this machine.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__) && !defined(SVMFAST_BASELINE_ONLY)  // scripts/cross compiles no variants
#define SVMFAST_VARIANTS
#endif

namespace svmfast {

enum class Isa { baseline, avx2, avx512 };

// The best variant for this machine; the environment variable SVMFAST_ISA (baseline, avx2) selects a lower one, so
// that every variant can be tested on one machine.
inline Isa best_isa() {
    static const Isa isa = [] {
        Isa best = Isa::baseline;
#if defined(SVMFAST_VARIANTS)
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = Isa::avx2;
        if (best == Isa::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
            best = Isa::avx512;
#endif
        const char *asked = std::getenv("SVMFAST_ISA");
        if (asked && !std::strcmp(asked, "baseline")) best = Isa::baseline;
        if (asked && !std::strcmp(asked, "avx2") && best == Isa::avx512) best = Isa::avx2;
        return best;
    }();
    return isa;
}

// Whether this machine is one of those with AVX-512 that add products of bytes, or of words, in one instruction (VNNI).
// SVMFAST_ISA=avx512 turns it off.
inline bool has_vnni() {
#if defined(SVMFAST_VARIANTS)
    static const bool vnni = [] {
        const char *asked = std::getenv("SVMFAST_ISA");
        return best_isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni") &&
               !(asked && !std::strcmp(asked, "avx512"));
    }();
    return vnni;
#else
    return false;
#endif
}

// Doubles in a vector of the variant in use, and vectors in a panel of support vectors: of doubles, of floats.
inline std::size_t vector_lanes() { return best_isa() == Isa::avx512 ? 8 : best_isa() == Isa::avx2 ? 4 : 2; }
constexpr std::size_t NV = 3, NF = 2;

}  // namespace svmfast

// SVMFAST_DISPATCH(function, arguments...) calls svmfast::<isa>::function.
#if defined(SVMFAST_VARIANTS)
#define SVMFAST_DISPATCH(function, ...)                                                         \
    (::svmfast::best_isa() == ::svmfast::Isa::avx512 ? ::svmfast::avx512::function(__VA_ARGS__) \
     : ::svmfast::best_isa() == ::svmfast::Isa::avx2 ? ::svmfast::avx2::function(__VA_ARGS__)   \
                                                     : ::svmfast::baseline::function(__VA_ARGS__))
#else
#define SVMFAST_DISPATCH(function, ...) ::svmfast::baseline::function(__VA_ARGS__)
#endif

// Declares a function in every variant's namespace, compiled or not.
#define SVMFAST_DECLARE(declaration) \
    namespace svmfast::baseline {    \
    declaration;                     \
    }                                \
    namespace svmfast::avx2 {        \
    declaration;                     \
    }                                \
    namespace svmfast::avx512 {      \
    declaration;                     \
    }
