// Numbers as text, as C's printf writes them in the C locale, without its locale and format parsing.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "text.hpp"

namespace svmfast {

constexpr std::size_t number_room = 40;  // longest double of 17 digits: 24; longest int64: 20

// printf("%.*g", digits, x), for 6 digits or more.
inline char *write_digits(char *p, double x, int digits) {
    const bool small_integer = std::fabs(x) < text::exact_power_of_ten[std::min(digits, 15)] && x == std::trunc(x);
    if (small_integer && !(x == 0 && std::signbit(x)))
        return std::to_chars(p, p + number_room, static_cast<std::int64_t>(x)).ptr;
    return std::to_chars(p, p + number_room, x, std::chars_format::general, digits).ptr;
}

}  // namespace svmfast
