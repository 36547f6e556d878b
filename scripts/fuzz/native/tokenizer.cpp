// Fuzz target for libFuzzer: the tokenizer of data text, under sanitizers. The same text whole, and cut at the end of
// a line and read by two threads, must give the same rows or the same fault. Any difference aborts.
//
// Byte 0 of an input holds options, byte 1 says how much plain text precedes it, so that every case also reaches the
// fast path and the seams of its stretches; the rest is text. scripts/fuzz/inputs.py reads them in the same way.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "svmfast.hpp"

namespace {

template <typename T>
bool same(const svmfast::Growing<T> &a, const svmfast::Growing<T> &b) {
    return a.size() == b.size() && (!a.size() || !std::memcmp(a.data(), b.data(), a.size() * sizeof(T)));
}

std::string plain_rows(std::size_t amount, const svmfast::svmlight::Options &options) {
    const std::string numbers = options.numbers == 3 ? "-0.25 7 1 " : options.numbers ? "1 " : "";
    const std::string row = numbers + (options.dense         ? "0.5 2\n"
                                       : options.precomputed ? "0:1 1:0.5\n"
                                                             : "1:0.5 22:-1.25 333:7e-3\n");
    // A few rows, or up to the seam between two stretches of 16384 characters, give or take a line.
    const std::size_t size = amount < 248 ? amount : (1 << 14) - 256 + 32 * (amount - 248);
    std::string text;
    while (text.size() < size) text += row;
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *input, std::size_t size) {
    if (size < 3) return 0;
    const unsigned flags = input[0];
    svmfast::svmlight::Options options;
    options.precomputed = (flags & 6) == 6, options.dense = (flags & 6) == 4;
    options.zero_based = flags & 1 && !(flags & 4), options.lenient = flags & 8;
    options.numbers = flags & 16 ? 0 : flags & 128 && !options.dense ? 3 : 1;
    std::string text = plain_rows(input[1], options) + std::string(input + 2, input + size);
    if (text.back() != '\n') text += '\n';

    // No byte more than is readable by contract: the sanitizer detects any other access.
    const std::size_t length = text.size(), all = length + svmfast::text::padding;
    const std::unique_ptr<std::uint8_t[]> buffer(new std::uint8_t[all]);
    std::memcpy(buffer.get(), text.data(), length);
    std::memset(buffer.get() + length, flags & 32 ? '7' : 0, svmfast::text::padding);
    const std::size_t cut = flags & 64 ? text.find('\n') + 1 : text.rfind('\n', length - 2) + 1;
    svmfast::Tokenizer one(options), two(options);
    one.feed({buffer.get(), {all}}, 0, length, 1);
    if (!two.feed({buffer.get(), {all}}, 0, cut, 2)) two.feed({buffer.get(), {all}}, cut, length, 2);
    const svmfast::svmlight::Block &a = one.block(), &b = two.block();
    const bool faults = !a.fault.rule == !b.fault.rule && a.fault.line == b.fault.line;
    if (!faults || a.width != b.width || !same(a.labels, b.labels) || !same(a.values, b.values) ||
        !same(a.indptr, b.indptr) || !same(a.indices, b.indices)) {
        std::fprintf(stderr, "the text whole and in two pieces differ\n");
        std::abort();
    }
    return 0;
}
