// Reads LIBSVM data text block by block, each block's lines divided among threads.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "svmfast.hpp"
#include "threads.hpp"

namespace svmfast {

using namespace svmlight;

namespace {

constexpr std::int64_t FIRST_START = 0;

// Appends the rows of `piece`, whose lines follow those of `whole`, and its fault.
void merge(Block &whole, const Block &piece) {
    const auto entries = static_cast<std::int64_t>(whole.values.size());
    whole.labels.append(piece.labels.data(), piece.labels.size());
    whole.values.append(piece.values.data(), piece.values.size());
    whole.indices.append(piece.indices.data(), piece.indices.size());
    whole.indptr.reserve_more(piece.rows());
    std::int64_t *out = whole.indptr.end();
    for (std::size_t i = 1; i <= piece.rows(); ++i) *out++ = piece.indptr.data()[i] + entries;
    whole.indptr.set_end(out);
    if (!whole.first_row && piece.first_row) whole.first_row = whole.lines + piece.first_row;
    whole.width = std::max(whole.width, piece.width);
    for (std::size_t i = 0; i < whole.notes.size(); ++i) whole.notes[i] += piece.notes[i];
    whole.fault = piece.fault;
    whole.fault.line += whole.lines;
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

void Tokenizer::parse_pieces(const char *begin, const char *end, std::size_t threads) {
    // For less text a thread costs more than it saves.
    constexpr std::ptrdiff_t least_piece = 1 << 18;
    // The first row sets the number of values in each row, where that is constant.
    const bool unknown_width = (options_.dense || options_.precomputed) && whole_.row_width < 0;
    const std::size_t most = unknown_width ? 1 : threads;
    const std::size_t pieces = std::clamp<std::size_t>((end - begin) / least_piece, 1, most);
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
        piece.lines = piece.width = 0;
        piece.row_width = whole_.row_width;
    }
    parallel_for(cuts.size() - 1, pieces,
                 [&](std::size_t i, std::size_t) { parse(cuts[i], cuts[i + 1], options_, i ? rest_[i - 1] : whole_); });
    for (std::size_t i = 0; i < rest_.size() && !whole_.fault.rule; ++i) merge(whole_, rest_[i]);
}

}  // namespace svmfast
