// Vectors whose storage starts on a cache line.
#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace svmfast {

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

}  // namespace svmfast
