// Reads LIBSVM data text block by block, each block's lines divided among threads.
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "svmfast.hpp"
#include "svmlight_fast.hpp"
#include "threads.hpp"

namespace svmfast::svmlight {
namespace {

enum Kind : unsigned char { other = 0, blank = 1, line_over = 2 };

constexpr auto kinds = [] {
    std::array<Kind, 256> kinds{};
    kinds[' '] = kinds['\t'] = blank;
    kinds['\n'] = kinds['\r'] = kinds['#'] = line_over;
    return kinds;
}();

inline Kind kind(char c) noexcept { return kinds[static_cast<unsigned char>(c)]; }

inline const char *skip_blanks(const char *p) noexcept {
    while (kind(*p) == blank) ++p;
    return p;
}

inline const char *token_end(const char *p) noexcept {
    while (kind(*p) == other) ++p;
    return p;
}

inline const char *field_end(const char *p) noexcept {
    while (kind(*p) == other && *p != ',') ++p;
    return p;
}

// Appends the lines of [begin, end) to a block up to the first fault.
class Parser {
  public:
    Parser(const char *begin, const char *end, const Options &options, Block &block)
        : end_(end), options_(options), block_(block), least_(options.zero_based || options.precomputed ? 0 : 1),
          fast_(begin, options, least_) {
        at_.p = begin;
    }

    // In parts, so that reserving room for the worst case of a part does not waste memory: allocating and releasing
    // pages would cost more than the reading.
    void run() {
        while (at_.p != end_ && !block_.fault.rule) read_part();
    }

  private:
    static constexpr std::ptrdiff_t part_bytes = 1 << 15;

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
        block_.labels.reserve_more(bytes / 2 + options_.numbers);
        block_.indptr.reserve_more(rows + 1);
        block_.indices.reserve_more(entries);
        block_.values.reserve_more(entries);
    }

    void read_part() {
        part_end_ = end_of_part();
        reserve(static_cast<std::size_t>(part_end_ - at_.p));
        at_ = {at_.p, block_.labels.end(), block_.indptr.end(), block_.indices.end(), block_.values.end()};
        if (!options_.dense) fast_.index(at_.p, part_end_);
        while (at_.p != part_end_) {
            const std::int64_t line = block_.lines + 1;
            fast_.read(at_, block_);
            if (block_.lines < line && !read_line()) break;
            if (!block_.first_row && at_.row_end != block_.indptr.data() + 1) block_.first_row = line;
        }
        block_.labels.set_end(at_.label);
        block_.indptr.set_end(at_.row_end);
        block_.indices.set_end(at_.index);
        block_.values.set_end(at_.value);
    }

    // A fault in the current line, whose entries are dropped.
    bool fault(const char *rule, const char *begin = nullptr, const char *end = nullptr, std::int64_t found = 0,
               std::int64_t wanted = 0) {
        block_.fault = {rule, block_.lines, line_, begin, end, found, wanted};
        at_.index = row_index_, at_.value = row_value_;
        return false;
    }

    bool read_line() {
        ++block_.lines;
        line_ = at_.p;
        row_index_ = at_.index, row_value_ = at_.value;
        at_.p = skip_blanks(at_.p);
        if (kind(*at_.p) == line_over) {
            const bool empty = *at_.p == '\n' || (*at_.p == '\r' && at_.p[1] == '\n');
            if (empty && options_.blank_is_row()) {
                ++block_.notes[blank_rows];
            } else {
                if (empty && !options_.lenient) return fault("blank");
                if (empty) ++block_.notes[blank_lines];
                return finish_line(comment_lines);
            }
        }
        std::int64_t width = 0;
        for (std::size_t i = 0; i < options_.numbers; ++i) {
            const char *begin = skip_blanks(at_.p), *end = options_.dense ? field_end(begin) : token_end(begin);
            if (!text::scan_number(begin, end, at_.label[i])) return fault("label", begin, end);
            at_.p = end;
        }
        if (!(options_.dense ? read_dense_row(width) : read_sparse_row(width))) return false;
        if (!finish_line(line_comments)) return false;
        block_.width = std::max(block_.width, width);
        at_.label += options_.numbers;
        *at_.row_end++ = at_.value - block_.values.data();
        return true;
    }

