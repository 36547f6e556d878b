// Entry point of the extension: each source file registers its own functions.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_native, m) {
    m.doc() = "Native loops of svmfast: typed arrays in, typed arrays out.";
}
