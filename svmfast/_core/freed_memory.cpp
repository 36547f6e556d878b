// What becomes of freed memory, in the whole process.
#include <cstdlib>  // defines __GLIBC__

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "svmfast.hpp"

namespace svmfast {

void keep_freed_memory() {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc allows
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

}  // namespace svmfast
