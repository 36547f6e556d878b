// Maps the columns of rows, by offset and factor or by svm-scale's ranges, and finds the extremes that ranges are made
// of.
#include "scaling.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "growing.hpp"
#include "loops.hpp"

namespace svmfast {
namespace {

constexpr std::size_t index_room = 12;  // a column's index and its colon

std::size_t rows_of(const In1<std::int64_t> &indptr, const In1<std::int32_t> &indices, const In1<double> &values) {
    const std::size_t n = indptr.shape(0) - 1, entries = values.shape(0);
    if (indptr.shape(0) == 0 || indices.shape(0) != entries) throw std::invalid_argument("rows are inconsistent");
    for (std::size_t i = 0; i <= n; ++i)
        if (indptr.data()[i] < (i ? indptr.data()[i - 1] : 0) || indptr.data()[i] > static_cast<std::int64_t>(entries))
            throw std::invalid_argument("rows are inconsistent");
    return n;
}

}  // namespace

ScalingMap::ScalingMap(In1<double> first, In1<double> second, bool ranges, double lower, double upper, double least,
                       double most, int digits)
    : first_(first.data(), first.data() + first.shape(0)), second_(second.data(), second.data() + second.shape(0)),
      map_{ranges, lower, upper, least, most, digits} {
    if (first.shape(0) != second.shape(0)) throw std::invalid_argument("two numbers for each column");
    if (digits < 0 || digits > 17) throw std::invalid_argument("0 to 17 digits");
    for (std::size_t j = 0; j < first_.size(); ++j) {
        zeros_.push_back(map_.of(0, first_[j], second_[j]));
        if (zeros_[j] != 0) moving_.push_back(static_cast<std::int32_t>(j));
    }
    read_zeros_ = zeros_;
    for (double &zero : read_zeros_) zero = map_.read_back(zero);
}

ScaledRows ScalingMap::apply(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values) const {
    Growing<std::int64_t> starts;
    Growing<std::int32_t> columns;
    Growing<double> numbers;
    const std::size_t n = rows_of(indptr, indices, values);
    starts.reserve_more(n + 1);
    std::int64_t *start = starts.end();
    *start++ = 0;
    const std::size_t stored = n ? static_cast<std::size_t>(indptr.data()[n] - indptr.data()[0]) : 0;
    columns.reserve_more(stored);
    numbers.reserve_more(stored);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t most = static_cast<std::size_t>(indptr.data()[i + 1] - indptr.data()[i]) + moving_.size();
        columns.reserve_more(most);
        numbers.reserve_more(most);
        std::int32_t *column = columns.end();
        double *number = numbers.end();
        each(
            i, indptr, indices, values,
            [&](std::size_t from, std::size_t to) {
                for (; from < to; ++from) {
                    *column++ = moving_[from];
                    *number++ = read_zeros_[static_cast<std::size_t>(moving_[from])];
                }
            },
            [&](std::int32_t j, double z) {
                *column++ = j;
                *number++ = j < static_cast<std::int32_t>(first_.size()) ? map_.read_back(z) : z;
            });
        columns.set_end(column);
        numbers.set_end(number);
        *start++ = static_cast<std::int64_t>(numbers.size());
    }
    starts.set_end(start);
    return {starts.give(), columns.give(), numbers.give()};
}

std::tuple<Growing<char>, std::size_t> ScalingMap::text(In1<double> labels, In1<std::int64_t> indptr,
                                                        In1<std::int32_t> indices, In1<double> values) const {
    Growing<char> out;
    std::size_t written = 0;
    const std::size_t n = rows_of(indptr, indices, values);
    if (labels.shape(0) != n) throw std::invalid_argument("rows are inconsistent");
    std::call_once(zeros_written_, [this] { write_zeros(); });
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t stored = static_cast<std::size_t>(indptr.data()[i + 1] - indptr.data()[i]);
        out.reserve_more(zero_text_.size() + (stored + 1) * (index_room + number_room) + number_room);
        char *p = write_g17(out.end(), labels.data()[i]);
        *p++ = ' ';
        each(
            i, indptr, indices, values,
            [&](std::size_t from, std::size_t to) {
                const std::size_t size = zero_ends_[to] - zero_ends_[from];
                std::memcpy(p, zero_text_.data() + zero_ends_[from], size);
                p += size;
                written += to - from;
            },
            [&](std::int32_t column, double z) {
                p = write_entry(p, column, z);
                ++written;
            });
        *p++ = '\n';
        out.set_end(p);
    }
    return {std::move(out), written};
}

