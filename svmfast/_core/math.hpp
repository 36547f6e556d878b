// Constants and functions that all parts of the core share.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

namespace svmfast {

// The kernels of LIBSVM, by its numbers.
enum class KernelKind : int { linear = 0, polynomial = 1, rbf = 2, sigmoid = 3 };

// log2(e): the core computes kernels as powers of two.
constexpr double LOG2_E = 1.4426950408889634;

// LIBSVM's integer power, with the same multiplications; of a number or of a vector.
template <class Number>
static inline Number powi(Number base, int times) {
    Number result = Number{} + 1.0;
    for (Number square = base; times > 0; times /= 2, square *= square)
        if (times % 2 == 1) result *= square;
    return result;
}

// The largest power of two that is at most x, or 1 for what is not a positive number.
static inline double power_of_two(double x) {
    return x > 0 && std::isfinite(x) ? std::ldexp(1.0, std::clamp(std::ilogb(x), -1000, 1000)) : 1;
}

static constexpr std::size_t divide_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit; }
static constexpr std::size_t round_up(std::size_t n, std::size_t unit) { return divide_up(n, unit) * unit; }

}  // namespace svmfast
