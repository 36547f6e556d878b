#include "svmlight.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "svmlight_plain.hpp"

namespace svmfast::svmlight {
namespace {

using text::Scan;

constexpr std::int64_t max_index = std::numeric_limits<std::int32_t>::max();

enum Kind : unsigned char { other = 0, blank = 1, line_over = 2 };

struct Kinds {
    Kind of[256] = {};
    constexpr Kinds() {
        for (const unsigned char c : {' ', '\t'}) of[c] = blank;
        for (const unsigned char c : {'\n', '\r', '#'}) of[c] = line_over;
    }
};
constexpr Kinds kinds;

inline Kind kind(char c) noexcept { return kinds.of[static_cast<unsigned char>(c)]; }

inline const char *skip_blanks(const char *p) noexcept {
    while (kind(*p) == blank) ++p;
    return p;
}

inline const char *token_end(const char *p) noexcept {
    while (kind(*p) == other) ++p;
    return p;
}

class Parser {
  public:
    Parser(const char *begin, const char *end, const Options &options, Block &block)
        : end_(end), options_(options), block_(block), least_(options.zero_based || options.precomputed ? 0 : 1),
          plain_(begin, least_) {
        at_.p = begin;
        at_.lines = block.lines;
        at_.width = block.width;
    }

    // In parts, so that reserving room for the worst case of a part does not waste memory: allocating and releasing
    // pages would cost more than the reading.
    void run() {
        while (at_.p != end_ && !block_.fault.rule) {
            const char *const part_end = end_of_part();
            reserve(static_cast<std::size_t>(part_end - at_.p));
            read_part(part_end);
        }
        block_.lines = at_.lines;
        block_.width = at_.width;
    }

  private:
    static constexpr std::ptrdiff_t part_bytes = 1 << 16;

    const char *end_of_part() const noexcept {
        if (end_ - at_.p <= 2 * part_bytes) return end_;
        const void *line_end =
            std::memchr(at_.p + part_bytes, '\n', static_cast<std::size_t>(end_ - at_.p - part_bytes));
        return static_cast<const char *>(line_end) + 1;
    }

    // Room for the shortest possible rows and entries ("1\n", or "\n" if blank lines are rows; "1:1 ", with --dense
    // "1 ") and for one that is tried, so that the loops need no checks.
    void reserve(std::size_t bytes) {
        const std::size_t rows = bytes / (options_.blank_is_row() ? 1 : 2) + 1;
        const std::size_t entries = bytes / (options_.dense ? 2 : 4) + 2;
        block_.labels.reserve_more(rows);
        block_.indptr.reserve_more(rows + 1);
        block_.indices.reserve_more(entries);
        block_.values.reserve_more(entries);
        if (block_.indptr.size() == 0) {
            *block_.indptr.data() = 0;
            block_.indptr.set_end(block_.indptr.data() + 1);
        }
    }

    void read_part(const char *part_end) {
        at_.label = block_.labels.end();
        at_.row_end = block_.indptr.end();
        at_.index = block_.indices.end();
        at_.value = block_.values.end();
        part_end_ = part_end;
        const bool plain = options_.labelled && !options_.dense && !options_.precomputed;
        plain_.set_end(part_end);
        while (at_.p != part_end) {
            if (plain) {
                const double *const label = at_.label;
                const std::int64_t line = at_.lines + 1;
                plain_.read(at_, block_.values.data());
                if (at_.label != label && block_.first_row == 0) block_.first_row = line;
                if (at_.p == part_end) break;
            }
            ++at_.lines;
            line_ = p_ = at_.p;
            row_index_ = at_.index, row_value_ = at_.value;
            if (!read_line()) {
                at_.index = row_index_, at_.value = row_value_;  // drop the entries of a bad line
                block_.fault.line = at_.lines;
                block_.fault.line_begin = line_;
                break;
            }
            at_.p = p_;
        }
        block_.labels.set_end(at_.label);
        block_.indptr.set_end(at_.row_end);
        block_.indices.set_end(at_.index);
        block_.values.set_end(at_.value);
    }

    bool fault(const char *rule, const char *begin, const char *end, const char *why = "") {
        if (begin && std::memchr(begin, 0, static_cast<std::size_t>(end - begin))) rule = "nul";
        block_.fault.rule = rule;
        block_.fault.why = why;
        block_.fault.begin = begin;
        block_.fault.end = end;
        return false;
    }
    bool fault(const char *rule, std::int64_t found, std::int64_t wanted) {
        block_.fault.found = found, block_.fault.wanted = wanted;
        return fault(rule, nullptr, nullptr);
    }

