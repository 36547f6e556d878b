// Maps the columns of rows, by offset and factor or by svm-scale's ranges, and finds the extremes that ranges are made
// of. Rounding is exact: it gives the number that svm-predict reads from svm-scale's output, without the text.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "loops.hpp"

namespace svmfast {
namespace {

// z > 0 rounded as printf does to `digits` significant digits, the exact binary value to the nearest decimal, ties to
// even, and read back. False if that needs a higher power of ten than exact doubles have.
bool round_decimal(double z, int digits, double &out) {
    constexpr int most_digits = 15, most_power = 22;
    const double *const power_of_ten = text::exact_power_of_ten;
    if (digits > most_digits) return false;
    int exponent;
    std::frexp(z, &exponent);
    int power = digits - 1 - static_cast<int>(std::floor((exponent - 1) * 0.30102999566398120));
    if (power < 0 || power > most_power) return false;
    double scaled = z * power_of_ten[power];
    if (scaled >= power_of_ten[digits]) {
        if (--power < 0) return false;
        scaled = z * power_of_ten[power];
    }
    double figures = std::nearbyint(scaled);
    // Halfway between two integers in double precision: the rounding error of the product decides.
    if (std::fabs(scaled - figures) == 0.5) {
        const double rest = std::fma(z, power_of_ten[power], -scaled), below = std::floor(scaled);
        if (rest > 0) figures = below + 1;
        if (rest < 0) figures = below;
    }
    out = figures / power_of_ten[power];  // both exact, so the quotient is the double nearest to the decimal
    return true;
}

// strtod of printf("%.*g"); z itself for 0 digits.
inline double rounded(double z, int digits) {
    if (digits == 0 || z == 0 || !std::isfinite(z)) return z;
    double back;
    if (round_decimal(std::fabs(z), digits, back)) return std::copysign(back, z);
    char word[text::number_room];
    const char *const end = std::to_chars(word, std::end(word), z, std::chars_format::scientific, digits - 1).ptr;
    // The largest doubles can round to a decimal that is out of range.
    return text::scan_number(word, end, back) ? back : std::copysign(HUGE_VAL, z);
}

}  // namespace

Out<double> round_digits(In1<double> numbers, int digits) {
    const std::size_t n = numbers.shape(0);
    std::unique_ptr<double[]> out(new double[n]);
    std::transform(numbers.data(), numbers.data() + n, out.get(), [&](double z) { return rounded(z, digits); });
    return give(std::move(out), {n});
}

ScalingMap::ScalingMap(In1<double> first, In1<double> second, bool ranges, double lower, double upper, double least,
                       double most, int digits)
    : first_(first.data(), first.data() + first.shape(0)), second_(second.data(), second.data() + second.shape(0)),
      ranges_(ranges), lower_(lower), upper_(upper), least_(least), most_(most), digits_(digits) {
    if (first.shape(0) != second.shape(0)) throw std::invalid_argument("two numbers for each column");
    if (digits < 0 || digits > 17) throw std::invalid_argument("0 to 17 digits");
    for (std::size_t j = 0; j < first_.size(); ++j) {
        zeros_.push_back(rounded(map(0, j), digits));
        if (zeros_[j] != 0) moving_.push_back(static_cast<std::int32_t>(j));
    }
}

ScaledRows ScalingMap::apply(const SparseRows &rows) const {
    const std::size_t n = rows.count;
    std::unique_ptr<std::int64_t[]> starts(new std::int64_t[n + 1]{});
    Growing<std::int32_t> columns;
    Growing<double> numbers;
    columns.reserve_more(rows.entries());
    numbers.reserve_more(rows.entries());
    for (std::size_t i = 0; i < n; ++i) {
        columns.reserve_more(rows.entries(i) + moving_.size());
        numbers.reserve_more(rows.entries(i) + moving_.size());
        std::int32_t *column = columns.end();
        double *number = numbers.end();
        auto moving = moving_.begin();
        const auto zeros_before = [&](std::int64_t j) {
            for (; moving != moving_.end() && *moving < j; ++moving) {
                *column++ = *moving;
                *number++ = zeros_[static_cast<std::size_t>(*moving)];
            }
        };
        for (std::int64_t at = rows.indptr[i]; at < rows.indptr[i + 1]; ++at) {
            const std::int32_t j = rows.indices[at];
            zeros_before(j);
            if (moving != moving_.end() && *moving == j) ++moving;
            const double z = scaled(i, j, rows.values[at]);
            if (z == 0) continue;
            *column++ = j;
            *number++ = z;
        }
        zeros_before(std::numeric_limits<std::int64_t>::max());
        columns.set_end(column);
        numbers.set_end(number);
        starts[i + 1] = static_cast<std::int64_t>(numbers.size());
    }
    return {give(std::move(starts), {n + 1}), columns.give(), numbers.give()};
}

double ScalingMap::map(double x, std::size_t column) const {
    const double first = first_[column], second = second_[column];
    double z;
    // The order of svm-scale's operations: another order could round to a different sixth digit.
    if (!ranges_)
        z = (x - first) * second;
    else if (first == second)
        return 0;
    else if (x == first)
        z = lower_;
    else if (x == second)
        z = upper_;
    else
        z = lower_ + (upper_ - lower_) * (x - first) / (second - first);
    if (z < least_) z = least_;
    if (z > most_) z = most_;
    return z;
}

double ScalingMap::scaled(std::size_t row, std::int32_t column, double x) const {
    const std::size_t j = static_cast<std::size_t>(column);
    // svm-scale drops columns that its file does not name; an offset and a factor leave them unchanged.
    if (j >= first_.size()) return ranges_ ? 0 : x;
    const double z = map(x, j);
    // Rounding up could still overflow.
    if (!std::isfinite(z) || (digits_ && std::fabs(z) > 1e307))
        throw std::overflow_error("row " + std::to_string(row) + " column " + std::to_string(column));
    return rounded(z, digits_);
}

void ColumnExtremes::add(const SparseRows &rows, std::size_t width) {
    if (width > least_.size()) {
        least_.resize(width, HUGE_VAL);
        greatest_.resize(width, -HUGE_VAL);
        stored_.resize(width, 0);
    }
    for (std::int64_t at = rows.indptr[0]; at < rows.indptr[rows.count]; ++at) {
        const auto j = static_cast<std::size_t>(rows.indices[at]);
        const double x = rows.values[at];
        // svm-scale's comparisons: of equal values, including 0 and -0, the later one is kept.
        greatest_[j] = greatest_[j] > x ? greatest_[j] : x;
        least_[j] = least_[j] < x ? least_[j] : x;
        ++stored_[j];
    }
    rows_ += rows.count;
}

std::tuple<Out<double>, Out<double>> ColumnExtremes::result() const {
    const std::size_t n = least_.size();
    std::unique_ptr<double[]> low(new double[n]), high(new double[n]);
    for (std::size_t j = 0; j < n; ++j) {
        const bool has_zeros = stored_[j] < rows_;
        low[j] = has_zeros && !(least_[j] < 0) ? 0.0 : least_[j];
        high[j] = has_zeros && !(greatest_[j] > 0) ? 0.0 : greatest_[j];
    }
    return {give(std::move(low), {n}), give(std::move(high), {n})};
}

}  // namespace svmfast
