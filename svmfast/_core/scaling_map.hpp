// The maps of a row's columns, by offset and factor or by svm-scale's ranges, and the extremes that ranges are made of.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "growing.hpp"
#include "scaling.hpp"

namespace svmfast {

constexpr std::size_t index_room = 12;  // a column's index and its colon

// An array of NumPy's, or of the core's own.
template <class T>
struct View {
    const T *start;
    std::size_t size;

    View(const T *first, std::size_t count) : start(first), size(count) {}
    View(const In1<T> &array) : start(array.data()), size(array.shape(0)) {}
    View(const Growing<T> &array) : start(array.data()), size(array.size()) {}
    const T *data() const { return start; }
    std::size_t shape(int) const { return size; }
};

class ScalingMap {
  public:
    ScalingMap(In1<double> first, In1<double> second, bool ranges, double lower, double upper, double least,
               double most, int digits)
        : first_(first.data(), first.data() + first.shape(0)), second_(second.data(), second.data() + second.shape(0)),
          map_{ranges, lower, upper, least, most, digits} {
        if (first.shape(0) != second.shape(0)) throw nb::value_error("two numbers for each column");
        if (digits < 0 || digits > 17) throw nb::value_error("0 to 17 digits");
        find_zeros();
    }

    // svm-scale's.
    ScalingMap(std::vector<double> least, std::vector<double> greatest, double lower, double upper)
        : first_(std::move(least)), second_(std::move(greatest)), map_{true, lower, upper, -HUGE_VAL, HUGE_VAL, 6} {
        find_zeros();
    }

    void find_zeros() {
        for (std::size_t j = 0; j < first_.size(); ++j) {
            zeros_.push_back(map_.of(0, first_[j], second_[j]));
            if (zeros_[j] != 0) moving_.push_back(static_cast<std::int32_t>(j));
        }
        read_zeros_ = zeros_;
        for (double &zero : read_zeros_) zero = map_.read_back(zero);
    }

    std::size_t columns() const { return first_.size(); }
    std::size_t moving() const { return moving_.size(); }

    // (indptr, indices, values) of the scaled rows; zeros are not stored.
    nb::object apply(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values) const {
        Growing<std::int64_t> starts;
        Growing<std::int32_t> columns;
        Growing<double> numbers;
        {
            nb::gil_scoped_release unlocked;
            const std::size_t n = rows_of(indptr, indices, values);
            starts.reserve_more(n + 1);
            std::int64_t *start = starts.end();
            *start++ = 0;
            const std::size_t stored = n ? static_cast<std::size_t>(indptr.data()[n] - indptr.data()[0]) : 0;
            columns.reserve_more(stored);
            numbers.reserve_more(stored);
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t most =
                    static_cast<std::size_t>(indptr.data()[i + 1] - indptr.data()[i]) + moving_.size();
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
        }
        return nb::make_tuple(starts.give(), columns.give(), numbers.give());
    }

    // The rows as lines of svm-scale's output, and the number of their values.
    nb::object text(In1<double> labels, In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values) const {
        Growing<char> out;
        std::size_t written = 0;
        {
            nb::gil_scoped_release unlocked;
            written = append_text(out, labels, indptr, indices, values);
        }
        return nb::make_tuple(nb::bytes(out.data(), out.size()), written);
    }

    // Appends these lines, and returns how many values they hold.
    std::size_t append_text(Growing<char> &out, View<double> labels, View<std::int64_t> indptr,
                            View<std::int32_t> indices, View<double> values) const {
        std::size_t written = 0;
        const std::size_t n = rows_of(indptr, indices, values);
        if (labels.shape(0) != n) throw nb::value_error("rows are inconsistent");
        // "index:" of every column, and "index:zero " of all moved columns one after another: they are most of the
        // text.
        Growing<char> names, zeros;
        std::vector<std::size_t> name_ends{0}, zero_ends{0};
        const std::size_t d = first_.size();
        names.reserve_more(d * index_room);
        for (std::size_t j = 0; j < d; ++j) {
            char *p = std::to_chars(names.end(), names.end() + index_room, j + 1).ptr;
            *p++ = ':';
            names.set_end(p);
            name_ends.push_back(names.size());
        }
        zeros.reserve_more(moving_.size() * (index_room + number_room));
        for (const std::int32_t column : moving_) {
            const std::size_t j = static_cast<std::size_t>(column), size = name_ends[j + 1] - name_ends[j];
            std::memcpy(zeros.end(), names.data() + name_ends[j], size);
            char *p = scaling::write_g6(zeros.end() + size, zeros_[j]);
            *p++ = ' ';
            zeros.set_end(p);
            zero_ends.push_back(zeros.size());
        }
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t stored = static_cast<std::size_t>(indptr.data()[i + 1] - indptr.data()[i]);
            out.reserve_more(zeros.size() + (stored + 1) * (index_room + number_room) + number_room);
            char *p = write_g17(out.end(), labels.data()[i]);
            *p++ = ' ';
            each(
                i, indptr, indices, values,
                [&](std::size_t from, std::size_t to) {
                    const std::size_t size = zero_ends[to] - zero_ends[from];
                    std::memcpy(p, zeros.data() + zero_ends[from], size);
                    p += size;
                    written += to - from;
                },
                [&](std::int32_t column, double z) {
                    const std::size_t j = static_cast<std::size_t>(column);
                    if (j < d) {
                        const std::size_t size = name_ends[j + 1] - name_ends[j];
                        std::memcpy(p, names.data() + name_ends[j], size);
                        p += size;
                    } else {
                        p = std::to_chars(p, p + index_room, j + 1).ptr;
                        *p++ = ':';
                    }
                    p = scaling::write_g6(p, z);
                    *p++ = ' ';
                    ++written;
                });
            *p++ = '\n';
            out.set_end(p);
        }
        return written;
    }

