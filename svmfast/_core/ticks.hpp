// A clock cheap enough to be read around every merge: the time stamp counter where there is one.
#pragma once
#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace svmfast {

// In arbitrary units: use the ratio of two differences.
inline double ticks() {
#if defined(__x86_64__)
    return static_cast<double>(__rdtsc());
#else
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

}  // namespace svmfast
