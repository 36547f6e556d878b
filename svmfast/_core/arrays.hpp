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

}  // namespace svmfast
