// The array types at the boundary between Python and the core, and how an array that the core owns is returned.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include "csr.hpp"

namespace svmfast {
namespace nb = nanobind;

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::c_contig>;

inline Csr csr(const In1<std::int64_t> &indptr, const In1<std::int32_t> &indices, const In1<double> &values) {
    return {indptr.data(), indices.data(), values.data()};
}

// Gives a heap buffer of `shape` to NumPy, which frees it.
template <class T>
Out<T> give(std::unique_ptr<T[]> data, std::initializer_list<std::size_t> shape) {
    T *raw = data.get();
    nb::capsule owner(raw, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    data.release();
    return Out<T>(raw, shape.size(), shape.begin(), owner);
}

}  // namespace svmfast
