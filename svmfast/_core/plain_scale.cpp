// svm-scale of the text of a whole file, without NumPy.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "growing.hpp"
#include "scaling_map.hpp"
#include "svmlight.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

// Files with more columns are left to the reader that counts memory.
constexpr std::int64_t most_plain_width = 1 << 20;

// svm-scale's -y.
struct Target {
    double lower, upper, least, greatest;

    double of(double label) const {
        if (label == least) return lower;
        if (label == greatest) return upper;
        return lower + (upper - lower) * (label - least) / (greatest - least);
    }
};

// The rows of a stretch of lines.
struct Stretch {
    svmlight::Block rows;
    ColumnExtremes extremes;
    Growing<char> text;
    std::size_t written = 0;
};

// A range file as svm-scale writes it, without limits of the labels. False where it is anything else.
bool read_ranges(const nb::bytes &file, double &lower, double &upper, std::vector<double> &least,
                 std::vector<double> &greatest) {
    const char *p = file.c_str(), *const end = p + file.size();
    auto number = [&](double &out, char behind) {
        const char *const stop = p == end ? nullptr : read_double(p, end, out);
        if (stop == nullptr || *stop != behind) return false;
        p = stop + 1;
        return true;
    };
    if (file.size() < 2 || p[0] != 'x' || p[1] != '\n') return false;
    p += 2;
    if (!number(lower, ' ') || !number(upper, '\n') || !(lower < upper)) return false;
    while (p != end) {
        std::int32_t index = 0;
        const auto read = std::from_chars(p, end, index);
        if (read.ec != std::errc() || *read.ptr != ' ' || static_cast<std::size_t>(index) <= least.size() ||
            index > most_plain_width)
            return false;
        p = read.ptr + 1;
        least.resize(static_cast<std::size_t>(index), 0.0);
        greatest.resize(static_cast<std::size_t>(index), 0.0);
        if (!number(least.back(), ' ') || !number(greatest.back(), '\n') || greatest.back() < least.back())
            return false;
    }
    return true;
}

void append_number(Growing<char> &out, double x, char behind) {
    out.reserve_more(number_room);
    char *p = write_g17(out.end(), x);
    *p++ = behind;
    out.set_end(p);
}

nb::bytes ranges_text(const std::vector<double> &least, const std::vector<double> &greatest, double lower, double upper,
                      const Target *target) {
    Growing<char> out;
    if (target != nullptr) {
        out.append("y\n", 2);
        append_number(out, target->lower, ' '), append_number(out, target->upper, '\n');
        append_number(out, target->least, ' '), append_number(out, target->greatest, '\n');
    }
    out.append("x\n", 2);
    append_number(out, lower, ' '), append_number(out, upper, '\n');
    for (std::size_t j = 0; j < least.size(); ++j) {
        if (least[j] == greatest[j]) continue;
        append_number(out, static_cast<double>(j + 1), ' ');
        append_number(out, least[j], ' '), append_number(out, greatest[j], '\n');
    }
    return nb::bytes(out.data(), out.size());
}

// Cuts [begin, end), whole lines, into about `count` stretches.
std::vector<const char *> cuts(const char *begin, const char *end, std::size_t count) {
    std::vector<const char *> found{begin};
    for (std::size_t i = 1; i < count && found.back() != end; ++i) {
        const char *guess = std::max(
            found.back(), begin + (end - begin) / static_cast<std::ptrdiff_t>(count) * static_cast<std::ptrdiff_t>(i));
        const void *const line_end = std::memchr(guess, '\n', static_cast<std::size_t>(end - guess));
        found.push_back(static_cast<const char *>(line_end) + 1);
    }
    if (found.back() != end) found.push_back(end);
    return found;
}

