#include "text.hpp"

#include <algorithm>
#include <cmath>

namespace svmfast::text {
namespace {

// Whether a decimal number that is out of the range of doubles is too small, rather than too large: the place of its
// first digit that is not 0 decides.
bool vanishes(const char *first, const char *last) noexcept {
    const char *const mark = std::find_if(first, last, [](char c) { return c == 'e' || c == 'E'; });
    const char *const point = std::find(first, mark, '.');
    const char *const digit = std::find_if(first, mark, [](char c) { return c > '0'; });
    std::int32_t exponent = 0;
    if (mark != last && !scan_number(mark + 1, last, exponent)) return mark[1] == '-';
    return exponent + (point - digit) < 0;
}

}  // namespace

bool scan_number(const char *first, const char *last, double &value) noexcept {
    const bool negative = first != last && *first == '-';
    if (first != last && (*first == '+' || *first == '-')) ++first;
    if (first == last || !(is_digit(*first) || *first == '.')) return false;  // a word that strtod takes
    double number = 0.0;
    const auto [end, error] = std::from_chars(first, last, number);
    if (end != last || error == std::errc::invalid_argument) return false;
    if (error != std::errc{} || std::isinf(number)) {
        if (!vanishes(first, last)) return false;
        number = 0.0;
    }
    value = negative ? -number : number;
    return true;
}

}  // namespace svmfast::text
