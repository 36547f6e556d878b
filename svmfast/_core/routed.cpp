// The cell of each row.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "loops.hpp"
#include "math.hpp"
#include "router.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

constexpr std::size_t BLOCK = 512;  // rows a thread takes at a time

}  // namespace

Out<std::int32_t> CenterTree::route(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                                    Threads threads) const {
    const std::size_t n = indptr.shape(0) - 1;
    std::unique_ptr<std::int32_t[]> out(new std::int32_t[n]);
    const Csr rows = csr(indptr, indices, values);
    const Threads working = threads.for_work(double(router_.cells()) * double(rows.indptr[n]));
    parallel_for(divide_up(n, BLOCK), working, [&](std::size_t b, std::size_t) {
        router_.route(rows, b * BLOCK, std::min(n, (b + 1) * BLOCK), out.get());
    });
    return give(std::move(out), {n});
}

Router CenterTree::built(const In1<std::int64_t> &children, const In2<double> &centers) {
    const std::size_t n = children.shape(0);
    if (n == 0 || centers.shape(0) != n - 1) throw std::invalid_argument("one center for each node but the root");
    std::vector<std::int32_t> columns(centers.shape(1));
    std::iota(columns.begin(), columns.end(), 0);
    return Router(ActiveColumns(std::move(columns)), children.data(), n, centers.data());
}

Out<std::int64_t> count_columns(In1<std::int64_t> start, In1<std::int32_t> indices) {
    const std::size_t groups = start.shape(0) - 1;
    std::unique_ptr<std::int64_t[]> out(new std::int64_t[groups]);
    for (std::size_t g = 0; g < groups; ++g) {
        const std::int64_t first = start.data()[g], last = start.data()[g + 1];
        if (first < 0 || last < first || static_cast<std::size_t>(last) > indices.shape(0))
            throw std::invalid_argument("entries that do not exist");
        out[g] = ActiveColumns::distinct(indices.data() + first, last - first).size();
    }
    return give(std::move(out), {groups});
}

}  // namespace svmfast
