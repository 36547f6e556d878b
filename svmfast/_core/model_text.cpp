// The number-heavy parts of model files: the SV section of LIBSVM's text, and plain lists of numbers.
// The messages are in formats/; here a fault is a code and a position.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "arrays.hpp"
#include "number_text.hpp"
#include "sv_section.hpp"

namespace svmfast {
namespace {

const char *text_at(const nb::bytes &text, std::size_t pos) {
    if (pos > text.size()) throw std::out_of_range("position beyond the text");
    return text.c_str() + pos;
}

nb::tuple read_sv_section(const nb::bytes &text, std::size_t pos, std::size_t n_sv, std::size_t n_coef,
                          bool precomputed) {
    const char *const begin = text_at(text, pos);
    const char *const end = text.c_str() + text.size();
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
    {
        nb::gil_scoped_release release;
        section.read(begin, end, n_sv, n_coef, precomputed);
    }
    const std::size_t nnz = section.fault == sv_ok ? static_cast<std::size_t>(section.nnz) : 0;
    return nb::make_tuple(static_cast<int>(section.fault), static_cast<std::size_t>(section.position - text.c_str()),
                          give(std::move(coef), {n_coef, n_sv}), give(std::move(indptr), {n_sv + 1}),
                          give(std::move(indices), {nnz}), give(std::move(values), {nnz}), section.n_columns);
}

nb::bytes format_sv_section(In2<double> coef, In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                            bool precomputed) {
    const std::size_t n_coef = coef.shape(0), n_sv = coef.shape(1);
    if (indptr.shape(0) != n_sv + 1 || indices.shape(0) != values.shape(0)) throw std::invalid_argument("shapes");
    const std::int64_t *const rows = indptr.data();
    for (std::size_t i = 0; i < n_sv; ++i)
        if (rows[i] < 0 || rows[i] > rows[i + 1] || (precomputed && rows[i + 1] - rows[i] != 1))
            throw std::invalid_argument("indptr");
    if (static_cast<std::size_t>(rows[n_sv]) > values.shape(0)) throw std::invalid_argument("indptr");
    TextBuffer text;
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < n_sv; ++i) {
            const auto stored = static_cast<std::size_t>(rows[i + 1] - rows[i]);
            char *p = text.room((n_coef + 2 * stored + 1) * number_room);
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
            text.advance_to(p);
        }
    }
    return nb::bytes(text.data(), text.size());
}

const char *read_number(const char *p, const char *end, double &out) { return read_double(p, end, out); }
template <class Int>
const char *read_number(const char *p, const char *end, Int &out) {
    return read_integer(p, end, out);
}

inline bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r'; }

// Up to `count` whitespace-separated numbers from `pos`: the array, how many were read, and where reading stopped,
// which is the first token that is not a number of this type, if any.
template <class T>
nb::tuple parse_numbers(const nb::bytes &text, std::size_t pos, std::size_t count) {
    const char *p = text_at(text, pos);
    const char *const end = text.c_str() + text.size();
    const std::size_t most = std::min(count, (static_cast<std::size_t>(end - p) + 1) / 2);
    std::unique_ptr<T[]> numbers(new T[most]);
    std::size_t n = 0;
    {
        nb::gil_scoped_release release;
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
    }
    return nb::make_tuple(give(std::move(numbers), {n}), n, static_cast<std::size_t>(p - text.c_str()));
}

// Each number printed with "%.8g" and read back: the values of support vectors in LIBSVM's files.
Out<double> eight_digits(In1<double> numbers) {
    const std::size_t n = numbers.shape(0);
    std::unique_ptr<double[]> rounded(new double[n]);
    {
        nb::gil_scoped_release release;
        char text[number_room + 1];
        for (std::size_t i = 0; i < n; ++i) {
            char *const end = write_g8(text, numbers.data()[i]);
            *end = '\0';
            read_double(text, end, rounded[i]);
        }
    }
    return give(std::move(rounded), {n});
}

// Shortest decimals that read back to the same number, a blank between them and a line end after every `per_line`.
template <class T>
nb::bytes format_numbers(In1<T> numbers, std::size_t per_line) {
    if (per_line == 0) throw std::invalid_argument("per_line");
    TextBuffer text;
    const std::size_t n = numbers.shape(0);
    {
        nb::gil_scoped_release release;
        for (std::size_t start = 0; start < n; start += per_line) {
            const std::size_t stop = std::min(n, start + per_line);
            char *p = text.room((stop - start) * number_room);
            for (std::size_t i = start; i < stop; ++i) {
                p = std::to_chars(p, p + number_room, numbers.data()[i]).ptr;
                *p++ = i + 1 == stop ? '\n' : ' ';
            }
            text.advance_to(p);
        }
    }
    return nb::bytes(text.data(), text.size());
}

}  // namespace
}  // namespace svmfast

void register_model_text(nanobind::module_ &m) {
    namespace nb = nanobind;
    using namespace svmfast;
    using namespace nb::literals;
    m.attr("SV_FAULTS") =
        nb::make_tuple("ok", "too_few_lines", "too_many_lines", "empty_line", "missing_coefficient", "bad_coefficient",
                       "no_colon", "bad_index", "index_order", "bad_value", "bad_serial");
    m.def("read_sv_section", &read_sv_section, "text"_a, "pos"_a, "n_sv"_a, "n_coef"_a, "precomputed"_a,
          nb::sig("def read_sv_section(text: bytes, pos: int, n_sv: int, n_coef: int, precomputed: bool) -> tuple[int, "
                  "int, NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], "
                  "NDArray[numpy.float64], int]"));
    m.def("format_sv_section", &format_sv_section, "coef"_a.noconvert(), "indptr"_a.noconvert(),
          "indices"_a.noconvert(), "values"_a.noconvert(), "precomputed"_a);
    m.def("eight_digits", &eight_digits, "numbers"_a.noconvert());
    m.def("parse_float64", &parse_numbers<double>, "text"_a, "pos"_a, "count"_a,
          nb::sig("def parse_float64(text: bytes, pos: int, count: int) -> tuple[NDArray[numpy.float64], int, int]"));
    m.def("parse_int64", &parse_numbers<std::int64_t>, "text"_a, "pos"_a, "count"_a,
          nb::sig("def parse_int64(text: bytes, pos: int, count: int) -> tuple[NDArray[numpy.int64], int, int]"));
    m.def("parse_int32", &parse_numbers<std::int32_t>, "text"_a, "pos"_a, "count"_a,
          nb::sig("def parse_int32(text: bytes, pos: int, count: int) -> tuple[NDArray[numpy.int32], int, int]"));
    m.def("format_float64", &format_numbers<double>, "numbers"_a.noconvert(), "per_line"_a);
    m.def("format_int64", &format_numbers<std::int64_t>, "numbers"_a.noconvert(), "per_line"_a);
    m.def("format_int32", &format_numbers<std::int32_t>, "numbers"_a.noconvert(), "per_line"_a);
}
