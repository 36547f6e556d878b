// Numbers from text and back: what model files need. Reading is exact (round to nearest) for any number of
// digits; writing is what C's printf gives in the C locale, without its locale and format parsing.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace svmfast {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// The decimal exponent m of a number 0.d1d2... * 10^m with d1 > 0, written as digits and perhaps a point.
inline std::int64_t decimal_magnitude(const char *p, const char *end, std::int64_t explicit_exponent) {
    while (p != end && *p == '0') ++p;
    std::int64_t magnitude = 0;
    if (p != end && is_digit(*p)) {
        for (; p != end && is_digit(*p); ++p) ++magnitude;
    } else if (p != end && *p == '.') {
        for (++p; p != end && *p == '0'; ++p) --magnitude;
    }
    return magnitude + explicit_exponent;
}

// Reads [+-] digits [. digits] [e [+-] digits] at p. Returns the end of the number, or nullptr where none stands or
// its magnitude overflows; hex, inf and nan are no numbers here. Text must be readable up to and including *end,
// where a NUL stands (Python's bytes promise it), so digit loops need no bounds.
inline const char *read_double(const char *p, const char *end, double &out) {
    static constexpr double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool negative = *p == '-';
    if (negative || *p == '+') ++p;
    const char *const start = p;
    std::uint64_t mantissa = 0;
    while (is_digit(*p)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p++ - '0');
    std::ptrdiff_t n_digits = p - start;
    std::int64_t exponent = 0, explicit_exponent = 0;
    if (*p == '.') {
        const char *const fraction = ++p;
        while (is_digit(*p)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p++ - '0');
        exponent = -(p - fraction);
        n_digits += p - fraction;
    }
    if (n_digits == 0) return nullptr;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1;
        const bool down = *q == '-';
        if (down || *q == '+') ++q;
        if (!is_digit(*q)) return nullptr;
        std::int64_t e = 0;
        for (; is_digit(*q); ++q)
            if (e < 100000) e = e * 10 + (*q - '0');
        explicit_exponent = down ? -e : e;
        exponent += explicit_exponent;
        p = q;
    }
    // Both factors are exact doubles here, so one rounding gives the nearest double (Clinger 1990). Nineteen digits
    // cannot have overflowed the mantissa.
    if (n_digits <= 19 && mantissa <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
        double value = static_cast<double>(mantissa);
        value = exponent < 0 ? value / power_of_ten[-exponent] : value * power_of_ten[exponent];
        out = negative ? -value : value;
        return p;
    }
    double value = 0;
    const auto result = std::from_chars(start, end, value);
    if (result.ec == std::errc::result_out_of_range) {
        // from_chars does not say which way. Too small a number is a zero, correctly rounded.
        if (decimal_magnitude(start, p, explicit_exponent) > 0) return nullptr;
        value = 0;
    } else if (result.ec != std::errc() || result.ptr != p) {
        return nullptr;
    }
    out = negative ? -value : value;
    return p;
}

template <class Int>
const char *read_integer(const char *p, const char *end, Int &out) {
    if (*p == '+' && is_digit(p[1])) ++p;
    const auto result = std::from_chars(p, end, out);
    return result.ec == std::errc() ? result.ptr : nullptr;
}

// An output buffer that grows; `room(n)` promises n more bytes.
class TextBuffer {
  public:
    char *room(std::size_t n) {
        if (text_.size() - used_ < n) text_.resize(std::max(text_.size() * 2, used_ + n));
        return text_.data() + used_;
    }
    void advance_to(char *p) { used_ = static_cast<std::size_t>(p - text_.data()); }
    const char *data() const { return text_.data(); }
    std::size_t size() const { return used_; }

  private:
    std::string text_;
    std::size_t used_ = 0;
};

constexpr std::size_t number_room = 40;  // longest double of 17 digits: 24; longest int64: 20

inline bool small_integer(double x, double limit) {
    return std::fabs(x) < limit && x == std::trunc(x) && !(x == 0 && std::signbit(x));
}

// printf("%.17g", x)
inline char *write_g17(char *p, double x) {
    if (small_integer(x, 1e15)) return std::to_chars(p, p + number_room, static_cast<std::int64_t>(x)).ptr;
    return std::to_chars(p, p + number_room, x, std::chars_format::general, 17).ptr;
}

// printf("%.8g", x). Where the shortest decimal that names x has at most eight digits, it is what rounding x to eight
// digits gives: they differ by less than an ulp, far below half a unit of the eighth digit (denormals, whose ulps
// are not small, apart). Data read from text are nearly always so, and the shortest decimal is several times cheaper than rounding to a given digit.
inline char *write_g8(char *p, double x) {
    if (small_integer(x, 1e8)) return std::to_chars(p, p + number_room, static_cast<std::int64_t>(x)).ptr;
    char shortest[number_room];
    const char *const end = std::to_chars(shortest, shortest + number_room, x, std::chars_format::scientific).ptr;
    const char *s = shortest;
    const char *e = static_cast<const char *>(std::memchr(s, 'e', static_cast<std::size_t>(end - s)));
    const bool negative = *s == '-';
    if (negative) ++s;
    const std::ptrdiff_t digits = e == nullptr ? 0 : (e - s > 1 ? e - s - 1 : 1);
    if (e == nullptr || digits > 8 || std::fabs(x) < 1e-300)
        return std::to_chars(p, p + number_room, x, std::chars_format::general, 8).ptr;
    int exponent = 0;
    std::from_chars(e + 2, end, exponent);
    if (e[1] == '-') exponent = -exponent;
    if (exponent < -4 || exponent >= 8) {  // %g turns to d.ddde+XX, which is what stands there
        std::memcpy(p, shortest, static_cast<std::size_t>(end - shortest));
        return p + (end - shortest);
    }
    char figures[9];
    figures[0] = s[0];
    std::memcpy(figures + 1, s + 2, static_cast<std::size_t>(digits > 1 ? digits - 1 : 0));
    if (negative) *p++ = '-';
    if (exponent < 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = -1; i > exponent; --i) *p++ = '0';
        std::memcpy(p, figures, static_cast<std::size_t>(digits));
        return p + digits;
    }
    for (std::ptrdiff_t i = 0; i < digits || i <= exponent; ++i) {
        if (i == exponent + 1) *p++ = '.';
        *p++ = i < digits ? figures[i] : '0';
    }
    return p;
}

}  // namespace svmfast
