// Reads LIBSVM data text block by block, each block's lines divided among threads, and writes rows as such text.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "number_text.hpp"
#include "svmfast.hpp"
#include "threads.hpp"

namespace svmfast {

using namespace svmlight;

namespace {

constexpr std::int64_t FIRST_START = 0;

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

}  // namespace

const Fault *Tokenizer::feed(In1<std::uint8_t> text, std::size_t begin, std::size_t end, Threads threads) {
    const auto *data = reinterpret_cast<const char *>(text.data());
    if (begin > end || end + text::padding > text.shape(0)) throw std::out_of_range("no padding after the text");
    if (begin == end) return nullptr;
    if (data[end - 1] != '\n') throw std::invalid_argument("the last line has no end");
    parse_pieces(data + begin, data + end, threads);
    return whole_.fault.rule ? &whole_.fault : nullptr;
}

Block &Tokenizer::block() {
    if (whole_.indptr.size() == 0) whole_.indptr.append(&FIRST_START, 1);
    return whole_;
}

void Tokenizer::next_block() {
    whole_.labels.clear(), whole_.values.clear(), whole_.indices.clear(), whole_.indptr.clear();
    whole_.first_row = 0;
    whole_.notes = Notes{};
}

void Tokenizer::parse_pieces(const char *begin, const char *end, std::size_t threads) {
    // For less text a thread costs more than it saves.
    constexpr std::ptrdiff_t least_piece = 1 << 18;
    const std::size_t pieces = std::clamp<std::size_t>((end - begin) / least_piece, 1, threads);
    if (pieces == 1) return parse(begin, end, options_, whole_);
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
    parallel_for(cuts.size() - 1, pieces,
                 [&](std::size_t i, std::size_t) { parse(cuts[i], cuts[i + 1], options_, i ? rest_[i - 1] : whole_); });
    for (std::size_t i = 0; i < rest_.size() && !whole_.fault.rule; ++i) merge(whole_, rest_[i]);
}

Growing<char> write_svmlight_rows(In1<double> labels, In1<std::int64_t> indptr, In1<std::int32_t> indices,
                                  In1<double> values, std::size_t first, std::size_t last, std::int64_t base) {
    const std::size_t n = labels.shape(0), entries = values.shape(0);
    if (indptr.shape(0) != n + 1 || indices.shape(0) != entries || first > last || last > n)
        throw std::invalid_argument("rows are inconsistent");
    Growing<char> out;
    for (std::size_t i = first; i < last; ++i) {
        const std::int64_t begin = indptr.data()[i], end = indptr.data()[i + 1];
        if (begin < 0 || begin > end || end > static_cast<std::int64_t>(entries))
            throw std::invalid_argument("rows are inconsistent");
        out.reserve_more((static_cast<std::size_t>(end - begin) * 2 + 2) * number_room);
        char *p = std::to_chars(out.end(), out.end() + number_room, labels.data()[i]).ptr;
        for (std::int64_t k = begin; k < end; ++k) {
            *p++ = ' ';
            p = std::to_chars(p, p + number_room, indices.data()[k] + base).ptr;
            *p++ = ':';
            p = std::to_chars(p, p + number_room, values.data()[k]).ptr;
        }
        *p++ = '\n';
        out.set_end(p);
    }
    return out;
}

}  // namespace svmfast
