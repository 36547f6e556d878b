// The grammar of LIBSVM data text: lines in, CSR arrays out.
#pragma once
#include <cstdint>

#include "growing.hpp"
#include "text.hpp"

namespace svmfast::svmlight {

struct Options {
    bool zero_based = false;   // indices count from 0
    bool precomputed = false;  // every row is 0:serial 1:K(x,x1) ... without gaps; columns are the indices themselves
    bool dense = false;        // label v1 v2 ...; zeros are not stored
    bool lenient = false;      // blank lines are skipped, rows are sorted
    bool labelled = true;      // otherwise rows start with their first entry and labels are nan

    // Without labels a row of zeros is a blank line.
    bool blank_is_row() const noexcept { return !labelled && !dense && !precomputed && !lenient; }
};

// The first fault. Python composes the message from the keys `rule` and `why`.
struct Fault {
    const char *rule = nullptr;  // nullptr: nothing is wrong
    const char *why = "";        // the status of text::Scan if the fault is a number
    std::int64_t line = 0;       // counted from the first line of the block, from 1
    const char *line_begin = nullptr, *begin = nullptr, *end = nullptr;  // the line, the token
    std::int64_t found = 0, wanted = 0;
};

// Tolerated irregularities, which may deserve a warning.
struct Notes {
    std::int64_t comment_lines = 0, line_comments = 0, qid = 0, blank_lines = 0, sorted_rows = 0, unknown_serials = 0,
                 blank_rows = 0;

    void operator+=(const Notes &more) noexcept {
        comment_lines += more.comment_lines, line_comments += more.line_comments, qid += more.qid;
        blank_lines += more.blank_lines, sorted_rows += more.sorted_rows, unknown_serials += more.unknown_serials;
        blank_rows += more.blank_rows;
    }
    bool any() const noexcept {
        return comment_lines | line_comments | qid | blank_lines | sorted_rows | unknown_serials | blank_rows;
    }
};

// The rows of the lines parsed so far.
struct Block {
    Growing<double> labels, values;
    Growing<std::int64_t> indptr;  // empty, or one longer than labels
    Growing<std::int32_t> indices;
    std::int64_t lines = 0;       // lines read, the faulty one included
    std::int64_t first_row = 0;   // line of the first row, 0 without rows
    std::int64_t width = 0;       // highest column + 1
    std::int64_t row_width = -1;  // number of values in every row if it must be constant (dense, precomputed)
    Notes notes;
    Fault fault;

    // Empties the block but keeps its memory.
    void clear() noexcept {
        labels.clear(), values.clear(), indptr.clear(), indices.clear();
        lines = first_row = width = 0;
        row_width = -1;
        notes = Notes{};
        fault = Fault{};
    }
};

// Appends the lines of [begin, end) to `block` up to the first fault. The last character is '\n' and text::padding
// bytes after `end` are readable.
void parse(const char *begin, const char *end, const Options &options, Block &block);

}  // namespace svmfast::svmlight
