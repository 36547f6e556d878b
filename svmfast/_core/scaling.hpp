// One number scaled and rounded to some decimal digits. Exact: the number that svm-predict reads from svm-scale's
// output, without the text.
#pragma once
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "number_text.hpp"

namespace svmfast::scaling {

constexpr int most_fast_digits = 15;  // integers with this many digits are exact doubles
constexpr int most_power = 22;        // 10^22 is the highest power of ten that is an exact double
using text::exact_power_of_ten;

// z > 0 rounded as printf does to `digits` significant digits, the exact binary value to the nearest decimal, ties to
// even, and read back. False if that needs a higher power of ten.
inline bool round_decimal(double z, int digits, double &out) {
    if (digits > most_fast_digits) return false;
    int exponent;
    std::frexp(z, &exponent);
    int power = digits - 1 - static_cast<int>(std::floor((exponent - 1) * 0.30102999566398120));
    if (power < 0 || power > most_power) return false;
    double scaled = z * exact_power_of_ten[power];
    if (scaled >= exact_power_of_ten[digits]) {
        if (--power < 0) return false;
        scaled = z * exact_power_of_ten[power];
    }
    double figures = std::nearbyint(scaled);
    // Halfway between two integers in double precision: the rounding error of the product decides.
    if (std::fabs(scaled - figures) == 0.5) {
        const double rest = std::fma(z, exact_power_of_ten[power], -scaled);
        const double below = std::floor(scaled);
        if (rest > 0) figures = below + 1;
        if (rest < 0) figures = below;
    }
    out = figures / exact_power_of_ten[power];  // both exact, so the quotient is the double nearest to the decimal
    return true;
}

// z rounded to `digits` significant digits and read back: strtod of printf("%.*g").
inline double rounded(double z, int digits) {
    if (z == 0 || !std::isfinite(z)) return z;
    double back;
    if (round_decimal(std::fabs(z), digits, back)) return std::copysign(back, z);
    char text[number_room];
    const char *const end = std::to_chars(text, text + number_room, z, std::chars_format::scientific, digits - 1).ptr;
    // The largest doubles can round to a decimal that is out of range.
    return text::scan_number(text, end, back) ? back : std::copysign(HUGE_VAL, z);
}

// z = (x - first) * second, or svm-scale's map of [first, second] to [lower, upper].
struct Map {
    bool ranges;
    double lower, upper, least, most;  // least, most: what the result is clipped to
    int digits;                        // 0: not rounded

    double of(double x, double first, double second) const {
        double z;
        if (ranges) {
            // The order of svm-scale's operations: another order could round to a different sixth digit.
            if (first == second)
                return 0;
            else if (x == first)
                z = lower;
            else if (x == second)
                z = upper;
            else
                z = lower + (upper - lower) * (x - first) / (second - first);
        } else {
            z = (x - first) * second;
        }
        if (z < least) z = least;
        if (z > most) z = most;
        return z;
    }
    double read_back(double z) const { return digits ? rounded(z, digits) : z; }
};

}  // namespace svmfast::scaling
