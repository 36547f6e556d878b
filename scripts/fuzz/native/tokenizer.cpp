// Fuzz target: the tokenizer of data text against the slow reader. Any difference aborts.
//
// Byte 0 of an input holds options, byte 1 says how much plain text precedes it, so that every case also reaches the
// fast path and the seams of its stretches; the rest is text.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "slow.hpp"
#include "svmfast.hpp"

namespace {

void different(const char *what) {
    std::fprintf(stderr, "the native tokenizer and the slow reader differ: %s\n", what);
    std::abort();
}

// Plain rows that precede an input, and their content: read slowly once, not for every input.
struct Plain {
    std::string text;
    slow::Data data;
};

const Plain &plain_rows(unsigned amount, const slow::Options &options) {
    static std::map<unsigned, Plain> kept;
    const unsigned shape = (options.dense         ? 2
                            : options.precomputed ? 3
                                                  : options.zero_based) +
                           4 * (options.numbers > 1);
    const auto [at, made] = kept.try_emplace(amount << 3 | shape);
    Plain &plain = at->second;
    if (!made || amount == 0) return plain;
    const std::string more = options.numbers > 1 ? "-0.25 7 " : "";
    const std::string row = more + (options.dense         ? "1 0.5 2\n"
                                    : options.precomputed ? "1 0:1 1:0.5\n"
                                                          : "1 1:0.5 22:-1.25 333:7e-3\n");
    // A few rows, or up to the seam between two stretches of 16384 characters, give or take a line.
    const std::size_t size = amount < 248 ? amount : (1 << 14) - 256 + 32 * (amount - 248);
    while (plain.text.size() < size) plain.text += row;
    if (!slow::read_data(plain.text, options, plain.data)) different("plain rows refused");
    return plain;
}

template <typename T>
bool starts_with(const T *&at, const std::vector<T> &expected) {
    const bool same = expected.empty() || std::memcmp(at, expected.data(), expected.size() * sizeof(T)) == 0;
    at += expected.size();
    return same;
}

// Compares the tokenizer's result for both texts with the slow reader's plain rows and the rest.
void compare(const svmfast::svmlight::Block &block, const slow::Data &plain, const slow::Data &rest) {
    const std::size_t rows = plain.indptr.size() + rest.indptr.size() - 2,
                      entries = plain.values.size() + rest.values.size();
    if (block.rows().count != rows) different("number of rows");
    if (block.labels.size() != plain.labels.size() + rest.labels.size()) different("number of labels");
    if (block.values.size() != entries || block.indices.size() != entries) different("number of entries");
    if (block.width != rest.width) different("width");
    if (rows == 0) return;
    const std::int64_t *pointer = block.indptr.data();
    const std::int32_t *index = block.indices.data();
    const double *label = block.labels.data(), *value = block.values.data();
    if (!starts_with(label, plain.labels)) different("label of a plain row");
    if (!starts_with(pointer, plain.indptr)) different("pointer of a plain row");
    if (!starts_with(index, plain.indices)) different("column of a plain row");
    if (!starts_with(value, plain.values)) different("value of a plain row");
    if (!starts_with(label, rest.labels)) different("label");
    for (std::size_t i = 1; i < rest.indptr.size(); ++i)
        if (*pointer++ != plain.indptr.back() + rest.indptr[i]) different("row pointer");
    if (!starts_with(index, rest.indices)) different("column");
    if (!starts_with(value, rest.values)) different("value");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *input, std::size_t size) {
    if (size < 3) return 0;
    const unsigned flags = input[0];
    svmfast::svmlight::Options options;
    options.zero_based = flags & 1;
    options.precomputed = (flags & 6) == 6;
    options.dense = (flags & 6) == 4;
    options.lenient = flags & 8;
    options.numbers = flags & 16 ? 0 : flags & 128 && !options.dense ? 3 : 1;
    if (options.precomputed) options.zero_based = false;
    const slow::Options slowly{options.zero_based, options.precomputed, options.dense, options.lenient,
                               options.numbers};
    const Plain &plain = plain_rows(options.numbers ? input[1] : 0, slowly);
    std::string text(reinterpret_cast<const char *>(input + 2), size - 2);
    if (text.back() != '\n') text += '\n';

    // No byte more than is readable by contract: the sanitizer detects any other access.
    const std::size_t length = plain.text.size() + text.size();
    const std::unique_ptr<char[]> buffer(new char[length + svmfast::text::padding]);
    std::copy(text.begin(), text.end(), std::copy(plain.text.begin(), plain.text.end(), buffer.get()));
    std::memset(buffer.get() + length, flags & 32 ? '7' : 0, svmfast::text::padding);
    const svmfast::In1<std::uint8_t> all(reinterpret_cast<const std::uint8_t *>(buffer.get()),
                                         {length + svmfast::text::padding});
    const auto *const line_end = static_cast<const char *>(std::memchr(buffer.get(), '\n', length));
    const std::size_t cut = flags & 64 ? static_cast<std::size_t>(line_end - buffer.get()) + 1 : length;
    svmfast::Tokenizer tokenizer(options);
    if (!tokenizer.feed(all, 0, cut, 1)) tokenizer.feed(all, cut, length, 1);
    const svmfast::svmlight::Block &block = tokenizer.block();

    slow::Data rest;
    rest.width = plain.data.width, rest.lines = plain.data.lines, rest.row_width = plain.data.row_width;
    if (slow::read_data(text, slowly, rest)) {
        if (block.fault.rule) different("refused by the tokenizer alone");
    } else {
        if (!block.fault.rule) different("refused by the slow reader alone");
        if (block.fault.line != rest.lines) different("line of the fault");
    }
    compare(block, plain.data, rest);
    return 0;
}