char *ScalingMap::write_entry(char *p, std::int32_t column, double z) {
    p = std::to_chars(p, p + index_room, static_cast<std::int64_t>(column) + 1).ptr;
    *p++ = ':';
    p = scaling::write_g6(p, z);
    *p++ = ' ';
    return p;
}

void ScalingMap::write_zeros() const {
    zero_ends_.push_back(0);
    for (const std::int32_t column : moving_) {
        zero_text_.reserve_more(index_room + number_room);
        zero_text_.set_end(write_entry(zero_text_.end(), column, zeros_[static_cast<std::size_t>(column)]));
        zero_ends_.push_back(zero_text_.size());
    }
}

template <class Zeros, class Take>
void ScalingMap::each(std::size_t row, const In1<std::int64_t> &indptr, const In1<std::int32_t> &indices,
                      const In1<double> &values, Zeros &&zeros, Take &&take) const {
    const std::int32_t known = static_cast<std::int32_t>(first_.size());
    const std::size_t all = moving_.size();
    const std::int64_t end = indptr.data()[row + 1];
    std::size_t moved = 0;
    for (std::int64_t at = indptr.data()[row]; at < end; ++at) {
        const std::int32_t j = indices.data()[at];
        const std::size_t from = moved;
        while (moved < all && moving_[moved] < j) ++moved;
        if (moved > from) zeros(from, moved);
        if (moved < all && moving_[moved] == j) ++moved;
        const double x = values.data()[at];
        if (j >= known) {
            // svm-scale drops columns that its file does not name; an offset and a factor leave them unchanged.
            if (!map_.ranges && x != 0) take(j, x);
            continue;
        }
        const std::size_t c = static_cast<std::size_t>(j);
        const double z = map_.of(x, first_[c], second_[c]);
        // Rounding up could still overflow.
        if (!std::isfinite(z) || (map_.digits && std::fabs(z) > 1e307))
            throw std::overflow_error("row " + std::to_string(row) + " column " + std::to_string(j));
        if (z != 0) take(j, z);
    }
    if (moved < all) zeros(moved, all);
}

void ColumnExtremes::add(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values, std::size_t width) {
    const std::size_t n = indptr.shape(0) ? indptr.shape(0) - 1 : 0;
    if (indices.shape(0) != values.shape(0)) throw std::invalid_argument("rows are inconsistent");
    if (width > least_.size()) {
        least_.resize(width, HUGE_VAL);
        greatest_.resize(width, -HUGE_VAL);
        stored_.resize(width, 0);
    }
    for (std::size_t i = 0; i < n; ++i)
        for (std::int64_t at = indptr.data()[i]; at < indptr.data()[i + 1]; ++at) {
            const std::int32_t column = indices.data()[at];
            if (column < 0 || static_cast<std::size_t>(column) >= width)
                throw std::invalid_argument("a column beyond the width");
            const std::size_t j = static_cast<std::size_t>(column);
            const double x = values.data()[at];
            // svm-scale's comparisons: of equal values, including 0 and -0, the later one is kept.
            greatest_[j] = greatest_[j] > x ? greatest_[j] : x;
            least_[j] = least_[j] < x ? least_[j] : x;
            ++stored_[j];
        }
    rows_ += n;
}

std::tuple<Out<double>, Out<double>> ColumnExtremes::result() const {
    Growing<double> low, high;
    low.append(least_.data(), least_.size());
    high.append(greatest_.data(), greatest_.size());
    for (std::size_t j = 0; j < stored_.size(); ++j) {
        if (stored_[j] == rows_) continue;
        if (!(low.data()[j] < 0)) low.data()[j] = 0.0;
        if (!(high.data()[j] > 0)) high.data()[j] = 0.0;
    }
    return {low.give(), high.give()};
}

}  // namespace svmfast
