#include "svmlight_plain.hpp"

#include <algorithm>
#include <cstring>

#include "simd/characters.hpp"
#include "text.hpp"

namespace svmfast::svmlight {
namespace {

using characters::marks;
using characters::two_numbers;
using characters::TwoNumbers;
using text::every_byte;

// Not every x86-64 has the instruction; used once per 64 characters, this is as fast.
inline unsigned count_bits(std::uint64_t x) noexcept {
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    return static_cast<unsigned>((((x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * every_byte) >> 56);
}

inline std::uint32_t lowest(std::uint64_t bits) noexcept {
    return static_cast<std::uint32_t>(__builtin_ctzll(bits | std::uint64_t{1} << 63));
}

// Powers of ten; a negative divisor is cheaper than a change of sign, and equally exact.
constexpr double divisor[2][9] = {{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8},
                                  {-1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8}};

// Any number that the loop below does not expect.
[[gnu::noinline]] bool number(const char *p, const char *end, double &value) noexcept {
    return text::fast_double(p, value) == end || text::scan_double(p, end, value) == text::Scan::ok;
}

}  // namespace

// Ensures that three places from next_ on are known, unless the text ends before: a token needs the two after it.
void PlainReader::prefetch_places() {
    while (count_ - next_ < 3 && indexed_ != end_) {
        const std::size_t left = count_ - next_;
        const char *const base = left ? base_ + place_[next_] : indexed_;
        const auto shift = static_cast<std::uint32_t>(base - base_);
        for (std::size_t i = 0; i < left; ++i) place_[i] = place_[next_ + i] - shift;
        base_ = base;
        next_ = 0;
        count_ = left;
        index_stretch();
    }
    last_safe_ = count_ - 3;
    if (indexed_ == end_) {  // there are none after the last '\n', and none are needed
        place_[count_] = place_[count_ + 1] = static_cast<std::uint32_t>(end_ - 1 - base_);
        last_safe_ = count_ - 1;
    }
}

void PlainReader::index_stretch() {
    std::uint32_t *out = place_.get() + count_;
    const char *const stop = indexed_ + std::min(stretch, end_ - indexed_);
    while (indexed_ < stop) {
        std::uint64_t bits = marks(indexed_);
        const std::ptrdiff_t rest = stop - indexed_;
        if (rest < 64) bits &= (std::uint64_t{1} << rest) - 1;
        const auto at = static_cast<std::uint32_t>(indexed_ - base_);
        const unsigned found = count_bits(bits);
        // Writing surplus positions costs less than a loop with an unpredictable end.
        for (unsigned i = 0; i < 8; ++i, bits &= bits - 1) out[i] = at + lowest(bits);
        if (found > 8)
            for (unsigned i = 8; i < 16; ++i, bits &= bits - 1) out[i] = at + lowest(bits);
        if (found > 16)
            for (unsigned i = 16; i < 24; ++i, bits &= bits - 1) out[i] = at + lowest(bits);
        if (found > 24)
            for (unsigned i = 24; i < 32; ++i, bits &= bits - 1) out[i] = at + lowest(bits);
        for (unsigned i = 32; i < found; ++i, bits &= bits - 1) out[i] = at + lowest(bits);
        out += found;
        indexed_ += std::min<std::ptrdiff_t>(64, rest);
    }
    count_ = static_cast<std::size_t>(out - place_.get());
}

// Reads the line at cursor.p, whose places begin at next_. Returns false if it is not plain; only unused memory has
// then changed.
bool PlainReader::read_row(Cursor &cursor) {
    prefetch_places();
    std::int32_t *index_out = cursor.index;
    double *value_out = cursor.value;
    std::int64_t last = least_ - 1;
    const char *base = base_;
    const std::uint32_t *place = place_.get() + next_, *last_safe = place_.get() + last_safe_;
    const char *mark = base + *place;
    if (mark == cursor.p || cursor.p < begin_ + 8 || !number(cursor.p, mark, *cursor.label)) return false;
    while (*mark == ' ' || *mark == '\t') {
        if (__builtin_expect(place > last_safe, 0)) {
            next_ = static_cast<std::size_t>(place - place_.get());
            prefetch_places();
            base = base_, place = place_.get() + next_, last_safe = place_.get() + last_safe_;
            mark = base + *place;
        }
        const char *const colon = base + place[1], *const end = base + place[2];
        if (__builtin_expect(*colon != ':', 0)) {
            if (colon != mark + 1) return false;
            mark = colon, ++place;  // svm-scale ends its lines with a blank
            break;
        }
        const auto length = static_cast<std::size_t>(colon - mark) - 1;
        if (__builtin_expect(length - 1 >= 8, 0)) return false;
        const auto negative = static_cast<std::size_t>(colon[1] == '-');
        const char *const digit = colon + 1 + negative;
        const auto size = static_cast<std::size_t>(end - digit);
        const std::uint64_t whole = static_cast<unsigned char>(*digit) - std::uint64_t{'0'};
        TwoNumbers numbers{0, 0, false};
        if (__builtin_expect((size - 1 <= 9) & (size == 1 || digit[1] == '.') & (whole <= 9), 1)) {
            const std::size_t decimals = size == 1 ? 0 : size - 2;
            numbers = two_numbers(colon, length, end, decimals);
            const auto mantissa = static_cast<std::int64_t>(whole * text::power_of_ten[decimals] + numbers.second);
            *value_out = static_cast<double>(mantissa) / divisor[negative][decimals];
        }
        if (__builtin_expect(!numbers.valid, 0)) {
            numbers = two_numbers(colon, length, colon, length);
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
    next_ = static_cast<std::size_t>(place + 1 - place_.get());
    if (next_ > count_) next_ = count_, ++indexed_;  // "\r\n" across two stretches
    cursor.p = mark + 1;
    cursor.index = index_out, cursor.value = value_out;
    cursor.width = std::max(cursor.width, last - least_ + 1);
    return true;
}

void PlainReader::read(Cursor &cursor, const double *first_value) {
    // Other lines have been read in the meantime, so the known places are useless.
    if (cursor.p > indexed_) next_ = count_ = 0, indexed_ = base_ = cursor.p;
    while (next_ < count_ && base_ + place_[next_] < cursor.p) ++next_;
    while (cursor.p != end_ && read_row(cursor)) {
        ++cursor.lines;
        ++cursor.label;
        *cursor.row_end++ = cursor.value - first_value;
    }
}

}  // namespace svmfast::svmlight
