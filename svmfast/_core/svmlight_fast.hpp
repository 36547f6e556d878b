// The usual lines of LIBSVM data text, at the speed of memory: "label index:value index:value".
#pragma once
#include <algorithm>
#include <cstdint>

#include "simd/characters.hpp"
#include "svmlight.hpp"

namespace svmfast::svmlight {

// The position in the text, and where the next items are written. The arrays have room for everything that can follow.
struct Cursor {
    const char *p = nullptr;  // start of a line
    double *label = nullptr;
    std::int64_t *row_end = nullptr;
    std::int32_t *index = nullptr;
    double *value = nullptr;
};

// Longer parts, which are single lines, are not indexed: that could take several times their memory.
inline constexpr std::ptrdiff_t most_indexed = 1 << 24;

inline std::uint32_t lowest(std::uint64_t bits) noexcept {
    return static_cast<std::uint32_t>(__builtin_ctzll(bits | std::uint64_t{1} << 63));
}

// Powers of ten; a negative divisor is cheaper than a change of sign, and equally exact.
inline constexpr double divisor[2][9] = {{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8},
                                         {-1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8}};

// Any number that the loop below does not expect.
[[gnu::noinline]] inline bool number(const char *p, const char *end, double &value) noexcept {
    return (end - p < 19 && text::fast_double(p, value) == end) || text::scan_number(p, end, value);
}

// Reads in two steps, as simdjson does with JSON: first the positions of all blanks, line ends and colons of a part of
// the text, 64 characters at a time and without a branch on what they are; then the tokens, whose bounds are known by
// then, so that the processor works on several at once instead of searching the end of one to find the next.
class FastReader {
  public:
    FastReader(const char *text, const Options &options, std::int64_t least_index)
        : text_(text), numbers_(options.numbers), precomputed_(options.precomputed), least_(least_index) {}

    // Sets the part of the text that is read next: whole lines.
    void index(const char *begin, const char *end) {
        begin_ = begin, end_ = end;
        next_ = nullptr;
        if (end - begin > most_indexed) return;
        places_.clear();
        places_.reserve_more(static_cast<std::size_t>(end - begin) + 64);
        std::uint32_t *out = places_.end();
        for (const char *p = begin; p < end; p += 64) {
            std::uint64_t bits = characters::marks(p);
            if (end - p < 64) bits &= (std::uint64_t{1} << (end - p)) - 1;
            const auto at = static_cast<std::uint32_t>(p - begin);
            const int found = __builtin_popcountll(bits);
            // Writing surplus positions costs less than a loop with an unpredictable end.
            for (int i = 0; i < found; i += 8)
                for (int j = 0; j < 8; ++j, bits &= bits - 1) out[i + j] = at + lowest(bits);
            out += found;
        }
        // A token needs the two places after it: there are none after the last '\n', and none are needed.
        out[0] = out[1] = static_cast<std::uint32_t>(end - 1 - begin);
        next_ = places_.data();
    }

    // Reads lines from cursor.p on as long as they are usual: single blanks, ascending indices of at most eight digits,
    // finite numbers. Stops before the first other line, or at the end of the part. (The first line of
    // the text does not count as usual, because numbers are read from their end and nothing precedes it.)
    // Not inlined: its loop needs all registers.
    [[gnu::noinline]] void read(Cursor &cursor, Block &block) {
        if (!next_) return;
        while (begin_ + *next_ < cursor.p) ++next_;  // other lines have been read in the meantime
        while (cursor.p != end_ && read_row(cursor, block)) {
            ++block.lines;
            cursor.label += numbers_;
            *cursor.row_end++ = cursor.value - block.values.data();
        }
    }

  private:
    // Reads the line at cursor.p, whose places begin at next_. Returns false if it is not a usual one; only unused
    // memory has then changed.
    bool read_row(Cursor &cursor, Block &block) {
        std::int32_t *index_out = cursor.index;
        double *value_out = cursor.value;
        std::int64_t last = least_ - 1;
        const std::uint32_t *place = next_;  // the next after `mark`
        const char *mark = cursor.p - 1;
        if (mark < text_ + 7) return false;
        for (std::size_t i = 0; i < numbers_; ++i) {
            const char *const p = mark + 1;
            mark = begin_ + *place++;
            if (mark == p || (i && p[-1] != ' ') || !number(p, mark, cursor.label[i])) return false;
        }
        for (bool first = numbers_ == 0; first || *mark == ' ' || *mark == '\t'; first = false) {
            const char *const colon = begin_ + place[0], *const end = begin_ + place[1];
            if (__builtin_expect(*colon != ':', 0)) {
                if (colon != mark + 1 || first) return false;
                mark = colon, ++place;  // svm-scale ends its lines with a blank
                break;
            }
            const auto length = static_cast<std::size_t>(colon - mark) - 1;
            if (__builtin_expect(length - 1 >= 8, 0)) return false;
            const auto negative = static_cast<std::size_t>(colon[1] == '-');
            const char *const digit = colon + 1 + negative;
            const auto size = static_cast<std::size_t>(end - digit);
            const std::uint64_t whole = static_cast<unsigned char>(*digit) - std::uint64_t{'0'};
            characters::TwoNumbers numbers{0, 0, false};
            if (__builtin_expect((size - 1 <= 9) & (size == 1 || digit[1] == '.') & (whole <= 9), 1)) {
                const std::size_t decimals = size == 1 ? 0 : size - 2;
                numbers = characters::two_numbers(colon, length, end, decimals);
                const auto mantissa = static_cast<std::int64_t>(whole * text::power_of_ten[decimals] + numbers.second);
                *value_out = static_cast<double>(mantissa) / divisor[negative][decimals];
            }
            if (__builtin_expect(!numbers.valid, 0)) {
                numbers = characters::two_numbers(colon, length, colon, length);
                if (!numbers.valid || !number(colon + 1, end, *value_out)) return false;
            }
            const std::int64_t index = numbers.first;
            if (__builtin_expect(index <= last, 0)) return false;
            *index_out++ = static_cast<std::int32_t>(index - least_);
            ++value_out;
            last = index;
            mark = end, place += 2;
        }
        if (*mark == '\r') ++mark, ++place;
        if (*mark != '\n') return false;
        // The last index is the number of values; the first row, which sets it (to be above -1), is not read here.
        if (precomputed_ && (last < 0 || last != block.row_width || last + 1 != value_out - cursor.value)) return false;
        next_ = place;
        cursor.p = mark + 1;
        cursor.index = index_out, cursor.value = value_out;
        block.width = std::max(block.width, last - least_ + 1);
        return true;
    }

    const char *const text_, *begin_ = nullptr, *end_ = nullptr;
    const std::size_t numbers_;
    const bool precomputed_;
    const std::int64_t least_;
    Growing<std::uint32_t> places_;  // from begin_
    const std::uint32_t *next_ = nullptr;
};

}  // namespace svmfast::svmlight
