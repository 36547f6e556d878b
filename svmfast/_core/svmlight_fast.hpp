// The usual lines of LIBSVM data text, at the speed of memory: "label index:value index:value".
#pragma once
#include <cstdint>

#include "svmlight.hpp"

namespace svmfast::svmlight {

// The position in the text, and where the next items are written. The arrays have room for everything that can follow.
struct Cursor {
    const char *p = nullptr;  // start of a line
    double *label = nullptr;
    std::int64_t *row_end = nullptr;
    std::int32_t *index = nullptr;
    double *value = nullptr;
};

// Reads in two steps, as simdjson does with JSON: first the positions of all blanks, line ends and colons of a part of
// the text, 64 characters at a time and without a branch on what they are; then the tokens, whose bounds are known by
// then, so that the processor works on several at once instead of searching the end of one to find the next.
class FastReader {
  public:
    FastReader(const char *text, std::size_t numbers, std::int64_t least_index)
        : text_(text), numbers_(numbers), least_(least_index) {}

    // Sets the part of the text that is read next: whole lines.
    void index(const char *begin, const char *end);

    // Reads lines from cursor.p on as long as they are usual: labelled, single blanks, ascending indices of at most
    // eight digits, finite numbers. Stops before the first other line, or at the end of the part. (The first line of
    // the text does not count as usual, because numbers are read from their end and nothing precedes it.)
    void read(Cursor &cursor, Block &block);

  private:
    bool read_row(Cursor &cursor, Block &block);

    const char *const text_, *begin_ = nullptr, *end_ = nullptr;
    const std::size_t numbers_;
    const std::int64_t least_;
    Growing<std::uint32_t> places_;  // from begin_
    const std::uint32_t *next_ = nullptr;
};

}  // namespace svmfast::svmlight