    bool read_line() {
        p_ = skip_blanks(p_);
        if (kind(*p_) == line_over) {
            const bool empty = *p_ == '\n' || (*p_ == '\r' && p_[1] == '\n');
            if (empty && options_.blank_is_row()) {
                ++block_.notes.blank_rows;
            } else {
                if (empty && !options_.lenient) return fault("blank", nullptr, nullptr);
                if (empty) ++block_.notes.blank_lines;
                return finish_line(block_.notes.comment_lines);
            }
        }
        double label = std::numeric_limits<double>::quiet_NaN();
        if (options_.labelled && !read_label(label)) return false;
        if (!(options_.dense ? read_dense_row() : read_sparse_row())) return false;
        if (!finish_line(block_.notes.line_comments)) return false;
        if (block_.first_row == 0) block_.first_row = at_.lines;
        at_.width = std::max(at_.width, line_width_);
        *at_.label++ = label;
        *at_.row_end++ = at_.value - block_.values.data();
        return true;
    }

    // From the end of a line's last token to the next line.
    bool finish_line(std::int64_t &comments) {
        if (*p_ == '#') {
            ++comments;
            const char *next =
                static_cast<const char *>(std::memchr(p_, '\n', static_cast<std::size_t>(part_end_ - p_)));
            const void *cr = std::memchr(p_, '\r', static_cast<std::size_t>(next - p_));
            p_ = cr ? static_cast<const char *>(cr) : next;
        }
        if (*p_ == '\r') {
            if (p_[1] != '\n') return fault("carriage_return", nullptr, nullptr);
            ++p_;
        }
        ++p_;
        return true;
    }

    bool read_label(double &label) {
        if (const char *q = text::fast_double(p_, label); q && kind(*q) != other) {
            p_ = q;
            return true;
        }
        const char *q = options_.dense ? field_end(p_) : token_end(p_);
        const Scan status = text::scan_double(p_, q, label);
        if (status != Scan::ok) return fault("label", p_, q, text::name(status));
        p_ = q;
        return true;
    }

    // --- index:value ----------------------------------------------------------------------------------------------

    bool read_sparse_row() {
        std::int64_t last = least_ - 1;
        sorted_ = true;
        bool first = true;
        for (p_ = skip_blanks(p_); kind(*p_) != line_over; p_ = skip_blanks(p_), first = false)
            if (!read_common_entry(last) && !read_entry(last, first)) return false;
        if (!sorted_) {
            ++block_.notes.sorted_rows;
            if (!sort_row()) return false;
        }
        line_width_ = last - least_ + 1;
        return !options_.precomputed || check_precomputed_row();
    }

    // One to eight digits, a colon, a short decimal number, with ascending indices; read_entry() handles everything
    // else.
    bool read_common_entry(std::int64_t &last) {
        const std::uint64_t word = text::load8(p_);
        const unsigned digits = text::leading_digits(word);
        if (digits == 0 || p_[digits] != ':') return false;
        const auto index = static_cast<std::int64_t>(text::digits_value(word, digits));
        const char *const end = text::fast_double(p_ + digits + 1, *at_.value);
        if (!end || kind(*end) == other || index <= last) return false;
        *at_.index++ = static_cast<std::int32_t>(index - least_);
        ++at_.value;
        last = index;
        p_ = end;
        return true;
    }

    // One token of any kind after the label. `last` is the highest index so far in the row.
    bool read_entry(std::int64_t &last, bool first) {
        const char *begin = p_, *end = token_end(p_);
        p_ = end;
        const auto *colon = static_cast<const char *>(std::memchr(begin, ':', static_cast<std::size_t>(end - begin)));
        if (!colon) return fault("no_colon", begin, end);
        std::int64_t index = 0;
        if (colon - begin == 3 && !std::memcmp(begin, "qid", 3)) {
            if (!first) return fault("qid_place", begin, end);
            if (const Scan status = text::scan_int64(colon + 1, end, index); status != Scan::ok)
                return fault("qid", begin, end, text::name(status));
            ++block_.notes.qid;
            return true;
        }
        if (colon == begin) return fault("no_index", begin, end);
        if (colon + 1 == end) return fault("no_value", begin, end);
        const Scan status = text::scan_int64(begin, colon, index);
        const bool negative = *begin == '-';
        if (status != Scan::ok && status != Scan::overflow) return fault("index", begin, end, text::name(status));
        if (index < 0 || (status == Scan::overflow && negative)) return fault("negative_index", begin, end);
        // With indices from 0, 2^31 - 1 would be the last column, not the number of columns.
        const std::int64_t most = options_.zero_based ? max_index - 1 : max_index;
        if (status == Scan::overflow || index > most) return fault("large_index", begin, end);
        if (index < least_) return fault("zero_index", begin, end);
        double value = 0.0;
        if (options_.precomputed && index == 0 && end - colon == 2 && colon[1] == '?') {
            ++block_.notes.unknown_serials;  // LIBSVM's README: any value is valid in a row that is only predicted
        } else if (const Scan got = text::scan_double(colon + 1, end, value); got != Scan::ok) {
            return fault("value", begin, end, text::name(got));
        }
        if (index <= last) {
            if (!options_.lenient) {
                const auto column = static_cast<std::int32_t>(index - least_);
                if (std::find(row_index_, at_.index, column) != at_.index) return fault("duplicate", begin, end);
                block_.fault.found = index, block_.fault.wanted = last;
                return fault("unsorted", begin, end);
            }
            sorted_ = false;
        } else {
            last = index;
        }
        *at_.index++ = static_cast<std::int32_t>(index - least_);
        *at_.value++ = value;
        return true;
    }

