// Maps the columns of rows, by offset and factor or by svm-scale's ranges, and finds the extremes that ranges are made
// of.
#include "scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "growing.hpp"
#include "loops.hpp"

namespace svmfast {
namespace {

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
        zeros_.push_back(map_.read_back(map_.of(0, first_[j], second_[j])));
        if (zeros_[j] != 0) moving_.push_back(static_cast<std::int32_t>(j));
    }
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
        auto moving = moving_.begin();
        const auto zeros_before = [&](std::int64_t j) {
            for (; moving != moving_.end() && *moving < j; ++moving) {
                *column++ = *moving;
                *number++ = zeros_[static_cast<std::size_t>(*moving)];
            }
        };
        for (std::int64_t at = indptr.data()[i]; at < indptr.data()[i + 1]; ++at) {
            const std::int32_t j = indices.data()[at];
            zeros_before(j);
            if (moving != moving_.end() && *moving == j) ++moving;
            const double z = scaled(i, j, values.data()[at]);
            if (z == 0) continue;
            *column++ = j;
            *number++ = z;
        }
        zeros_before(std::numeric_limits<std::int64_t>::max());
        columns.set_end(column);
        numbers.set_end(number);
        *start++ = static_cast<std::int64_t>(numbers.size());
    }
    starts.set_end(start);
    return {starts.give(), columns.give(), numbers.give()};
}

double ScalingMap::scaled(std::size_t row, std::int32_t column, double x) const {
    const std::size_t j = static_cast<std::size_t>(column);
    // svm-scale drops columns that its file does not name; an offset and a factor leave them unchanged.
    if (j >= first_.size()) return map_.ranges ? 0 : x;
    const double z = map_.of(x, first_[j], second_[j]);
    // Rounding up could still overflow.
    if (!std::isfinite(z) || (map_.digits && std::fabs(z) > 1e307))
        throw std::overflow_error("row " + std::to_string(row) + " column " + std::to_string(column));
    return map_.read_back(z);
}

Out<double> round_digits(In1<double> numbers, int digits) {
    std::unique_ptr<double[]> rounded(new double[numbers.size()]);
    std::transform(numbers.data(), numbers.data() + numbers.size(), rounded.get(),
                   [&](double z) { return scaling::rounded(z, digits); });
    return give(std::move(rounded), {numbers.size()});
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
