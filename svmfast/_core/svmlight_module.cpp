// The Python bindings of the tokenizer and the writer of LIBSVM data text.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <vector>

#include "arrays.hpp"
#include "svmlight.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

using namespace svmlight;

constexpr std::size_t shown_token = 256,
                      shown_line = 1 << 16;  // limits on the text of a faulty file in a message, in bytes

nb::bytes cut(const char *begin, const char *end, std::size_t most) {
    return nb::bytes(begin, std::min(static_cast<std::size_t>(end - begin), most));
}

// Appends the rows of `piece`, whose lines follow those of `whole`, and its fault.
void merge(Block &whole, const Block &piece) {
    if (piece.first_row && whole.row_width >= 0 && piece.row_width != whole.row_width) {
        whole.fault = Fault{};
        whole.fault.rule = "row_width";
        whole.fault.line = whole.lines + piece.first_row;
        whole.fault.found = piece.row_width, whole.fault.wanted = whole.row_width;
        whole.lines = whole.fault.line;
        return;
    }
    const auto rows = piece.labels.size(), entries = whole.values.size();
    whole.labels.append(piece.labels.data(), rows);
    whole.values.append(piece.values.data(), piece.values.size());
    whole.indices.append(piece.indices.data(), piece.indices.size());
    whole.indptr.reserve_more(rows);
    std::int64_t *out = whole.indptr.end();
    for (std::size_t i = 1; i <= rows; ++i) *out++ = piece.indptr.data()[i] + static_cast<std::int64_t>(entries);
    whole.indptr.set_end(out);
    if (!whole.first_row && piece.first_row) whole.first_row = whole.lines + piece.first_row;
    whole.width = std::max(whole.width, piece.width);
    whole.row_width = std::max(whole.row_width, piece.row_width);
    whole.notes += piece.notes;
    if (piece.fault.rule) {
        whole.fault = piece.fault;
        whole.fault.line += whole.lines;
    }
    whole.lines += piece.lines;
}

// Lines are fed block by block; rows can be taken between blocks.
class Tokenizer {
  public:
    Tokenizer(bool zero_based, bool precomputed, bool dense, bool lenient, bool labelled)
        : options_{zero_based, precomputed, dense, lenient, labelled} {}

    // Parses text[begin, end), whole lines; about `to_come` more bytes will follow before take(). Returns None, or the
    // first fault as (rule, why, line, text of the line, token or None, found, wanted).
    nb::object feed(In1<std::uint8_t> text, std::size_t begin, std::size_t end, Threads threads, std::size_t to_come) {
        const auto *data = reinterpret_cast<const char *>(text.data());
        if (begin > end || end + text::padding > text.shape(0)) throw nb::index_error("no padding after the text");
        if (begin == end) return nb::none();
        if (data[end - 1] != '\n') throw nb::value_error("the last line has no end");
        {
            nb::gil_scoped_release unlocked;
            parse_pieces(data + begin, data + end, threads, to_come);
        }
        const Fault &fault = whole_.fault;
        if (!fault.rule) return nb::none();
        nb::object token = nb::none();
        if (fault.begin) token = cut(fault.begin, fault.end, shown_token);
        const char *line_end = fault.line_begin;
        if (line_end)
            while (*line_end != '\n') ++line_end;
        return nb::make_tuple(fault.rule, fault.why, fault.line, cut(fault.line_begin, line_end, shown_line), token,
                              fault.found, fault.wanted);
    }

    // The rows since the last call: (labels, indptr, indices, values, width, line of the first row, notes).
    nb::object take() {
        if (whole_.indptr.size() == 0) {
            const std::int64_t zero = 0;
            whole_.indptr.append(&zero, 1);
        }
        const Notes n = whole_.notes;
        nb::object notes = nb::make_tuple(n.comment_lines, n.line_comments, n.qid, n.blank_lines, n.sorted_rows,
                                          n.unknown_serials, n.blank_rows);
        nb::object rows = nb::make_tuple(whole_.labels.give(), whole_.indptr.give(), whole_.indices.give(),
                                         whole_.values.give(), whole_.width, whole_.first_row, notes);
        whole_.first_row = 0;
        whole_.notes = Notes{};
        return rows;
    }

