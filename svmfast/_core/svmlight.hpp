// LIBSVM data text: its forms, and the rows and the faults that it contains.
#pragma once
#include <array>
#include <cstdint>

#include "arrays.hpp"
#include "text.hpp"

namespace svmfast::svmlight {

struct Options {
    bool zero_based = false;   // indices count from 0
    bool precomputed = false;  // every row is 0:serial 1:K(x,x1) ... without gaps; columns are the indices themselves
    bool dense = false;        // label v1 v2 ...; zeros are not stored
    bool lenient = false;      // blank lines are skipped, rows are sorted
    // Numbers before a row's entries: its label, or none; in the lines of a LIBSVM model, sv_coef.
    std::size_t numbers = 1;

    // Without labels a row of zeros is a blank line.
    bool blank_is_row() const noexcept { return !numbers && !dense && !precomputed && !lenient; }
};

// The first fault. Python composes the message.
struct Fault {
    const char *rule = nullptr;  // nullptr: nothing is wrong
    std::int64_t line = 0;       // counted from the first line of the block, from 1
    const char *line_begin = nullptr, *begin = nullptr, *end = nullptr;  // the line, the token
    std::int64_t found = 0, wanted = 0;
};

// Tolerated irregularities, which may deserve a warning, and how often each occurred.
enum Note { comment_lines, line_comments, qid_tokens, blank_lines, sorted_rows, unknown_serials, blank_rows };
using Notes = std::array<std::int64_t, 7>;

// The rows of the lines parsed so far.
struct Block {
    Growing<double> labels, values;  // labels: all numbers before the entries
    Growing<std::int64_t> indptr;
    Growing<std::int32_t> indices;
    std::int64_t lines = 0;       // lines read, the faulty one included
    std::int64_t first_row = 0;   // line of the first row, 0 without rows
    std::int64_t width = 0;       // highest column + 1
    std::int64_t row_width = -1;  // number of values in every row if it must be constant (dense, precomputed)
    Notes notes{};
    Fault fault;

    Block() { clear(); }
    SparseRows rows() const { return {{indptr.data(), indices.data(), values.data()}, indptr.size() - 1}; }
    bool noted() const noexcept { return notes != Notes{}; }

    // Removes the rows but keeps their memory, and what is known of all rows.
    void clear() {
        constexpr std::int64_t start = 0;
        labels.clear(), values.clear(), indptr.clear(), indices.clear();
        indptr.append(&start, 1);
        first_row = 0;
        notes = {};
    }
};

}  // namespace svmfast::svmlight
