#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace svmfast::text {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool begins(const char *first, const char *last, const char *word) noexcept {
    for (; *word; ++first, ++word)
        if (first == last || lower(*first) != *word) return false;
    return true;
}

// Parses [digits][.digits][e[+-]digits], with a digit in the mantissa, into mantissa * 10^exponent. Digits that do not
// fit into the mantissa (it has room for nineteen) are left out.
struct Decimal {
    std::uint64_t mantissa = 0;
    std::int64_t exponent = 0;
    bool exact = true;  // no nonzero digit was left out
    bool valid = false;
};

// The eight characters from p on, with zeros after the end of the token [first, last).
inline std::uint64_t peek8(const char *first, const char *p, const char *last) noexcept {
    const auto left = last - p;
    if (left >= 8) return load8(p);
    if (left == 0) return 0;
    if (last - first >= 8) return load8(last - 8) >> (64 - 8 * left);
    std::uint64_t word = 0;
    for (auto i = left; i-- > 0;) word = word << 8 | static_cast<unsigned char>(p[i]);
    return word;
}

// For digits that may not all fit: appends those for which the mantissa has room and skips the others.
[[gnu::noinline]] const char *take_rest(const char *p, const char *last, Decimal &d, std::int64_t &left_out) noexcept {
    for (; p != last && is_digit(*p); ++p) {
        if (d.mantissa < room_for[1]) {
            d.mantissa = d.mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
        } else {
            ++left_out;
            d.exact = d.exact && *p == '0';
        }
    }
    return p;
}

// Appends the digits at p to the mantissa and returns the character after them; `left_out` counts those without room.
inline const char *take_digits(const char *first, const char *p, const char *last, Decimal &d,
                               std::int64_t &left_out) noexcept {
    std::uint64_t mantissa = d.mantissa;
    for (;;) {
        const std::uint64_t word = peek8(first, p, last);
        const unsigned count = leading_digits(word);
        if (count == 0) break;
        if (__builtin_expect(mantissa >= room_for[count], 0)) {
            d.mantissa = mantissa;
            return take_rest(p, last, d, left_out);
        }
        mantissa = mantissa * power_of_ten[count] + digits_value(word, count);
        p += count;
        if (count != 8) break;
    }
    d.mantissa = mantissa;
    return p;
}

inline Decimal take_apart(const char *first, const char *last, char point) noexcept {
    Decimal d;
    std::int64_t left_out = 0;
    const char *p = take_digits(first, first, last, d, left_out);
    auto digits = p - first;
    d.exponent = left_out;
    if (p != last && *p == point) {
        const char *const fraction = ++p;
        left_out = 0;
        p = take_digits(first, fraction, last, d, left_out);
        digits += p - fraction;
        d.exponent -= (p - fraction) - left_out;
    }
    if (digits == 0) return d;
    if (p != last && (*p == 'e' || *p == 'E')) {
        ++p;
        const bool down = p != last && *p == '-';
        if (p != last && (*p == '+' || *p == '-')) ++p;
        if (p == last) return d;
        std::int64_t e = 0;
        for (; p != last && is_digit(*p); ++p) e = std::min<std::int64_t>(e * 10 + (*p - '0'), std::int64_t{1} << 40);
        d.exponent += down ? -e : e;
    }
    d.valid = p == last;
    return d;
}

// 10^q = table[q] * 2^exponent with 2^127 <= table[q] < 2^128, rounded down. The recurrence loses less than two
// units a step; compared with exact fractions, no entry is more than 191 units too small.
struct PowersOfTen {
    static constexpr int least = -342, most = 308;
    unsigned __int128 table[most - least + 1] = {};
    std::int16_t exponent[most - least + 1] = {};
    constexpr PowersOfTen() {
        using Wide = unsigned __int128;
        constexpr Wide top = static_cast<Wide>(1) << 127;
        Wide t = top;
        int e = -127;
        for (int q = 0; q <= most; ++q) {
            table[q - least] = t;
            exponent[q - least] = static_cast<std::int16_t>(e);
            const Wide raised = t + (t >> 2);  // times 10 / 8
            const bool carry = raised < t;
            t = carry ? (t >> 1) + (t >> 3) : raised;
            e += carry ? 4 : 3;
        }
        t = top, e = -127;
        for (int q = 0; q >= least; --q) {
            table[q - least] = t;
            exponent[q - least] = static_cast<std::int16_t>(e);
            const Wide fifth = t / 5, rest = t % 5;
            const Wide lowered = 4 * fifth + 4 * rest / 5;  // times 8 / 10
            const bool shift = lowered < top;
            t = shift ? 8 * fifth + 8 * rest / 5 : lowered;
            e -= shift ? 4 : 3;
        }
    }
};
constexpr PowersOfTen powers;