  private:
    static std::size_t rows_of(const View<std::int64_t> &indptr, const View<std::int32_t> &indices,
                               const View<double> &values) {
        const std::size_t n = indptr.shape(0) - 1, entries = values.shape(0);
        if (indptr.shape(0) == 0 || indices.shape(0) != entries) throw nb::value_error("rows are inconsistent");
        for (std::size_t i = 0; i <= n; ++i)
            if (indptr.data()[i] < (i ? indptr.data()[i - 1] : 0) ||
                indptr.data()[i] > static_cast<std::int64_t>(entries))
                throw nb::value_error("rows are inconsistent");
        return n;
    }

    // Visits the nonzero values of a scaled row, by ascending column: zeros(from, to) for the moved columns from, ..,
    // to - 1 of moving_ that the row does not store, take(column, z) for a value that it does.
    template <class Zeros, class Take>
    void each(std::size_t row, const View<std::int64_t> &indptr, const View<std::int32_t> &indices,
              const View<double> &values, Zeros &&zeros, Take &&take) const {
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

    std::vector<double> first_, second_, zeros_, read_zeros_;
    std::vector<std::int32_t> moving_;
    scaling::Map map_;
};

// The smallest and the largest value of each column so far, as svm-scale finds them; zeros that are not stored count.
class ColumnExtremes {
  public:
    // Adds rows of any width; a new column counts as zero in all earlier rows.
    void add(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values, std::size_t width) {
        nb::gil_scoped_release unlocked;
        add_rows(indptr, indices, values, width);
    }

    void add_rows(View<std::int64_t> indptr, View<std::int32_t> indices, View<double> values, std::size_t width) {
        const std::size_t n = indptr.shape(0) ? indptr.shape(0) - 1 : 0;
        if (indices.shape(0) != values.shape(0)) throw nb::value_error("rows are inconsistent");
        if (width > least_.size()) widen(width);
        for (std::size_t i = 0; i < n; ++i)
            for (std::int64_t at = indptr.data()[i]; at < indptr.data()[i + 1]; ++at) {
                const std::int32_t column = indices.data()[at];
                if (column < 0 || static_cast<std::size_t>(column) >= width)
                    throw nb::value_error("a column beyond the width");
                const std::size_t j = static_cast<std::size_t>(column);
                const double x = values.data()[at];
                // svm-scale's comparisons: of equal values, including 0 and -0, the later one is kept.
                greatest_[j] = greatest_[j] > x ? greatest_[j] : x;
                least_[j] = least_[j] < x ? least_[j] : x;
                ++stored_[j];
            }
        rows_ += n;
    }

    // Adds what another one gathered of later rows.
    void add_later(const ColumnExtremes &more) {
        if (more.least_.size() > least_.size()) widen(more.least_.size());
        for (std::size_t j = 0; j < more.least_.size(); ++j) {
            greatest_[j] = greatest_[j] > more.greatest_[j] ? greatest_[j] : more.greatest_[j];
            least_[j] = least_[j] < more.least_[j] ? least_[j] : more.least_[j];
            stored_[j] += more.stored_[j];
        }
        rows_ += more.rows_;
    }

    // The extremes of columns that are zero in some row include it.
    std::vector<double> least() const {
        return with_zeros(least_, [](double x) { return x < 0; });
    }
    std::vector<double> greatest() const {
        return with_zeros(greatest_, [](double x) { return x > 0; });
    }

    // (least, greatest)
    nb::object result() const {
        Growing<double> low, high;
        low.append(least().data(), least_.size());
        high.append(greatest().data(), greatest_.size());
        return nb::make_tuple(low.give(), high.give());
    }

  private:
    void widen(std::size_t width) {
        least_.resize(width, HUGE_VAL);
        greatest_.resize(width, -HUGE_VAL);
        stored_.resize(width, 0);
    }

    template <class Beyond>
    std::vector<double> with_zeros(std::vector<double> ends, Beyond beyond) const {
        for (std::size_t j = 0; j < stored_.size(); ++j)
            if (stored_[j] < rows_ && !beyond(ends[j])) ends[j] = 0.0;
        return ends;
    }

    std::vector<double> least_, greatest_;
    std::vector<std::uint64_t> stored_;
    std::uint64_t rows_ = 0;
};

}  // namespace svmfast
