// The cell of each row, and the Laplacian kernel that routed models may have.
#include "routed.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "loops.hpp"
#include "math.hpp"
#include "router.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

constexpr std::size_t BLOCK = 512;  // rows a thread takes at a time

template <class Body>
void in_blocks(std::size_t n, Threads threads, Body &&body) {
    parallel_for(divide_up(n, BLOCK), threads,
                 [&](std::size_t b, std::size_t) { body(b * BLOCK, std::min(n, (b + 1) * BLOCK)); });
}

}  // namespace

Out<std::int32_t> CenterTree::route(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                                    Threads threads) const {
    const std::size_t n = indptr.shape(0) - 1;
    std::unique_ptr<std::int32_t[]> out(new std::int32_t[n]);
    const Csr rows = csr(indptr, indices, values);
    in_blocks(n, threads.for_work(double(router_.cells()) * double(rows.indptr[n])),
              [&](std::size_t first, std::size_t last) { router_.route(rows, first, last, out.get()); });
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

namespace {

L1Panels l1_panels(const double *x, std::size_t n, std::size_t columns, double gamma) {
    L1Panels p;
    p.n = n;
    p.columns = columns;
    p.lanes = NV * vector_lanes();
    p.width = 0;
    p.gamma = gamma;
    p.values.assign(p.panels() * columns * p.lanes, 0.0);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t f = 0; f < columns; ++f)
            p.values[(i / p.lanes * columns + f) * p.lanes + i % p.lanes] = x[i * columns + f];
    return p;
}

// Below this share of nonzero values vectors are stored as lists (see cells.cpp).
constexpr double LISTED_SHARE = 0.1;

}  // namespace

LaplacianSums::LaplacianSums(double gamma, In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                             In2<double> sv_coef, In1<double> rho) {
    p.n = indptr.shape(0) - 1;
    p.gamma = gamma;
    p.lanes = NV * vector_lanes();
    if (sv_coef.shape(1) != p.n || sv_coef.shape(0) != rho.shape(0))
        throw std::invalid_argument("coefficients and vectors are inconsistent");
    pack(indptr.data(), indices.data(), values.data());
    p.width = sv_coef.shape(0);
    p.rho.assign(rho.data(), rho.data() + p.width);
    p.coef.assign(p.panels() * p.width * p.lanes, 0.0);
    for (std::size_t w = 0; w < p.width; ++w)
        for (std::size_t i = 0; i < p.n; ++i)
            p.coef[(i / p.lanes * p.width + w) * p.lanes + i % p.lanes] = sv_coef(w, i);
}

Out<double> LaplacianSums::decide(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                                  Threads threads) const {
    const std::size_t n = indptr.shape(0) - 1;
    std::unique_ptr<double[]> out(new double[n * p.width]);
    const Csr rows = csr(indptr, indices, values);
    in_blocks(n, threads, [&](std::size_t first, std::size_t last) {
        SVMFAST_DISPATCH(laplacian_decisions, p, rows, first, last, out.get());
    });
    return give(std::move(out), {n, p.width});
}

void LaplacianSums::pack(const std::int64_t *indptr, const std::int32_t *indices, const double *values) {
    const std::int64_t begin = indptr[0], end = indptr[p.n];
    p.features = ActiveColumns::of(indices + begin, end - begin);
    p.columns = p.features.size();
    p.listed =
        static_cast<double>(end - begin) < LISTED_SHARE * static_cast<double>(p.n) * static_cast<double>(p.columns);
    if (p.listed)
        p.list_start.assign(1, 0);
    else
        p.values.assign(p.panels() * p.columns * p.lanes, 0.0);
    for (std::size_t i = 0; i < p.n; ++i) {
        for (std::int64_t k = indptr[i]; k < indptr[i + 1]; ++k) {
            const std::int32_t f = p.features.position(indices[k]);
            if (p.listed)
                p.list_column.push_back(f), p.list_value.push_back(values[k]);
            else
                p.values[(i / p.lanes * p.columns + f) * p.lanes + i % p.lanes] = values[k];
        }
        if (p.listed) p.list_start.push_back(p.list_column.size());
    }
}

Out<double> laplacian_matrix(In2<double> x, In2<double> z, double gamma, Threads threads) {
    const std::size_t m = x.shape(0), n = z.shape(0);
    if (x.shape(1) != z.shape(1)) throw std::invalid_argument("vectors of different length");
    std::unique_ptr<double[]> out(new double[m * n]);
    const L1Panels p = l1_panels(z.data(), n, z.shape(1), gamma);
    in_blocks(m, threads, [&](std::size_t first, std::size_t last) {
        SVMFAST_DISPATCH(laplacian_values, p, x.data(), first, last, out.get());
    });
    return give(std::move(out), {m, n});
}

}  // namespace svmfast
