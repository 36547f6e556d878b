// Small kernel expansions, one for each cell: packs a model and groups rows for prediction.
#include "cells.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loops.hpp"
#include "vote.hpp"

namespace svmfast {
namespace {

// Number of rows grouped by cell at a time, and bytes of them, which stay in the second-level cache.
constexpr std::size_t MOST_ROWS = 4096, FEWEST_ROWS = 256, BLOCK_BYTES = 512 * 1024;
// Below this share of nonzero values landmarks are stored as lists: dense storage, which keeps two copies, would take
// more than ten times the memory without being faster.
constexpr double LISTED_SHARE = 0.1;
// Multiply-adds that adding the lanes of a sum takes as long as.
constexpr std::size_t LANES_COST = 10;

void pack_landmarks(const Cells &e, Cell &cell, std::size_t at, const Csr &landmarks) {
    const std::size_t m = cell.m;
    const std::int64_t *start = landmarks.indptr + at;
    cell.listed = static_cast<double>(start[m] - start[0]) < LISTED_SHARE * static_cast<double>(e.columns * m);
    CellNumbers<double> &exact = cell.exact;
    CellNumbers<float> &single = cell.single;
    exact.landmarks = {cell.listed ? 0 : e.columns, m};
    single.landmarks = {cell.listed ? 0 : e.columns, m};
    cell.max_norm = 0;
    double largest = 0;
    // Calls put(k, value in double precision, in single precision) for the entry k of a landmark.
    const auto scaled = [&](std::int64_t k, auto &&put) {
        const double value = 2 * cell.gamma * LOG2_E * landmarks.values[k], narrow = value / e.factor;
        largest = std::max(largest, std::fabs(narrow));
        put(value, static_cast<float>(narrow));
    };
    if (cell.listed) {
        cell.features = ActiveColumns::of(landmarks.indices + start[0], start[m] - start[0]);
        cell.list_landmark.resize(start[m] - start[0]);
        exact.list_value.resize(start[m] - start[0]);
        single.list_value.resize(start[m] - start[0]);
        cell.list_start =
            cell.features.each_by_column(landmarks, at, m, [&](std::size_t to, std::size_t j, std::int64_t k) {
                cell.list_landmark[to] = static_cast<std::int32_t>(j);
                scaled(k, [&](double value, float narrow) {
                    exact.list_value[to] = value, single.list_value[to] = narrow;
                });
            });
    }
    for (std::size_t j = 0; j < m; ++j) {
        for (std::int64_t k = start[j]; k < start[j + 1] && !cell.listed; ++k)
            scaled(k, [&](double value, float narrow) {
                exact.landmarks.value(landmarks.indices[k], j) = value;
                single.landmarks.value(landmarks.indices[k], j) = narrow;
            });
        const double norm = landmarks.squared_norm(at + j);
        exact.landmarks.start[j] = -cell.gamma * LOG2_E * norm;
        single.landmarks.start[j] = static_cast<float>(exact.landmarks.start[j]);
        cell.max_norm = std::max(cell.max_norm, std::sqrt(norm));
    }
    cell.in_range = largest <= CELL_RANGE;
}

// Of these among `all` functions: coef(p, j) is that of function p for landmark first + j. How a function is summed
// does not depend on which others are constant.
template <class Number, class Coefficient>
CellPart<Number> packed_part(std::size_t first, std::size_t depth, const std::vector<std::size_t> &functions,
                             std::size_t all, Coefficient &&coef) {
    const std::size_t unit = Panels<Number>::vector(), width = round_up(depth, unit), last = all % unit;
    // A function by itself takes a share of the vectors, and adds the lanes (measured).
    const std::size_t apart = last * (width / unit + LANES_COST) < depth ? last : 0;
    const std::size_t whole = std::lower_bound(functions.begin(), functions.end(), all - apart) - functions.begin();
    CellPart<Number> to{first, depth, {depth, whole}, whole, functions.size() - whole, width, {}};
    to.rest_coef.assign(to.rest * width, 0);
    for (std::size_t a = 0; a < functions.size(); ++a)
        for (std::size_t j = 0; j < depth; ++j)
            (a < whole ? to.functions.value(j, a) : to.rest_coef[(a - whole) * width + j]) =
                static_cast<Number>(coef(functions[a], j));
    return to;
}

template <class Number>
void pack_constants(Aligned<Number> &to, const std::vector<std::size_t> &functions, const Cell &cell, double scale) {
    to.assign(round_up(functions.size(), Panels<Number>::vector()), static_cast<Number>(-HUGE_VAL));
    for (std::size_t a = 0; a < functions.size(); ++a) to[a] = static_cast<Number>(-cell.rho[functions[a]] / scale);
}

// coef: [function][landmark or pseudo landmark], or in LIBSVM's arrangement, with the landmarks of each class, [class -
// 1] [landmark].
void pack_functions(const Cells &e, Cell &cell, const std::vector<double> &coef, const std::int64_t *class_sizes) {
    // The landmarks of a part have functions of their own: each class those of its pairs, or all of them all.
    const std::size_t width = cell.m + cell.pseudo, parts = e.grouped ? e.classes : 1;
    const std::size_t own = e.grouped ? e.classes - 1 : e.functions;
    std::vector<std::size_t> start{0}, every(own), varying, all(e.functions);
    std::iota(every.begin(), every.end(), 0);
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> l1(parts * own);
    double largest = 0;
    for (const double r : cell.rho) largest = std::max(largest, std::fabs(r));
    for (std::size_t g = 0; g < parts; ++g) {
        start.push_back(e.grouped ? start[g] + class_sizes[g] : width);
        for (std::size_t q = 0; q < own; ++q)
            for (std::size_t j = start[g]; j < start[g + 1]; ++j) {
                const double size = std::fabs(coef[q * width + j]);
                l1[g * own + q] += size;
                largest = std::max(largest, size);
            }
    }
    const double scale = power_of_two(largest);
    if (e.grouped)
        each_pair(parts,
                  [&](std::size_t i, std::size_t j) { cell.l1.push_back(l1[i * own + j - 1] + l1[j * own + i]); });
    else
        cell.l1 = l1;
    // A function whose coefficients are all zero is constant in this cell.
    for (const std::size_t q : every)
        if (e.grouped || l1[q] > 0) varying.push_back(q);
    for (std::size_t g = 0; g < parts; ++g) {
        const std::size_t first = start[g], depth = start[g + 1] - first;
        const auto at = [&](std::size_t q, std::size_t j) { return coef[q * width + first + j]; };
        cell.exact.parts.push_back(packed_part<double>(first, depth, varying, own, at));
        cell.single.parts.push_back(packed_part<float>(first, depth, every, own,
                                                       [&](std::size_t q, std::size_t j) { return at(q, j) / scale; }));
    }
    if (cell.m) cell.function = e.grouped ? all : varying;
    pack_constants(cell.exact.constant, cell.function, cell, 1);
    pack_constants(cell.single.constant, all, cell, scale);
    cell.size.assign(round_up(e.functions, Panels<float>::vector()), 0.0f);
    for (std::size_t p = 0; p < e.functions; ++p) {
        cell.size[p] = 1.000001f * static_cast<float>((cell.l1[p] + std::fabs(cell.rho[p])) / scale);
        if (e.grouped && cell.l1[p] == 0)
            cell.size[p] = cell.single.constant[p] == 0 && cell.rho[p] != 0 ? HUGE_VALF : -1;
    }
}

// Calls body(packed rows, their first, their order by cells, where each cell starts) for blocks of rows.
template <class Body>
void by_cells(const Cells &e, const Router &router, const SparseRows &rows, Threads wanted, Body &&body) {
    const std::size_t n = rows.count, cells = e.cells.size(), entries = rows.entries();
    const Threads threads = wanted.for_work(double(e.widest + cells) * (double(entries) + 20.0 * double(n)));
    // With many cells, many rows are needed to fill the tiles.
    const std::size_t fits = BLOCK_BYTES / (12 * divide_up(entries, n + 1) + 64);
    const std::size_t most = std::max(std::clamp(fits, FEWEST_ROWS, MOST_ROWS), 32 * cells);
    // A thread that starts late takes fewer.
    const std::size_t parts = threads > 1 ? std::min<std::size_t>(2 * threads, divide_up(n, FEWEST_ROWS)) : 1;
    const std::size_t blocks = round_up(divide_up(n, most), std::max<std::size_t>(parts, 1));
    std::vector<PackedRows> packed(threads);
    parallel_for(blocks, threads, [&](std::size_t b, std::size_t worker) {
        const std::size_t first = b * n / blocks, count = (b + 1) * n / blocks - first;
        router.pack(rows, first, count, packed[worker]);
        std::vector<std::int32_t> cell(count);
        router.route(packed[worker], rows, first, cell.data());
        std::vector<std::size_t> start(cells + 1);
        std::vector<std::uint32_t> order(count);
        for (const std::int32_t c : cell) ++start[c + 1];
        for (std::size_t c = 0; c < cells; ++c) start[c + 1] += start[c];
        std::vector<std::size_t> next(start.begin(), start.end() - 1);
        for (std::size_t i = 0; i < count; ++i) order[next[cell[i]]++] = static_cast<std::uint32_t>(i);
        body(packed[worker], first, order.data(), start.data());
    });
}

// The answers of this shape that `what` of CellAnswers is, and the marks of rows.
template <class T>
std::tuple<Out<T>, Out<std::uint8_t>> answers(const Cells &e, const Router &router, Rule rule, T *CellAnswers::*what,
                                              std::initializer_list<std::size_t> shape, const SparseRows &rows,
                                              Threads threads) {
    std::unique_ptr<T[]> out(new T[rows.count * (shape.size() > 1 ? e.functions : 1)]);
    std::unique_ptr<std::uint8_t[]> near_boundary(new std::uint8_t[rows.count]());
    CellAnswers to{nullptr, rule, nullptr, near_boundary.get()};
    to.*what = out.get();
    by_cells(e, router, rows, threads,
             [&](const PackedRows &packed, std::size_t first, const auto *order, const auto *start) {
                 SVMFAST_DISPATCH(cell_answers, e, to, rows, packed, first, order, start);
             });
    return {give(std::move(out), shape), give(std::move(near_boundary), {rows.count})};
}

}  // namespace

CellSums::CellSums(In1<std::int32_t> columns, In1<std::int64_t> children, In2<double> centers, In1<double> gamma,
                   In1<std::int64_t> sizes, const SparseRows &landmarks, In2<double> coef, In2<double> rho, int kind,
                   In1<std::int64_t> pseudo_sizes, In2<std::int64_t> pairs, In1<double> distance,
                   In2<double> pseudo_coef, std::size_t classes, In2<std::int64_t> class_sizes)
    : router(columns, children, centers) {
    const std::size_t p = e.functions = rho.shape(1);
    e.active = router.columns();
    e.columns = e.active.size();
    std::vector<std::int32_t> place(landmarks.indptr[landmarks.count]);
    for (std::size_t k = landmarks.indptr[0]; k < place.size(); ++k) place[k] = e.active.position(landmarks.indices[k]);
    const Csr placed{landmarks.indptr, place.data(), landmarks.values};
    e.factor = router.factor();
    e.classes = classes;
    e.grouped = class_sizes.size() > 0;
    const std::size_t width = coef.shape(0);
    e.kind = static_cast<Pseudo>(kind);
    std::size_t at = 0, pseudo_at = 0, distance_at = 0;
    for (std::size_t c = 0; c < gamma.shape(0); ++c) {
        Cell cell;
        const std::size_t m = cell.m = sizes.data()[c], q = cell.pseudo = pseudo_sizes.data()[c];
        cell.gamma = gamma.data()[c];
        cell.rho.assign(rho.data() + c * p, rho.data() + (c + 1) * p);
        pack_landmarks(e, cell, at, placed);
        std::vector<double> own(width * (m + q));
        for (std::size_t r = 0; r < width; ++r) {
            std::copy_n(coef.data() + r * coef.shape(1) + at, m, own.data() + r * (m + q));
            if (q)
                std::copy_n(pseudo_coef.data() + r * pseudo_coef.shape(1) + pseudo_at, q, own.data() + r * (m + q) + m);
        }
        pack_functions(e, cell, own, e.grouped ? class_sizes.data() + c * classes : nullptr);
        if (e.kind == Pseudo::poly) cell.pair.assign(pairs.data() + 2 * pseudo_at, pairs.data() + 2 * (pseudo_at + q));
        if (e.kind == Pseudo::triangle) {
            const std::size_t width = round_up(q, vector_lanes());
            cell.distance.assign(m * width, 0.0);
            for (std::size_t t = 0; t < q; ++t)
                for (std::size_t j = 0; j < m; ++j) cell.distance[j * width + t] = distance.data()[distance_at++];
        }
        at += m;
        pseudo_at += q;
        e.widest = std::max(e.widest, m + q);
        e.cells.push_back(std::move(cell));
    }
}

std::tuple<Out<double>, Out<std::uint8_t>> CellSums::decide(const SparseRows &rows, Threads threads) const {
    return answers(e, router, Rule::sign, &CellAnswers::values, {rows.count, e.functions}, rows, threads);
}

std::tuple<Out<std::int32_t>, Out<std::uint8_t>> CellSums::labels(const SparseRows &rows, int rule,
                                                                  Threads threads) const {
    return answers(e, router, static_cast<Rule>(rule), &CellAnswers::labels, {rows.count}, rows, threads);
}

}  // namespace svmfast