    std::size_t rows() const { return whole_.labels.size(); }

  private:
    void parse_pieces(const char *begin, const char *end, std::size_t threads, std::size_t to_come) {
        // For less text a thread costs more than it saves.
        constexpr std::ptrdiff_t least_piece = 1 << 18;
        const std::size_t pieces = std::clamp<std::size_t>((end - begin) / least_piece, 1, threads);
        if (pieces == 1) return parse(begin, end, options_, whole_, to_come);
        std::vector<const char *> cuts{begin};
        for (std::size_t i = 1; i < pieces && cuts.back() != end; ++i) {
            const char *guess = std::max(cuts.back(), begin + (end - begin) / pieces * i);
            const void *line_end = std::memchr(guess, '\n', static_cast<std::size_t>(end - guess));
            cuts.push_back(static_cast<const char *>(line_end) + 1);
        }
        if (cuts.back() != end) cuts.push_back(end);
        // The first piece is parsed in place, the others are appended to it.
        rest_.resize(cuts.size() - 2);
        for (Block &piece : rest_) {
            piece.clear();
            piece.row_width = whole_.row_width;
        }
        parallel_for(cuts.size() - 1, pieces, [&](std::size_t i, std::size_t) {
            parse(cuts[i], cuts[i + 1], options_, i ? rest_[i - 1] : whole_, 0);
        });
        for (std::size_t i = 0; i < rest_.size() && !whole_.fault.rule; ++i) merge(whole_, rest_[i]);
    }

    Options options_;
    Block whole_;
    std::vector<Block> rest_;
};

// Rows [first, last) as text, "label index:value ...\n"; columns are written as column + base.
nb::bytes write_svmlight_rows(In1<double> labels, In1<std::int64_t> indptr, In1<std::int32_t> indices,
                              In1<double> values, std::size_t first, std::size_t last, std::int64_t base) {
    const std::size_t n = labels.shape(0), entries = values.shape(0);
    if (indptr.shape(0) != n + 1 || indices.shape(0) != entries || first > last || last > n)
        throw nb::value_error("rows are inconsistent");
    Growing<char> out;
    {
        nb::gil_scoped_release unlocked;
        for (std::size_t i = first; i < last; ++i) {
            const std::int64_t begin = indptr.data()[i], end = indptr.data()[i + 1];
            if (begin < 0 || begin > end || end > static_cast<std::int64_t>(entries))
                throw nb::value_error("rows are inconsistent");
            out.reserve_more((static_cast<std::size_t>(end - begin) * 2 + 2) * text::number_room);
            char *p = text::write_double(out.end(), labels.data()[i]);
            for (std::int64_t k = begin; k < end; ++k) {
                *p++ = ' ';
                p = text::write_int64(p, indices.data()[k] + base);
                *p++ = ':';
                p = text::write_double(p, values.data()[k]);
            }
            *p++ = '\n';
            out.set_end(p);
        }
    }
    return nb::bytes(out.data(), out.size());
}

}  // namespace

}  // namespace svmfast

void register_svmlight(nanobind::module_ &m) {
    using namespace svmfast;
    using namespace nb::literals;
    nb::class_<Tokenizer>(m, "SvmlightTokenizer")
        .def(nb::init<bool, bool, bool, bool, bool>(), "zero_based"_a, "precomputed"_a, "dense"_a, "lenient"_a,
             "labelled"_a)
        .def("feed", &Tokenizer::feed, "text"_a.noconvert(), "begin"_a, "end"_a, "threads"_a, "to_come"_a,
             nb::sig("def feed(self, text: object, begin: int, end: int, threads: int, to_come: int) -> "
                     "tuple[str, str, int, bytes, bytes | None, int, int] | None"))
        .def("take", &Tokenizer::take,
             nb::sig("def take(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], "
                     "NDArray[numpy.float64], int, int, tuple[int, int, int, int, int, int]]"))
        .def_prop_ro("rows", &Tokenizer::rows);
    m.attr("TEXT_PADDING") = text::padding;
    m.def("write_svmlight_rows", &write_svmlight_rows, "labels"_a.noconvert(), "indptr"_a.noconvert(),
          "indices"_a.noconvert(), "values"_a.noconvert(), "first"_a, "last"_a, "base"_a);
}