    bool sort_row() {
        const auto count = static_cast<std::size_t>(at_.index - row_index_);
        std::vector<std::pair<std::int32_t, double>> entries(count);
        for (std::size_t i = 0; i < count; ++i) entries[i] = {row_index_[i], row_value_[i]};
        std::stable_sort(entries.begin(), entries.end(),
                         [](const auto &a, const auto &b) { return a.first < b.first; });
        for (std::size_t i = 0; i < count; ++i) {
            if (i && entries[i].first == entries[i - 1].first)
                return fault("repeated", std::int64_t{entries[i].first} + least_, 0);
            row_index_[i] = entries[i].first, row_value_[i] = entries[i].second;
        }
        return true;
    }

    bool check_precomputed_row() {
        const std::int64_t count = at_.index - row_index_;
        if (count == 0 || row_index_[0] != 0) return fault("no_serial", nullptr, nullptr);
        if (at_.index[-1] != count - 1) {
            std::int64_t expected = 0;
            while (row_index_[expected] == expected) ++expected;
            return fault("gap", row_index_[expected], expected);
        }
        return check_row_width(count - 1);
    }

    bool check_row_width(std::int64_t found) {
        if (block_.row_width < 0) block_.row_width = found;
        return found == block_.row_width || fault("row_width", found, block_.row_width);
    }

    // --- label v1 v2 ... ------------------------------------------------------------------------------------------

    static const char *field_end(const char *p) noexcept {
        while (kind(*p) == other && *p != ',') ++p;
        return p;
    }

    bool read_dense_row() {
        bool comma = false;
        std::int64_t columns = 0;
        if (options_.labelled && !read_separator(comma, true)) return false;
        if (options_.labelled && kind(*p_) == line_over) return fault("no_values", nullptr, nullptr);
        for (;;) {
            const char *begin = p_;
            double value = 0.0;
            const char *end = text::fast_double(begin, value);
            if (!end || (kind(*end) == other && *end != ',')) {
                end = field_end(begin);
                if (begin == end) return fault("empty_field", nullptr, nullptr);
                const Scan status = text::scan_double(begin, end, value);
                if (status != Scan::ok) return fault("field", begin, end, text::name(status));
            }
            if (value != 0.0) {
                *at_.index++ = static_cast<std::int32_t>(columns);
                *at_.value++ = value;
            }
            if (++columns > max_index) return fault("large_index", begin, end);
            p_ = end;
            if (!read_separator(comma, columns == 1 && !options_.labelled)) return false;
            if (kind(*p_) == line_over) break;
        }
        line_width_ = columns;
        return check_row_width(columns);
    }

    // Blanks, or a comma with optional blanks; a line must use only one of them, since "1 0,5" may have a decimal
    // comma.
    bool read_separator(bool &comma, bool first) {
        const char *begin = p_;
        p_ = skip_blanks(p_);
        if (kind(*p_) == line_over) return true;
        const bool found_comma = *p_ == ',';
        if (found_comma) {
            p_ = skip_blanks(p_ + 1);
            if (kind(*p_) == line_over) return fault("empty_field", nullptr, nullptr);
        }
        if (first) comma = found_comma;
        return found_comma == comma || fault("mixed_separators", begin, field_end(p_));
    }

    const char *p_ = nullptr;  // the position in the current line
    const char *const end_, *part_end_ = nullptr;
    const Options &options_;
    Block &block_;
    const std::int64_t least_;
    PlainReader plain_;
    Cursor at_;
    const char *line_ = nullptr;
    bool sorted_ = true;
    std::int64_t line_width_ = 0;
    std::int32_t *row_index_ = nullptr;
    double *row_value_ = nullptr;
};

}  // namespace

void parse(const char *begin, const char *end, const Options &options, Block &block) {
    Parser(begin, end, options, block).run();
}

}  // namespace svmfast::svmlight
