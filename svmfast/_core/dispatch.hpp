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

struct Machine {
    Isa isa = Isa::baseline;
    bool vnni = false;
};

// The best variant for this machine; the environment variable SVMFAST_ISA (baseline, avx2) selects a lower one, so
// that every variant can be tested on one machine; avx512 leaves out VNNI.
inline const Machine &machine() {
    static const Machine machine = [] {
        Machine best;
#if defined(SVMFAST_VARIANTS)
        const char *asked = std::getenv("SVMFAST_ISA");
        const auto excludes = [asked](const char *name) { return asked && !std::strcmp(asked, name); };
        __builtin_cpu_init();
        if (!excludes("baseline") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            best.isa = Isa::avx2;
        if (best.isa == Isa::avx2 && !excludes("avx2") && __builtin_cpu_supports("avx512f") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512bw"))
            best.isa = Isa::avx512;
        best.vnni = best.isa == Isa::avx512 && !excludes("avx512") && __builtin_cpu_supports("avx512vnni");
#endif
        return best;
    }();
    return machine;
}
inline Isa best_isa() { return machine().isa; }
// Whether this machine is one of those with AVX-512 that add products of bytes, or of words, in one instruction.
inline bool has_vnni() { return machine().vnni; }

// Doubles in a vector of the variant in use, and vectors in a panel of support vectors: of doubles, of floats.
inline std::size_t vector_lanes() { return best_isa() == Isa::avx512 ? 8 : best_isa() == Isa::avx2 ? 4 : 2; }
constexpr std::size_t NV = 3, NF = 2;
// Rows in a tile of doubles, whose sums fill the registers: AVX-512 has 32 of them, the others 16.
inline std::size_t register_rows() { return best_isa() == Isa::avx512 ? 8 : 4; }

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
