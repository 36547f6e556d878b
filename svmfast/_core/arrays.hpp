// Arrays at the library's boundary: views of the caller's memory in, arrays that own their memory out. And arrays that
// are aligned, or grow without touching unused memory and go to the caller without a copy.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace svmfast {

// A contiguous array of the caller, in C order. Objects that keep a view need the caller to keep the memory.
template <class T, std::size_t Dimensions>
class View {
  public:
    View() = default;
    View(const T *data, std::array<std::size_t, Dimensions> shape) : data_(data), shape_(shape) {}
    View(const std::vector<T> &all) : View(all.data(), {all.size()}) { static_assert(Dimensions == 1); }
    const T *data() const { return data_; }
    std::size_t shape(std::size_t i) const { return shape_[i]; }
    std::size_t size() const {
        std::size_t all = 1;
        for (const std::size_t n : shape_) all *= n;
        return all;
    }
    const T &operator()(std::size_t i, std::size_t j) const { return data_[i * shape_[1] + j]; }

  private:
    const T *data_ = nullptr;
    std::array<std::size_t, Dimensions> shape_{};
};

template <class T>
using In1 = View<T, 1>;
template <class T>
using In2 = View<T, 2>;
template <class T>
using In3 = View<T, 3>;

// Row i is the entries indptr[i] .. indptr[i + 1] of indices (ascending columns) and values.
struct Csr {
    const std::int64_t *indptr;
    const std::int32_t *indices;
    const double *values;

    double squared_norm(std::size_t row) const {
        double sum = 0;
        for (std::int64_t k = indptr[row]; k < indptr[row + 1]; ++k) sum += values[k] * values[k];
        return sum;
    }
    std::size_t entries(std::size_t row) const { return static_cast<std::size_t>(indptr[row + 1] - indptr[row]); }
};

// The rows of a call. Objects that keep them need the caller to keep the arrays.
struct SparseRows : Csr {
    std::size_t count;
    // Of all rows.
    std::size_t entries() const { return static_cast<std::size_t>(indptr[count] - indptr[0]); }
    using Csr::entries;
};

// An array that goes to the caller.
template <class T>
struct Out {
    using Free = void (*)(void *) noexcept;
    std::unique_ptr<T, Free> data{nullptr, [](void *p) noexcept { std::free(p); }};
    std::vector<std::size_t> shape;

    template <std::size_t Dimensions>
    operator View<T, Dimensions>() const {
        std::array<std::size_t, Dimensions> sizes;
        std::copy_n(shape.begin(), Dimensions, sizes.begin());
        return {data.get(), sizes};
    }
};

template <class T>
Out<T> give(std::unique_ptr<T[]> data, std::initializer_list<std::size_t> shape) {
    return {{data.release(), [](void *p) noexcept { delete[] static_cast<T *>(p); }}, shape};
}

// Vectors whose storage starts on a cache line.
template <class T>
struct CacheLineAllocator {
    using value_type = T;
    CacheLineAllocator() = default;
    template <class U>
    CacheLineAllocator(const CacheLineAllocator<U> &) {}
    T *allocate(std::size_t n) { return static_cast<T *>(::operator new(n * sizeof(T), std::align_val_t{64})); }
    void deallocate(T *p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
    template <class U>
    bool operator==(const CacheLineAllocator<U> &) const {
        return true;
    }
    template <class U>
    bool operator!=(const CacheLineAllocator<U> &) const {
        return false;
    }
};

template <class T>
using Aligned = std::vector<T, CacheLineAllocator<T>>;

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
