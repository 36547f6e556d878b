// LIBSVM's votes while some signs are open: the lowest, the highest and the current number of votes for every class.
#include <stdexcept>

#include "loops.hpp"
#include "vote.hpp"

namespace svmfast {

// (3, n, k): a class certainly wins or loses a pair, or the pair is open and counts only towards the highest number.
Out<std::int32_t> vote_counts(In2<bool> certain, In2<double> decisions, std::size_t k) {
    const std::size_t n = decisions.shape(0), p = decisions.shape(1);
    if (k < 2 || p != k * (k - 1) / 2 || certain.shape(0) != n || certain.shape(1) != p)
        throw std::invalid_argument("one value and one mark for each row and pair of classes is needed");
    std::unique_ptr<std::int32_t[]> out(new std::int32_t[3 * n * k]());
    for (std::size_t row = 0; row < n; ++row) {
        const double *value = decisions.data() + row * p;
        const bool *sure = certain.data() + row * p;
        std::int32_t *least = out.get() + row * k, *most = least + n * k, *votes = most + n * k;
        each_pair(k, [&](std::size_t i, std::size_t j) {
            const std::int32_t first = votes_for_first(*value++), certainly = *sure++, open = 1 - certainly;
            least[i] += first & certainly;
            least[j] += (1 - first) & certainly;
            most[i] += first | open;
            most[j] += (1 - first) | open;
            votes[i] += first;
            votes[j] += 1 - first;
        });
    }
    return give(std::move(out), {3, n, k});
}

}  // namespace svmfast
