// The kernels of LIBSVM, by its numbers.
#pragma once

namespace svmfast {

enum class KernelKind : int { linear = 0, polynomial = 1, rbf = 2, sigmoid = 3 };

}  // namespace svmfast
