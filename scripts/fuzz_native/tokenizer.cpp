// Fuzz target: the tokenizer of data text against the slow reader. Any difference aborts.
//
// Byte 0 of an input are options, byte 1 says how much plain text goes before it, so that every case also meets the
// fast path and the seams of its stretches; the rest is text.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "slow.hpp"
#include "svmlight.hpp"

namespace {

void different(const char *what) {
    std::fprintf(stderr, "the native tokenizer and the slow reader differ: %s\n", what);
    std::abort();
}

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

std::string plain_text(unsigned amount, bool dense, bool precomputed) {
    if (amount == 0) return "";
    const std::string row = dense ? "1 0.5 2\n" : precomputed ? "1 0:1 1:0.5\n" : "1 1:0.5 22:-1.25 333:7e-3\n";
    std::string text;
    // A few rows, or up to the seam between two stretches of 16384 characters, give or take a line.
    const std::size_t size = amount < 248 ? amount : (1 << 14) - 256 + 32 * (amount - 248);
    while (text.size() < size) text += row;
    return text;
}

void compare(const svmfast::svmlight::Block &block, const slow::Data &data) {
    if (block.labels.size() != data.labels.size()) different("number of rows");
    if (!data.labels.empty() && block.indptr.size() != data.labels.size() + 1) different("row pointers");
    if (block.width != data.width) different("width");
    std::size_t k = 0;
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
        if (!same(block.labels.data()[i], data.labels[i])) different("label");
        for (const auto &[column, value] : data.rows[i]) {
            if (k >= block.values.size() || block.indices.data()[k] != column) different("column");
            if (!same(block.values.data()[k], value)) different("value");
            ++k;
        }
        if (block.indptr.data()[i + 1] != static_cast<std::int64_t>(k)) different("row pointer");
    }
    if (k != block.values.size() || k != block.indices.size()) different("number of entries");
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
    options.labelled = !(flags & 16);
    if (options.precomputed) options.zero_based = false;
    std::string text = plain_text(options.labelled ? input[1] : 0, options.dense, options.precomputed);
    text.append(reinterpret_cast<const char *>(input + 2), size - 2);
    if (text.back() != '\n') text += '\n';

    // No byte more than is promised: the sanitizer sees every other.
    const std::size_t room = text.size() + svmfast::text::padding;
    const std::unique_ptr<char[]> buffer(new char[room]);
    std::memcpy(buffer.get(), text.data(), text.size());
    std::memset(buffer.get() + text.size(), flags & 32 ? '7' : 0, svmfast::text::padding);
    svmfast::svmlight::Block block;
    const char *const begin = buffer.get(), *const end = begin + text.size();
    const auto cut = flags & 64 ? static_cast<const char *>(std::memchr(begin, '\n', text.size())) + 1 : end;
    svmfast::svmlight::parse(begin, cut, options, block, static_cast<std::size_t>(end - cut));
    if (cut != end && !block.fault.rule) svmfast::svmlight::parse(cut, end, options, block, 0);

    try {
        const slow::Data data = slow::read_data(
            text, {options.zero_based, options.precomputed, options.dense, options.lenient, options.labelled});
        if (block.fault.rule) different("refused by the tokenizer alone");
        compare(block, data);
    } catch (const slow::Refused &refused) {
        if (!block.fault.rule) different("refused by the slow reader alone");
        if (block.fault.line != refused.line) different("line of the fault");
    }
    return 0;
}