// svm-scale of a whole file, text[0, size), without NumPy: (pieces of text, the range file, values before, values
// after). None where a line is not plain, or anything else needs a message: then the reader of all files says it.
nb::object scale_text(In1<std::uint8_t> text, std::size_t size, double lower, double upper,
                      std::optional<std::pair<double, double>> labels, std::optional<nb::bytes> ranges,
                      Threads threads) {
    const auto *const begin = reinterpret_cast<const char *>(text.data()), *const end = begin + size;
    if (size == 0 || size + text::padding > text.shape(0)) throw nb::index_error("no padding after the text");
    if (end[-1] != '\n') throw nb::value_error("the last line has no end");
    std::vector<double> least, greatest;
    if (ranges && !read_ranges(*ranges, lower, upper, least, greatest)) return nb::none();
    std::vector<Stretch> stretches;
    Target target{};
    std::size_t values = 0, written = 0;
    bool plain = true;
    {
        nb::gil_scoped_release unlocked;
        constexpr std::size_t least_stretch = 1 << 18;
        const auto cut = cuts(begin, end, std::clamp<std::size_t>(size / least_stretch, 1, threads));
        stretches.resize(cut.size() - 1);
        std::atomic<bool> odd{std::memchr(begin, 0, size) != nullptr};
        parallel_for(stretches.size(), threads, [&](std::size_t i, std::size_t) {
            Stretch &one = stretches[i];
            svmlight::Block &rows = one.rows;
            svmlight::parse(cut[i], cut[i + 1], svmlight::Options{}, rows, 0);
            const svmlight::Notes &n = rows.notes;
            if (rows.fault.rule || rows.labels.size() == 0 || rows.width > most_plain_width || n.comment_lines ||
                n.line_comments || n.qid || n.blank_lines || n.sorted_rows || n.unknown_serials || n.blank_rows) {
                odd = true;
                return;
            }
            one.extremes.add_rows(rows.indptr, rows.indices, rows.values, static_cast<std::size_t>(rows.width));
        });
        if (odd) return nb::none();
        ColumnExtremes all;
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (const Stretch &one : stretches) {
            all.add_later(one.extremes);
            values += one.rows.values.size();
            for (std::size_t i = 0; labels && i < one.rows.labels.size(); ++i) {
                const double label = one.rows.labels.data()[i];
                low = std::min(low, label), high = std::max(high, label);
                if (label == 0 && std::signbit(label)) plain = false;  // which zero is least, the reader decides
            }
        }
        if (labels) target = {labels->first, labels->second, low, high};
        if (!ranges) {
            least = all.least(), greatest = all.greatest();
        } else {
            const std::vector<double> from = all.least(), to = all.greatest();
            for (std::size_t j = 0; j < from.size(); ++j)
                if (from[j] != to[j] && (j >= least.size() || least[j] == greatest[j])) plain = false;
        }
        if (plain) {
            const ScalingMap map(least, greatest, lower, upper);
            try {
                parallel_for(stretches.size(), threads, [&](std::size_t i, std::size_t) {
                    svmlight::Block &rows = stretches[i].rows;
                    for (std::size_t k = 0; labels && k < rows.labels.size(); ++k) {
                        double &label = rows.labels.data()[k];
                        label = target.of(label);
                        if (!std::isfinite(label)) throw std::overflow_error("label");
                    }
                    stretches[i].written =
                        map.append_text(stretches[i].text, rows.labels, rows.indptr, rows.indices, rows.values);
                });
            } catch (const std::overflow_error &) {
                plain = false;
            }
        }
    }
    if (!plain) return nb::none();
    nb::list pieces;
    for (const Stretch &one : stretches) {
        pieces.append(nb::bytes(one.text.data(), one.text.size()));
        written += one.written;
    }
    return nb::make_tuple(pieces, ranges_text(least, greatest, lower, upper, labels ? &target : nullptr), values,
                          written);
}

}  // namespace
}  // namespace svmfast

void register_plain_scale(nanobind::module_ &m) {
    namespace nb = nanobind;
    m.def("scale_text", &svmfast::scale_text, nb::arg("text").noconvert(), nb::arg("size"), nb::arg("lower"),
          nb::arg("upper"), nb::arg("labels").none(), nb::arg("ranges").none(), nb::arg("threads"),
          nb::sig("def scale_text(text: object, size: int, lower: float, upper: float, labels: tuple[float, float] | "
                  "None, ranges: bytes | None, threads: int) -> tuple[list[bytes], bytes, int, int] | None"));
}
