// An array that grows without touching unused memory, and goes to the caller without a copy.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "arrays.hpp"

namespace svmfast {

// std::vector would write zeros over memory that the tokenizer fills next, and copy on growth where realloc remaps.
template <class T>
class Growing {
  public:
    Growing() = default;
    Growing(const Growing &) = delete;
    Growing &operator=(const Growing &) = delete;
    Growing(Growing &&other) noexcept { swap(other); }
    Growing &operator=(Growing &&other) noexcept {
        swap(other);
        return *this;
    }
    ~Growing() { std::free(data_); }

    T *end() noexcept { return data_ + size_; }
    const T *data() const noexcept { return data_; }
    T *data() noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    void clear() noexcept { size_ = 0; }

    // Makes room for `extra` more items after end(); set_end() then includes them.
    void reserve_more(std::size_t extra) {
        if (size_ + extra > capacity_) resize_storage(std::max(size_ + extra, capacity_ + capacity_ / 2));
    }
    void set_end(const T *end) noexcept { size_ = static_cast<std::size_t>(end - data_); }

    void append(const T *items, std::size_t count) {
        reserve_more(count);
        std::copy_n(items, count, end());
        size_ += count;
    }

    // Gives the content away and becomes empty.
    Out<T> give() {
        if (size_ < capacity_ || !data_) resize_storage(std::max<std::size_t>(size_, 1));
        Out<T> array;
        array.data.reset(std::exchange(data_, nullptr));
        array.shape = {std::exchange(size_, 0)};
        capacity_ = 0;
        return array;
    }

  private:
    void swap(Growing &other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    void resize_storage(std::size_t capacity) {
        if (capacity > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
        void *moved = std::realloc(data_, capacity * sizeof(T));
        if (!moved) throw std::bad_alloc();
        data_ = static_cast<T *>(moved);
        capacity_ = capacity;
    }

    T *data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace svmfast
