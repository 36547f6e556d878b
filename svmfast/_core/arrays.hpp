// Arrays at the library's boundary: views of the caller's memory in, arrays that own their memory out.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <vector>

#include "csr.hpp"

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

}  // namespace svmfast
