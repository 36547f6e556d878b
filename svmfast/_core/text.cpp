// Numbers read from text, and rows written as text, for files of data and of models.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "loops.hpp"

#if !defined(__cpp_lib_to_chars)  // libc++
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

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

#if defined(__cpp_lib_to_chars)
using std::from_chars;
#else
// The same for a number without sign, in libraries that have it only for integers.
std::from_chars_result from_chars(const char *first, const char *last, double &value) {
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    const std::string word(first, last);
    char *end = nullptr;
    value = strtod_l(word.c_str(), &end, plain);
    const bool decimal = word.find_first_of("xX") == word.npos;
    return {first + (end - word.c_str()), decimal ? std::errc{} : std::errc::invalid_argument};
}
#endif

}  // namespace

bool scan_number(const char *first, const char *last, double &value) noexcept {
    const bool negative = first != last && *first == '-';
    if (first != last && (*first == '+' || *first == '-')) ++first;
    if (first == last || !(is_digit(*first) || *first == '.')) return false;  // a word that strtod takes
    double number = 0.0;
    const auto [end, error] = from_chars(first, last, number);
    if (end != last || error == std::errc::invalid_argument) return false;
    if (error != std::errc{} || std::isinf(number)) {
        if (!vanishes(first, last)) return false;
        number = 0.0;
    }
    value = negative ? -number : number;
    return true;
}

}  // namespace svmfast::text

namespace svmfast {

Growing<char> write_rows(In2<double> numbers, In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                         std::int64_t base, int digits) {
    const std::size_t n = numbers.shape(1), entries = values.shape(0);
    if (indptr.shape(0) != n + 1 || indices.shape(0) != entries) throw std::invalid_argument("rows are inconsistent");
    Growing<char> text;
    char *p = nullptr;
    const auto write = [&](auto x) { p = std::to_chars(p, p + text::number_room, x).ptr; };
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t begin = indptr.data()[i], end = indptr.data()[i + 1];
        if (begin < 0 || begin > end || end > static_cast<std::int64_t>(entries))
            throw std::invalid_argument("rows are inconsistent");
        text.reserve_more((numbers.shape(0) + 2 * static_cast<std::size_t>(end - begin) + 1) * text::number_room);
        p = text.end();
        for (std::size_t c = 0; c < numbers.shape(0); ++c, *p++ = ' ')
            digits ? void(p = text::write_digits(p, numbers(c, i), 17)) : write(numbers(c, i));
        for (std::int64_t k = begin; k < end; ++k, *p++ = ' ') {
            const double value = values.data()[k];
            write(indices.data()[k] + base);
            *p++ = ':';
            if (!digits) {
                write(value);
            } else if (base == 0) {
                write(static_cast<std::int32_t>(value));
            } else {
                char *const start = p;
                double back = value;
                p = text::write_digits(p, value, digits);
                if (digits == 8 && !(text::scan_number(start, p, back) && back == value))
                    p = std::to_chars(start, start + text::number_room, value, std::chars_format::scientific).ptr;
            }
        }
        if (digits)
            *p++ = '\n';
        else
            p[-1] = '\n';
        text.set_end(p);
    }
    return text;
}

}  // namespace svmfast
