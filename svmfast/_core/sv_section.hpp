// The SV section of LIBSVM's model text: lines of coefficients and features in, arrays out.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "number_text.hpp"

namespace svmfast {

// Why the text is refused; the names are in SV_FAULTS (model_text.cpp).
enum SvFault : int {
    sv_ok = 0,
    sv_too_few_lines,
    sv_too_many_lines,
    sv_empty_line,
    sv_missing_coefficient,
    sv_bad_coefficient,
    sv_no_colon,
    sv_bad_index,
    sv_index_order,
    sv_bad_value,
    sv_bad_serial,
};

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline const char *skip_blanks(const char *p) {
    while (is_blank(*p)) ++p;
    return p;
}

// Whether a line ends at p: "\n", "\r\n" or the end of the text.
inline bool at_line_end(const char *p, const char *end) {
    return *p == '\n' || p == end || (*p == '\r' && (p + 1 == end || p[1] == '\n'));
}

inline const char *next_line(const char *p, const char *end) {
    const void *newline = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
    return newline == nullptr ? end : static_cast<const char *>(newline) + 1;
}

// Reads text whose end is followed by a NUL, into arrays that hold n_sv rows and as many features as there are colons.
struct SvSection {
    double *coef;  // (n_coef, n_sv)
    std::int64_t *indptr;
    std::int32_t *indices;
    double *values;
    std::int64_t n_columns = 0;
    std::int64_t nnz = 0;
    SvFault fault = sv_ok;
    const char *position = nullptr;

    void fail(SvFault what, const char *where) { fault = what, position = where; }

    // Reads all of `index:value` up to the line's end; returns where it stopped, nullptr on a fault.
    const char *read_pairs(const char *p, const char *end) {
        std::int32_t last = 0;
        for (;;) {
            p = skip_blanks(p);
            if (at_line_end(p, end)) return p;
            const char *const token = p;
            std::int32_t index = 0;
            for (; is_digit(*p); ++p) {
                const std::int64_t grown = std::int64_t{index} * 10 + (*p - '0');
                if (grown > std::numeric_limits<std::int32_t>::max()) return fail(sv_bad_index, token), nullptr;
                index = static_cast<std::int32_t>(grown);
            }
            if (*p != ':' || p == token) {
                const char *q = token;
                while (!is_blank(*q) && *q != ':' && !at_line_end(q, end)) ++q;
                return fail(*q == ':' ? sv_bad_index : sv_no_colon, token), nullptr;
            }
            if (index <= last) return fail(index == 0 ? sv_bad_index : sv_index_order, token), nullptr;
            last = index;
            double value;
            p = read_double(p + 1, end, value);
            if (p == nullptr || !(is_blank(*p) || at_line_end(p, end))) return fail(sv_bad_value, token), nullptr;
            indices[nnz] = index - 1;
            values[nnz++] = value;
        }
    }

    // Reads the one `0:serial` of the precomputed kernel.
    const char *read_serial(const char *p, const char *end) {
        p = skip_blanks(p);
        const char *const token = p;
        std::int32_t serial = 0;
        if (p[0] != '0' || p[1] != ':') return fail(sv_bad_serial, token), nullptr;
        p = read_integer(p + 2, end, serial);
        if (p == nullptr || serial < 1) return fail(sv_bad_serial, token), nullptr;
        if (!is_blank(*p) && !at_line_end(p, end)) return fail(sv_bad_serial, token), nullptr;
        p = skip_blanks(p);
        if (!at_line_end(p, end)) return fail(sv_bad_serial, p), nullptr;
        indices[nnz] = 0;
        values[nnz++] = serial;
        return p;
    }

    void read(const char *p, const char *end, std::size_t n_sv, std::size_t n_coef, bool precomputed) {
        indptr[0] = 0;
        for (std::size_t i = 0; i < n_sv; ++i) {
            if (p == end) return fail(sv_too_few_lines, p);
            p = skip_blanks(p);
            if (at_line_end(p, end)) {
                // Blank lines at the end of the file mean that lines are missing; a blank line before further text is
                // another fault.
                const char *q = p;
                while (is_blank(*q) || *q == '\n' || *q == '\r') ++q;
                return fail(q == end ? sv_too_few_lines : sv_empty_line, p);
            }
            for (std::size_t c = 0; c < n_coef; ++c) {
                p = skip_blanks(p);
                if (at_line_end(p, end)) return fail(sv_missing_coefficient, p);
                const char *const token = p;
                double value;
                p = read_double(p, end, value);
                if (p == nullptr || !(is_blank(*p) || at_line_end(p, end))) {
                    const char *q = token;
                    while (!is_blank(*q) && *q != ':' && !at_line_end(q, end)) ++q;
                    return fail(*q == ':' ? sv_missing_coefficient : sv_bad_coefficient, token);
                }
                coef[c * n_sv + i] = value;
            }
            p = precomputed ? read_serial(p, end) : read_pairs(p, end);
            if (p == nullptr) return;
            indptr[i + 1] = nnz;
            // Indices ascend, so the last one is the row's widest.
            if (indptr[i + 1] > indptr[i]) n_columns = std::max<std::int64_t>(n_columns, indices[nnz - 1] + 1);
            p = next_line(p, end);
        }
        while (is_blank(*p) || *p == '\n' || *p == '\r') ++p;
        if (p != end) return fail(sv_too_many_lines, p);
        position = end;
    }
};

}  // namespace svmfast
