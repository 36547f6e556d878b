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

// [digits][.digits][e[+-]digits] with a digit in the mantissa: from_chars would also take "inf" and "nan".
bool is_decimal(const char *first, const char *last, char point) noexcept {
    const char *p = first;
    while (p != last && is_digit(*p)) ++p;
    auto digits = p - first;
    if (p != last && *p == point) {
        const char *fraction = ++p;
        while (p != last && is_digit(*p)) ++p;
        digits += p - fraction;
    }
    if (digits == 0) return false;
    if (p != last && (*p == 'e' || *p == 'E')) {
        ++p;
        if (p != last && (*p == '+' || *p == '-')) ++p;
        if (p == last) return false;
        while (p != last && is_digit(*p)) ++p;
    }
    return p == last;
}

Scan why_not(const char *first, const char *last) noexcept {
    if (begins(first, last, "0x")) return Scan::hexadecimal;
    if (begins(first, last, "nan") || begins(first, last, "inf")) return Scan::not_finite;
    if (is_decimal(first, last, ',')) return Scan::comma;
    return Scan::not_a_number;
}

// from_chars does not say on which side of the range a number lies: its decimal exponent does.
bool is_tiny(const char *first, const char *last) noexcept {
    long long exponent = 0;
    const char *e = std::find_if(first, last, [](char c) { return c == 'e' || c == 'E'; });
    if (e != last) {
        const char *p = e + 1;
        const bool down = *p == '-';
        if (*p == '-' || *p == '+') ++p;
        for (; p != last; ++p) exponent = std::min(exponent * 10 + (*p - '0'), 1LL << 50);
        if (down) exponent = -exponent;
    }
    const char *point = std::find(first, e, '.');
    const char *significant = std::find_if(first, e, [](char c) { return c >= '1' && c <= '9'; });
    return exponent + (significant < point ? point - significant : point - significant + 1) < 0;
}

}  // namespace

Scan scan_double(const char *first, const char *last, double &value) noexcept {
    const bool negative = first != last && *first == '-';
    if (first != last && (*first == '+' || *first == '-')) ++first;
    if (!is_decimal(first, last, '.')) return why_not(first, last);
    double number = 0.0;
    const auto [end, error] = std::from_chars(first, last, number);
    if (error == std::errc::result_out_of_range || std::isinf(number)) {
        if (!is_tiny(first, last)) return Scan::overflow;
        number = 0.0;
    } else if (error != std::errc{} || end != last) {
        return Scan::not_a_number;
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
    switch (status) {
        case Scan::ok: return "ok";
        case Scan::not_a_number: return "not_a_number";
        case Scan::overflow: return "overflow";
        case Scan::not_finite: return "not_finite";
        case Scan::hexadecimal: return "hexadecimal";
        case Scan::comma: return "comma";
    }
    return "not_a_number";
}

char *write_double(char *out, double value) noexcept { return std::to_chars(out, out + number_room, value).ptr; }

char *write_int64(char *out, std::int64_t value) noexcept { return std::to_chars(out, out + number_room, value).ptr; }

}  // namespace svmfast::text
