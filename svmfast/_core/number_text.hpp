// Numbers from text and back, for model files. Reading is exact (round to nearest) for any number of
// digits; writing is what C's printf gives in the C locale, without its locale and format parsing.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "text.hpp"

namespace svmfast {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Whether a number may end before this character; Python's bytes end with a NUL.
inline bool ends_number(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\0'; }

// Reads the decimal number at p up to the next blank or line end. Returns its end, or nullptr if the text up to there
// is not a finite number. Text must be readable up to and including *end, which must be a NUL.
inline const char *read_double(const char *p, const char *end, double &out) {
    if (end - p >= static_cast<std::ptrdiff_t>(text::padding)) {
        const char *const stop = text::fast_double(p, out);
        if (stop != nullptr && ends_number(*stop)) return stop;
    }
    const char *stop = p;
    while (!ends_number(*stop)) ++stop;
    return text::scan_double(p, stop, out) == text::Scan::ok ? stop : nullptr;
}

template <class Int>
const char *read_integer(const char *p, const char *end, Int &out) {
    if (*p == '+' && is_digit(p[1])) ++p;
    const auto result = std::from_chars(p, end, out);
    return result.ec == std::errc() ? result.ptr : nullptr;
}

constexpr std::size_t number_room = 40;  // longest double of 17 digits: 24; longest int64: 20

inline bool small_integer(double x, double limit) {
    return std::fabs(x) < limit && x == std::trunc(x) && !(x == 0 && std::signbit(x));
}

// printf("%.17g", x)
inline char *write_g17(char *p, double x) {
    if (small_integer(x, 1e15)) return std::to_chars(p, p + number_room, static_cast<std::int64_t>(x)).ptr;
    return std::to_chars(p, p + number_room, x, std::chars_format::general, 17).ptr;
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

// printf("%.8g", x). If the shortest decimal that reads back to x has at most eight digits, it is also x rounded to
// eight digits: they differ by less than an ulp, far below half a unit of the eighth digit (except for denormals, whose
// ulps are not small). This holds for nearly all data read from text, and the shortest decimal is several times cheaper
// than rounding to a given digit. With `in_full`, a number that eight digits do not determine gets the shortest
// decimal.
template <bool in_full = false>
inline char *write_g8(char *p, double x) {
    if (small_integer(x, 1e8)) return std::to_chars(p, p + number_room, static_cast<std::int64_t>(x)).ptr;
    char shortest[number_room];
    const char *const end = std::to_chars(shortest, shortest + number_room, x, std::chars_format::scientific).ptr;
    const char *s = shortest;
    const char *e = static_cast<const char *>(std::memchr(s, 'e', static_cast<std::size_t>(end - s)));
    const bool negative = *s == '-';
    if (negative) ++s;
    const std::ptrdiff_t digits = e == nullptr ? 0 : (e - s > 1 ? e - s - 1 : 1);
    if (in_full && digits > 8) {
        std::memcpy(p, shortest, static_cast<std::size_t>(end - shortest));
        return p + (end - shortest);
    }
    if (e == nullptr || digits > 8 || std::fabs(x) < 1e-300)
        return std::to_chars(p, p + number_room, x, std::chars_format::general, 8).ptr;
    int exponent = 0;
    std::from_chars(e + 2, end, exponent);
    if (e[1] == '-') exponent = -exponent;
    if (exponent < -4 || exponent >= 8) {  // %g switches to d.ddde+XX, as in this text
        std::memcpy(p, shortest, static_cast<std::size_t>(end - shortest));
        return p + (end - shortest);
    }
    char figures[9];
    figures[0] = s[0];
    std::memcpy(figures + 1, s + 2, static_cast<std::size_t>(digits > 1 ? digits - 1 : 0));
    if (negative) *p++ = '-';
    return write_figures(p, figures, digits, exponent);
}

}  // namespace svmfast