    // From the end of a line's last token to the next line.
    bool finish_line(Note comment) {
        if (*at_.p == '#') {
            ++block_.notes[comment];
            const char *next = std::find(at_.p, part_end_, '\n');
            at_.p = std::find(at_.p, next, '\r');
        }
        if (*at_.p == '\r' && *++at_.p != '\n') return fault("carriage_return");
        ++at_.p;
        return true;
    }

    // --- index:value ----------------------------------------------------------------------------------------------

    bool read_sparse_row(std::int64_t &width) {
        std::int64_t last = least_ - 1;
        bool sorted = true, first = true;
        for (at_.p = skip_blanks(at_.p); kind(*at_.p) != line_over; at_.p = skip_blanks(at_.p), first = false)
            if (!read_entry(last, first, sorted)) return false;
        if (!sorted) {
            ++block_.notes[sorted_rows];
            if (!sort_row()) return false;
        }
        width = last - least_ + 1;
        return !options_.precomputed || check_precomputed_row();
    }

    // One token of any kind after the label. `last` is the highest index so far in the row.
    bool read_entry(std::int64_t &last, bool first, bool &sorted) {
        const char *const begin = at_.p, *const end = token_end(begin), *const colon = std::find(begin, end, ':');
        at_.p = end;
        // With indices from 0, 2^31 - 1 would be the last column, not the number of columns.
        const std::int64_t most = std::numeric_limits<std::int32_t>::max() - options_.zero_based;
        std::int64_t index = 0;
        double value = 0.0;
        if (first && colon - begin == 3 && !std::memcmp(begin, "qid:", 4) && text::scan_number(colon + 1, end, index)) {
            ++block_.notes[qid_tokens];
            return true;
        }
        if (colon == end || !text::scan_number(begin, colon, index) || index < least_ || index > most)
            return fault("entry", begin, end);
        if (options_.precomputed && index == 0 && end - colon == 2 && colon[1] == '?')
            ++block_.notes[unknown_serials];  // LIBSVM's README: any value is valid in a row that is only predicted
        else if (!number(colon + 1, end, value))
            return fault("value", begin, end);
        if (index <= last && !options_.lenient) {
            const auto column = static_cast<std::int32_t>(index - least_);
            const bool twice = std::find(row_index_, at_.index, column) != at_.index;
            return fault(twice ? "duplicate" : "unsorted", begin, end, index, last);
        }
        sorted &= index > last;
        last = std::max(last, index);
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
                return fault("repeated", nullptr, nullptr, std::int64_t{entries[i].first} + least_);
            row_index_[i] = entries[i].first, row_value_[i] = entries[i].second;
        }
        return true;
    }

    bool check_precomputed_row() {
        const std::int64_t count = at_.index - row_index_;
        if (count == 0 || row_index_[0] != 0) return fault("no_serial");
        if (at_.index[-1] != count - 1) {
            std::int64_t expected = 0;
            while (row_index_[expected] == expected) ++expected;
            return fault("gap", nullptr, nullptr, row_index_[expected], expected);
        }
        return check_row_width(count - 1);
    }

    bool check_row_width(std::int64_t found) {
        if (block_.row_width < 0) block_.row_width = found;
        return found == block_.row_width || fault("row_width", nullptr, nullptr, found, block_.row_width);
    }

    // --- label v1 v2 ... ------------------------------------------------------------------------------------------

    bool read_dense_row(std::int64_t &columns) {
        bool comma = false;
        if (options_.numbers && !read_separator(comma, true)) return false;
        if (options_.numbers && kind(*at_.p) == line_over) return fault("no_values");
        for (;;) {
            const char *begin = at_.p;
            double value = 0.0;
            const char *end = text::fast_double(begin, value);
            if (!end || (kind(*end) == other && *end != ',')) {
                end = field_end(begin);
                if (begin == end) return fault("empty_field");
                if (!text::scan_number(begin, end, value)) return fault("field", begin, end);
            }
            if (value != 0.0) {
                *at_.index++ = static_cast<std::int32_t>(columns);
                *at_.value++ = value;
            }
            if (++columns > std::numeric_limits<std::int32_t>::max()) return fault("large_index", begin, end);
            at_.p = end;
            if (!read_separator(comma, columns == 1 && !options_.numbers)) return false;
            if (kind(*at_.p) == line_over) return check_row_width(columns);
        }
    }

