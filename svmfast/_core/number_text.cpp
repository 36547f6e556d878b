// Rows and lists of numbers as text, for files of data and of models, and lists read back: loops.hpp.
#include <algorithm>
#include <stdexcept>

#include "growing.hpp"
#include "loops.hpp"
#include "number_text.hpp"

namespace svmfast {

Growing<char> write_rows(In2<double> numbers, In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                         std::size_t first, std::size_t last, std::int64_t base, int digits) {
    const std::size_t n = numbers.shape(1), entries = values.shape(0);
    if (indptr.shape(0) != n + 1 || indices.shape(0) != entries || first > last || last > n)
        throw std::invalid_argument("rows are inconsistent");
    Growing<char> text;
    char *p = nullptr;
    const auto write = [&](auto x) { p = std::to_chars(p, p + number_room, x).ptr; };
    for (std::size_t i = first; i < last; ++i) {
        const std::int64_t begin = indptr.data()[i], end = indptr.data()[i + 1];
        if (begin < 0 || begin > end || end > static_cast<std::int64_t>(entries))
            throw std::invalid_argument("rows are inconsistent");
        text.reserve_more((numbers.shape(0) + 2 * static_cast<std::size_t>(end - begin) + 1) * number_room);
        p = text.end();
        for (std::size_t c = 0; c < numbers.shape(0); ++c, *p++ = ' ')
            digits ? void(p = write_digits(p, numbers(c, i), 17)) : write(numbers(c, i));
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
                p = write_digits(p, value, digits);
                if (digits == 8 && !(text::scan_number(start, p, back) && back == value))
                    p = std::to_chars(start, start + number_room, value, std::chars_format::scientific).ptr;
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

namespace {

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

template <class T>
std::tuple<Out<T>, std::size_t, std::size_t> parse_numbers(std::string_view text, std::size_t pos, std::size_t count) {
    if (pos > text.size()) throw std::out_of_range("position beyond the text");
    const char *p = text.data() + pos;
    const char *const end = text.data() + text.size();
    const std::size_t most = std::min(count, (static_cast<std::size_t>(end - p) + 1) / 2);
    std::unique_ptr<T[]> numbers(new T[most]);
    std::size_t n = 0;
    while (n < most) {
        const char *const token = std::find_if_not(p, end, is_space);
        const char *const stop = std::find_if(token, end, is_space);
        p = token;
        if (!text::scan_number(token, stop, numbers[n])) break;
        p = stop;
        ++n;
    }
    return {give(std::move(numbers), {n}), n, static_cast<std::size_t>(p - text.data())};
}

template <class T>
Growing<char> format_numbers(In1<T> numbers, std::size_t per_line) {
    if (per_line == 0) throw std::invalid_argument("per_line");
    Growing<char> text;
    const std::size_t n = numbers.shape(0);
    for (std::size_t start = 0; start < n; start += per_line) {
        const std::size_t stop = std::min(n, start + per_line);
        text.reserve_more((stop - start) * number_room);
        char *p = text.end();
        for (std::size_t i = start; i < stop; ++i) {
            p = std::to_chars(p, p + number_room, numbers.data()[i]).ptr;
            *p++ = i + 1 == stop ? '\n' : ' ';
        }
        text.set_end(p);
    }
    return text;
}

template std::tuple<Out<double>, std::size_t, std::size_t> parse_numbers(std::string_view, std::size_t, std::size_t);
template std::tuple<Out<std::int64_t>, std::size_t, std::size_t> parse_numbers(std::string_view, std::size_t,
                                                                               std::size_t);
template std::tuple<Out<std::int32_t>, std::size_t, std::size_t> parse_numbers(std::string_view, std::size_t,
                                                                               std::size_t);
template Growing<char> format_numbers(In1<double>, std::size_t);
template Growing<char> format_numbers(In1<std::int64_t>, std::size_t);
template Growing<char> format_numbers(In1<std::int32_t>, std::size_t);

}  // namespace svmfast
