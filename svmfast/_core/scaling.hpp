// One number scaled, rounded to some decimal digits, and printed as C's %g prints it. Exact: the number that
// svm-predict reads from svm-scale's output, without the text.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "number_text.hpp"

namespace svmfast::scaling {

constexpr int most_fast_digits = 15;  // integers with this many digits are exact doubles
constexpr int most_power = 22;        // 10^22 is the highest power of ten that is an exact double
using text::exact_power_of_ten;

// |z| rounded to `digits` significant digits is figures / 10^power, with 10^(digits - 1) <= figures <= 10^digits.
struct Decimal {
    std::int64_t figures;
    int power;
};

// Rounds z > 0 as printf does: the exact binary value to the nearest decimal, ties to even. False if that needs a
// higher power of ten.
inline bool round_decimal(double z, int digits, Decimal &out) {
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
    const double nearest = std::nearbyint(scaled), past = scaled - nearest;
    double figures = nearest;
    // Halfway between two integers in double precision: the rounding error of the product decides.
    if (std::fabs(past) == 0.5) {
        const double rest = std::fma(z, exact_power_of_ten[power], -scaled);
        const double below = std::floor(scaled);
        if (rest > 0) figures = below + 1;
        if (rest < 0) figures = below;
    }
    out = {static_cast<std::int64_t>(figures), power};
    return true;
}

// z rounded to `digits` significant digits and read back: strtod of printf("%.*g").
inline double rounded(double z, int digits) {
    if (z == 0 || !std::isfinite(z)) return z;
    Decimal decimal;
    if (round_decimal(std::fabs(z), digits, decimal)) {
        // Both exact, so the quotient is the double nearest to the decimal.
        const double size = static_cast<double>(decimal.figures) / exact_power_of_ten[decimal.power];
        return std::signbit(z) ? -size : size;
    }
    char text[number_room];
    const char *const end = std::to_chars(text, text + number_room, z, std::chars_format::scientific, digits - 1).ptr;
    double back;
    // The largest doubles can round to a decimal that is out of range.
    return text::scan_double(text, end, back) == text::Scan::ok ? back : std::copysign(HUGE_VAL, z);
}

// The digits d.ddd... of a number with -5 < exponent < digits wanted, as %g writes them.
inline char *write_figures(char *p, const char *figures, std::ptrdiff_t digits, int exponent) {
    if (exponent < 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = -1; i > exponent; --i) *p++ = '0';
        return std::copy_n(figures, digits, p);
    }
    for (std::ptrdiff_t i = 0; i < digits || i <= exponent; ++i) {
        if (i == exponent + 1) *p++ = '.';
        *p++ = i < digits ? figures[i] : '0';
    }
    return p;
}

// printf("%g", z)
inline char *write_g6(char *p, double z) {
    Decimal decimal;
    if (z == 0 || !std::isfinite(z) || !round_decimal(std::fabs(z), 6, decimal))
        return std::to_chars(p, p + number_room, z, std::chars_format::general, 6).ptr;
    std::int64_t figures = decimal.figures;
    int power = decimal.power;
    if (figures == 1000000) figures = 100000, --power;
    const int exponent = 5 - power;
    if (exponent < -4 || power < 0) return std::to_chars(p, p + number_room, z, std::chars_format::general, 6).ptr;
    if (std::signbit(z)) *p++ = '-';
    char digit[6];
    for (int i = 5; i >= 0; --i, figures /= 10) digit[i] = static_cast<char>('0' + figures % 10);
    int used = 6;
    while (used > 1 && digit[used - 1] == '0') --used;
    return write_figures(p, digit, used, exponent);
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