Scan why_not(const char *first, const char *last) noexcept {
    if (begins(first, last, "0x")) return Scan::hexadecimal;
    if (begins(first, last, "nan") || begins(first, last, "inf")) return Scan::not_finite;
    if (take_apart(first, last, ',').valid) return Scan::comma;
    return Scan::not_a_number;
}

}  // namespace

// mantissa * 10^exponent, rounded to nearest, ties to even; false if the result is not certain. The product of the
// mantissa with a 128-bit power of ten decides unless it lies within its error of the midpoint between two doubles
// (after Lemire, "Number parsing at a gigabyte per second", 2021, with an error bound in place of his tables of cases).
bool nearest(std::uint64_t mantissa, std::int64_t exponent, double &value) noexcept {
    if (mantissa == 0) {
        value = 0.0;
        return true;
    }
    if (exponent < powers.least || exponent > powers.most) return false;
    using Wide = unsigned __int128;
    const int zeros = __builtin_clzll(mantissa);
    const std::uint64_t w = mantissa << zeros;
    const Wide power = powers.table[exponent - powers.least];
    Wide product = static_cast<Wide>(w) * static_cast<std::uint64_t>(power >> 64) +
                   (static_cast<Wide>(w) * static_cast<std::uint64_t>(power) >> 64);
    int binary = powers.exponent[exponent - powers.least] - zeros + 64 + 75;
    if (!(product >> 127)) product <<= 1, --binary;
    // The true product is less than 2 * (191 + 1) units above; the margin is wider.
    constexpr Wide half = static_cast<Wide>(1) << 74;
    const Wide rest = product & (2 * half - 1);
    if (rest <= half && rest + 2048 >= half) return false;
    auto m = static_cast<std::uint64_t>(product >> 75) + (rest > half);
    if (m == largest_exact) m >>= 1, ++binary;
    const int biased = binary + 52 + 1023;
    if (biased < 1 || biased > 2046) return false;
    const std::uint64_t image = static_cast<std::uint64_t>(biased) << 52 | (m & ((std::uint64_t{1} << 52) - 1));
    std::memcpy(&value, &image, 8);
    return true;
}

Scan scan_double(const char *first, const char *last, double &value) noexcept {
    const bool negative = first != last && *first == '-';
    if (first != last && (*first == '+' || *first == '-')) ++first;
    const Decimal decimal = take_apart(first, last, '.');
    if (!decimal.valid) return why_not(first, last);
    double number = 0.0;
    if (!decimal.exact || !nearest(decimal.mantissa, decimal.exponent, number)) {
        const auto [end, error] = std::from_chars(first, last, number);
        if (error == std::errc::result_out_of_range || std::isinf(number)) {
            // from_chars does not say on which side of the range a number lies.
            if (decimal.exponent > 0) return Scan::overflow;
            number = 0.0;
        } else if (error != std::errc{} || end != last) {
            return Scan::not_a_number;
        }
    }
    value = negative ? -number : number;
    return Scan::ok;
}

Scan scan_int64(const char *first, const char *last, std::int64_t &value) noexcept {
    const char *digits = first;
    if (first != last && (*first == '+' || *first == '-')) ++digits;
    if (digits == last || !std::all_of(digits, last, is_digit)) {
        return why_not(digits, last) == Scan::hexadecimal ? Scan::hexadecimal : Scan::not_a_number;
    }
    const auto [end, error] = std::from_chars(*first == '+' ? digits : first, last, value);
    if (error == std::errc::result_out_of_range) return Scan::overflow;
    return error == std::errc{} && end == last ? Scan::ok : Scan::not_a_number;
}

const char *name(Scan status) noexcept {
    constexpr const char *names[] = {"ok", "not_a_number", "overflow", "not_finite", "hexadecimal", "comma"};
    return names[static_cast<int>(status)];
}

}  // namespace svmfast::text
