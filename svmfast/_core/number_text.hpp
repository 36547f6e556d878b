// Numbers from text and back, for model files. Reading is exact (round to nearest) for any number of
// digits; writing is what C's printf gives in the C locale, without its locale and format parsing.
#pragma once
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

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

// printf("%.8g", x). With `in_full`, a number that eight digits do not determine gets the shortest decimal.
template <bool in_full = false>
inline char *write_g8(char *p, double x) {
    if (small_integer(x, 1e8)) return std::to_chars(p, p + number_room, static_cast<std::int64_t>(x)).ptr;
    char *const end = std::to_chars(p, p + number_room, x, std::chars_format::general, 8).ptr;
    double back = x;
    if (in_full) text::scan_double(p, end, back);
    return back == x ? end : std::to_chars(p, p + number_room, x, std::chars_format::scientific).ptr;
}

}  // namespace svmfast
