// The number-heavy parts of model files: the SV section of LIBSVM's text, and plain lists of numbers.
// The messages are in formats/; here a fault is a code and a position.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "growing.hpp"
#include "loops.hpp"
#include "number_text.hpp"
#include "sv_section.hpp"

namespace svmfast {
namespace {

const char *text_at(std::string_view text, std::size_t pos) {
    if (pos > text.size()) throw std::out_of_range("position beyond the text");
    return text.data() + pos;
}

}  // namespace

SvText read_sv_section(std::string_view text, std::size_t pos, std::size_t n_sv, std::size_t n_coef, bool precomputed) {
    const char *const begin = text_at(text, pos);
    const char *const end = text.data() + text.size();
    const auto left = static_cast<std::size_t>(end - begin);
    // Each coefficient takes at least two bytes, so nothing below is larger than a small multiple of the file.
    if (n_coef == 0 || n_sv > (left + 1) / 2 / n_coef)
        throw std::invalid_argument("more numbers than the text can hold");
    const auto most = static_cast<std::size_t>(std::count(begin, end, ':'));
    std::unique_ptr<double[]> coef(new double[n_coef * n_sv]);
    std::unique_ptr<std::int64_t[]> indptr(new std::int64_t[n_sv + 1]());
    std::unique_ptr<std::int32_t[]> indices(new std::int32_t[most]);
    std::unique_ptr<double[]> values(new double[most]);
    SvSection section{coef.get(), indptr.get(), indices.get(), values.get()};
    section.read(begin, end, n_sv, n_coef, precomputed);
    const std::size_t nnz = section.fault == sv_ok ? static_cast<std::size_t>(section.nnz) : 0;
    return {static_cast<int>(section.fault),
            static_cast<std::size_t>(section.position - text.data()),
            give(std::move(coef), {n_coef, n_sv}),
            give(std::move(indptr), {n_sv + 1}),
            give(std::move(indices), {nnz}),
            give(std::move(values), {nnz}),
            section.n_columns};
}

Growing<char> format_sv_section(In2<double> coef, In1<std::int64_t> indptr, In1<std::int32_t> indices,
                                In1<double> values, bool precomputed) {
    const std::size_t n_coef = coef.shape(0), n_sv = coef.shape(1);
    if (indptr.shape(0) != n_sv + 1 || indices.shape(0) != values.shape(0)) throw std::invalid_argument("shapes");
    const std::int64_t *const rows = indptr.data();
    for (std::size_t i = 0; i < n_sv; ++i)
        if (rows[i] < 0 || rows[i] > rows[i + 1] || (precomputed && rows[i + 1] - rows[i] != 1))
            throw std::invalid_argument("indptr");
    if (static_cast<std::size_t>(rows[n_sv]) > values.shape(0)) throw std::invalid_argument("indptr");
    Growing<char> text;
    for (std::size_t i = 0; i < n_sv; ++i) {
        const auto stored = static_cast<std::size_t>(rows[i + 1] - rows[i]);
        text.reserve_more((n_coef + 2 * stored + 1) * number_room);
        char *p = text.end();
        for (std::size_t c = 0; c < n_coef; ++c) {
            p = write_g17(p, coef.data()[c * n_sv + i]);
            *p++ = ' ';
        }
        for (std::int64_t at = rows[i]; at < rows[i + 1]; ++at) {
            if (precomputed) {
                *p++ = '0';
                *p++ = ':';
                p = std::to_chars(p, p + number_room, static_cast<std::int32_t>(values.data()[at])).ptr;
            } else {
                p = std::to_chars(p, p + number_room, std::int64_t{indices.data()[at]} + 1).ptr;
                *p++ = ':';
                p = write_g8<true>(p, values.data()[at]);
            }
            *p++ = ' ';
        }
        *p++ = '\n';
        text.set_end(p);
    }
    return text;
}

namespace {

const char *read_number(const char *p, const char *end, double &out) { return read_double(p, end, out); }
template <class Int>
const char *read_number(const char *p, const char *end, Int &out) {
    return read_integer(p, end, out);
}

inline bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r'; }

}  // namespace

template <class T>
std::tuple<Out<T>, std::size_t, std::size_t> parse_numbers(std::string_view text, std::size_t pos, std::size_t count) {
    const char *p = text_at(text, pos);
    const char *const end = text.data() + text.size();
    const std::size_t most = std::min(count, (static_cast<std::size_t>(end - p) + 1) / 2);
    std::unique_ptr<T[]> numbers(new T[most]);
    std::size_t n = 0;
    while (n < most) {
        const char *token = p;
        while (is_space(*token)) ++token;
        const char *const after = read_number(token, end, numbers[n]);
        if (after == nullptr || !(is_space(*after) || after == end)) {
            p = token;
            break;
        }
        p = after;
        ++n;
    }
    return {give(std::move(numbers), {n}), n, static_cast<std::size_t>(p - text.data())};
}

Out<double> eight_digits(In1<double> numbers) {
    const std::size_t n = numbers.shape(0);
    std::unique_ptr<double[]> rounded(new double[n]);
    char text[number_room + 1];
    for (std::size_t i = 0; i < n; ++i) {
        char *const end = write_g8(text, numbers.data()[i]);
        *end = '\0';
        read_double(text, end, rounded[i]);
    }
    return give(std::move(rounded), {n});
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
