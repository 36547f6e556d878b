// An array that grows without touching unused memory, and goes to the caller without a copy.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "arrays.hpp"

namespace svmfast {

// std::vector would write zeros over memory that the tokenizer fills next, and copy on growth where realloc remaps.
// Not used again after a move, but for assignment and destruction.
template <class T>
class Growing {
  public:
    T *end() noexcept { return data() + size_; }
    const T *data() const noexcept { return array_.data.get(); }
    T *data() noexcept { return array_.data.get(); }
    std::size_t size() const noexcept { return size_; }
    void clear() noexcept { size_ = 0; }

    // Makes room for `extra` more items after end(), which is returned; set_end() then includes them.
    T *reserve_more(std::size_t extra) {
        if (size_ + extra > capacity_) resize_storage(std::max(size_ + extra, capacity_ + capacity_ / 2));
        return end();
    }
    void set_end(const T *end) noexcept { size_ = static_cast<std::size_t>(end - data()); }

    void append(const T *items, std::size_t count) {
        reserve_more(count);
        std::copy_n(items, count, end());
        size_ += count;
    }

    // Gives the content away and becomes empty.
    Out<T> give() {
        if (size_ < capacity_ || !capacity_) resize_storage(std::max<std::size_t>(size_, 1));
        array_.shape = {std::exchange(size_, 0)};
        capacity_ = 0;
        return std::exchange(array_, Out<T>());
    }

  private:
    void resize_storage(std::size_t capacity) {
        if (capacity > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
        void *moved = std::realloc(data(), capacity * sizeof(T));
        if (!moved) throw std::bad_alloc();
        array_.data.release();
        array_.data.reset(static_cast<T *>(moved));
        capacity_ = capacity;
    }

    Out<T> array_;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace svmfast
