// Numbers in text, read and written the same for data and model files: independent of the locale, and always correctly
// rounded.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace svmfast::text {

inline bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }

// Reads the whole of [first, last) as a finite decimal number, rounded as strtod rounds it. A leading '+' and denormals
// are accepted; smaller numbers become zero with their sign. False for anything else.
bool scan_number(const char *first, const char *last, double &value) noexcept;

// Reads the whole of [first, last) as a decimal integer of this type; a leading '+' is accepted.
template <class Int>
bool scan_number(const char *first, const char *last, Int &value) noexcept {
    if (last - first > 1 && *first == '+' && is_digit(first[1])) ++first;
    const auto [end, error] = std::from_chars(first, last, value);
    return error == std::errc{} && end == last;
}

// fast_double() loads eight bytes at a time: this many bytes after the text must be readable (with any content).
inline constexpr std::size_t padding = 64;

inline constexpr std::uint64_t every_byte = 0x0101010101010101u;

inline std::uint64_t load8(const char *p) noexcept {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

// How many of the eight characters, from the first on, are digits. A byte that is not a digit sets its top bit; the
// carry of a byte above 0x89 only changes later bytes, which no longer matter.
inline unsigned leading_digits(std::uint64_t word) noexcept {
    const std::uint64_t distance = word ^ (0x30 * every_byte);
    const std::uint64_t other = ((distance + 0x76 * every_byte) | distance) & (0x80 * every_byte);
    return other ? static_cast<unsigned>(__builtin_ctzll(other)) >> 3 : 8;
}

// The number that eight digits, less '0' each, spell: pairs, fours and eights are joined by one multiplication each.
inline std::uint64_t joined(std::uint64_t v) noexcept {
    v = v * 10 + (v >> 8);
    return (((v & 0x000000FF000000FFu) * 0x000F424000000064u) +
            (((v >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
           32;
}

// The number its first `count` (1 to 8) characters spell: the digits move to the end of the word behind zeros.
inline std::uint64_t digits_value(std::uint64_t word, unsigned count) noexcept {
    return joined((word ^ (0x30 * every_byte)) << (64 - 8 * count));
}

inline constexpr auto power_of_ten = [] {
    std::array<std::uint64_t, 9> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
    return powers;
}();

inline constexpr double exact_power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

constexpr std::size_t number_room = 40;  // longest double of 17 digits: 24; longest int64: 20

// printf("%.*g", digits, x) in the C locale, for 6 digits or more.
inline char *write_digits(char *p, double x, int digits) {
    const bool small_integer = std::fabs(x) < exact_power_of_ten[std::min(digits, 15)] && x == std::trunc(x);
    if (small_integer && !(x == 0 && std::signbit(x)))
        return std::to_chars(p, p + number_room, static_cast<std::int64_t>(x)).ptr;
    return std::to_chars(p, p + number_room, x, std::chars_format::general, digits).ptr;
}

// Reads [+-]digits[.digits] with at most 8 digits before the point and 16 after it, 19 in all, whose digits are below
// 2^53: scan_number()'s value. Returns the first character after the number, or nullptr to decline. The caller must
// check what follows the number ('e', a further digit).
inline const char *fast_double(const char *p, double &value) noexcept {
    const bool negative = *p == '-';
    p += negative | (*p == '+');
    std::uint64_t word = load8(p);
    const unsigned whole = leading_digits(word);
    if (__builtin_expect(whole == 0, 0)) return nullptr;
    std::uint64_t mantissa = static_cast<unsigned char>(*p) - std::uint64_t{'0'};
    if (whole != 1) mantissa = digits_value(word, whole);
    p += whole;
    unsigned decimals = 0;
    if (*p == '.') {
        word = load8(++p);
        decimals = leading_digits(word);
        if (__builtin_expect(decimals == 0, 0)) return nullptr;
        mantissa = mantissa * power_of_ten[decimals] + digits_value(word, decimals);
        p += decimals;
        if (decimals == 8) {
            word = load8(p);
            const unsigned more = leading_digits(word);
            if (more) mantissa = mantissa * power_of_ten[more] + digits_value(word, more);
            p += more;
            decimals += more;
        }
        if (__builtin_expect(whole + decimals > 19 || mantissa > std::uint64_t{1} << 53, 0)) return nullptr;
    }
    // A quotient of two integers that are both exact is rounded once, hence correctly (Clinger 1990).
    const double number = static_cast<double>(static_cast<std::int64_t>(mantissa)) / exact_power_of_ten[decimals];
    value = negative ? -number : number;
    return p;
}

}  // namespace svmfast::text
