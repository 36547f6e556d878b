// The plain lines of LIBSVM data text, at the speed of memory: "label index:value index:value".
#pragma once
#include <cstdint>
#include <memory>

namespace svmfast::svmlight {

// The position in the text, and where the next items are written. The arrays have room for everything that can follow.
struct Cursor {
    const char *p = nullptr;  // start of a line
    double *label = nullptr;
    std::int64_t *row_end = nullptr;
    std::int32_t *index = nullptr;
    double *value = nullptr;
    std::int64_t lines = 0;
    std::int64_t width = 0;  // highest column + 1
};

// Reads in two steps, as simdjson does with JSON: first the positions of all blanks, line ends and colons of a stretch
// of text, 64 characters at a time and without a branch on what they are; then the tokens, whose bounds are known by
// then, so that the processor works on several at once instead of searching the end of one to find the next.
class PlainReader {
  public:
    PlainReader(const char *begin, std::int64_t least_index)
        : begin_(begin), end_(begin), indexed_(begin), base_(begin), least_(least_index),
          place_(new std::uint32_t[room]) {}

    // The end of the text that may be read, which is just after a line end.
    void set_end(const char *end) noexcept { end_ = end; }

    // Reads lines from cursor.p on as long as they are plain: labelled, single blanks, ascending indices of at most
    // eight digits, finite numbers. Stops before the first other line, or at the end. (The first line of the text does
    // not count as plain, because numbers are read from their end and nothing precedes it.) Row ends are counted from
    // `first_value`.
    void read(Cursor &cursor, const double *first_value);

  private:
    static constexpr std::ptrdiff_t stretch = 1 << 14;  // characters indexed at a time: their places stay in the cache
    static constexpr std::size_t room = stretch + 64;   // and some left over, and some written ahead of the count

    void prefetch_places();
    void index_stretch();
    bool read_row(Cursor &cursor);

    const char *const begin_;
    const char *end_;
    const char *indexed_;  // places up to here are known
    const char *base_;     // places count from here
    const std::int64_t least_;
    std::unique_ptr<std::uint32_t[]> place_;
    std::size_t next_ = 0, count_ = 0, last_safe_ = 0;
};

}  // namespace svmfast::svmlight
