// How the C library's heap treats memory that is freed.
#include <nanobind/nanobind.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace nb = nanobind;

namespace {

// Blocks up to `largest` bytes come from the heap, which keeps up to `kept` free bytes at its end. By default glibc
// returns such blocks to the system at once, and the system clears every page of the next one again. Other C libraries
// are left alone.
void keep_freed_memory(int largest, int kept) {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, largest);
    mallopt(M_TRIM_THRESHOLD, kept);
#else
    static_cast<void>(largest);
    static_cast<void>(kept);
#endif
}

}  // namespace

void register_heap(nanobind::module_ &m) {
    m.def("keep_freed_memory", &keep_freed_memory, nb::arg("largest"), nb::arg("kept"));
}