    // Blanks, or a comma with optional blanks; a line must use only one of them, since "1 0,5" may have a decimal
    // comma.
    bool read_separator(bool &comma, bool first) {
        const char *begin = at_.p;
        at_.p = skip_blanks(at_.p);
        if (kind(*at_.p) == line_over) return true;
        const bool found_comma = *at_.p == ',';
        if (found_comma) {
            at_.p = skip_blanks(at_.p + 1);
            if (kind(*at_.p) == line_over) return fault("empty_field");
        }
        if (first) comma = found_comma;
        return found_comma == comma || fault("mixed_separators", begin, field_end(at_.p));
    }

    const char *const end_, *part_end_ = nullptr;
    const Options &options_;
    Block &block_;
    const std::int64_t least_;
    FastReader fast_;
    Cursor at_;
    const char *line_ = nullptr;         // the current line
    std::int32_t *row_index_ = nullptr;  // where its entries begin
    double *row_value_ = nullptr;
};

// Appends the rows of `piece`, whose lines follow those of `whole`, and its fault.
void append(Block &whole, const Block &piece) {
    const auto entries = static_cast<std::int64_t>(whole.values.size());
    whole.labels.append(piece.labels.data(), piece.labels.size());
    whole.values.append(piece.values.data(), piece.values.size());
    whole.indices.append(piece.indices.data(), piece.indices.size());
    const std::size_t rows = piece.rows().count;
    whole.indptr.reserve_more(rows);
    std::int64_t *out = whole.indptr.end();
    for (std::size_t i = 1; i <= rows; ++i) *out++ = piece.indptr.data()[i] + entries;
    whole.indptr.set_end(out);
    if (!whole.first_row && piece.first_row) whole.first_row = whole.lines + piece.first_row;
    whole.width = std::max(whole.width, piece.width);
    for (std::size_t i = 0; i < whole.notes.size(); ++i) whole.notes[i] += piece.notes[i];
    whole.fault = piece.fault;
    whole.fault.line += whole.lines;
    whole.lines += piece.lines;
}

}  // namespace
}  // namespace svmfast::svmlight

namespace svmfast {

const svmlight::Fault *Tokenizer::feed(In1<std::uint8_t> text, std::size_t begin, std::size_t end, Threads threads) {
    const auto *data = reinterpret_cast<const char *>(text.data());
    if (begin > end || end + text::padding > text.shape(0)) throw std::out_of_range("no padding after the text");
    if (begin == end) return nullptr;
    if (data[end - 1] != '\n') throw std::invalid_argument("the last line has no end");
    // For less text a thread costs more than it saves.
    constexpr std::size_t least_piece = 1 << 18;
    // The first row sets the number of values in each row, where that is constant.
    const bool unknown_width = (options_.dense || options_.precomputed) && whole_.row_width < 0;
    const std::size_t most = unknown_width ? Threads(1) : threads;
    const std::size_t pieces = std::clamp<std::size_t>((end - begin) / least_piece, 1, most);
    const char *const first = data + begin, *const last = data + end;
    std::vector<const char *> cuts{first};
    for (std::size_t i = 1; i < pieces && cuts.back() != last; ++i) {
        const char *guess = std::max(cuts.back(), first + (end - begin) / pieces * i);
        const void *line_end = std::memchr(guess, '\n', static_cast<std::size_t>(last - guess));
        cuts.push_back(static_cast<const char *>(line_end) + 1);
    }
    if (cuts.back() != last) cuts.push_back(last);
    // The first piece is parsed in place, the others are appended to it.
    rest_.resize(cuts.size() - 2);
    for (svmlight::Block &piece : rest_) {
        piece.clear();
        piece.lines = piece.width = 0;
        piece.row_width = whole_.row_width;
    }
    parallel_for(cuts.size() - 1, pieces, [&](std::size_t i, std::size_t) {
        svmlight::Parser(cuts[i], cuts[i + 1], options_, i ? rest_[i - 1] : whole_).run();
    });
    for (std::size_t i = 0; i < rest_.size() && !whole_.fault.rule; ++i) svmlight::append(whole_, rest_[i]);
    return whole_.fault.rule ? &whole_.fault : nullptr;
}

}  // namespace svmfast
