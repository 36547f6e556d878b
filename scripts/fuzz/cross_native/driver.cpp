// Runs the loops of the native core (svmfast/_core/simd) on fixed numbers and prints the results, one per line:
// name, value, allowed difference on another machine. scripts/cross compares two machines.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "budget.hpp"
#include "cells.hpp"
#include "decision.hpp"
#include "polynomial.hpp"
#include "router.hpp"
#include "simd/exp2.hpp"
#include "single_precision.hpp"
#include "svmfast.hpp"

using namespace svmfast;
namespace core = svmfast::SVMFAST_ISA;

namespace {

constexpr double UNIT = 0x1p-53;

// The same numbers on every machine, in [-1, 1).
double next() {
    static std::uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(static_cast<std::int64_t>(state) >> 11) * 0x1p-52;
}

void print(const std::string &name, double value, double tolerance) {
    std::printf("%s %.17g %.3g\n", name.c_str(), value, tolerance);
}

struct Matrix {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<double> values;
    std::size_t rows, columns;

    Matrix(std::size_t rows, std::size_t columns, double density) : rows(rows), columns(columns) {
        for (std::size_t i = 0; i < rows * columns; ++i) {
            const double keep = next(), value = next();
            if (std::fabs(keep) < density) indices.push_back(i % columns), values.push_back(value);
            if (i % columns + 1 == columns) indptr.push_back(static_cast<std::int64_t>(indices.size()));
        }
    }
    Csr csr() const { return {indptr.data(), indices.data(), values.data()}; }
};

std::vector<double> numbers(std::size_t n) {
    std::vector<double> out(n);
    for (double &x : out) x = next();
    return out;
}

// A function of vectors, for one number.
template <typename T, typename F>
double lane(double x, F function) {
    T all[core::WF];
    std::fill_n(all, core::WF, static_cast<T>(x));
    core::store(all, function(core::load(all)));
    return all[0];
}

void exponentials() {
    const auto exp2 = [](auto v) { return core::exp2(v); };
    for (int i = -60; i <= 20; ++i) {
        const double t = i * 17.03125 + next(), found = lane<double>(t, exp2), single = lane<float>(t / 10, exp2);
        const double fast = lane<double>(-std::fabs(t), [](auto v) { return core::exp2_fast(v); });
        const double rest = lane<float>(i / 60.0, [](auto v) { return core::exp_remainder(v); });
        print("exp2", found, 4 * UNIT * found);
        print("exp2-libm", found - std::exp2(std::max(t, -1022.0)), 4 * UNIT * found);
        print("exp2_fast", fast, 3e-10 * fast);
        print("single-exp2", single, 0x1p-20 * single);
        print("exp_remainder", rest, 0x1p-19 * std::fabs(rest));
    }
    const double near_one = 1 + 0x1p-30, product = -(1 + 0x1p-29);
    // 2^-60 if multiply-add rounds once, 0 if it rounds twice. The tolerance accepts either;
    // scripts/cross checks it by name.
    const auto fused = [&](auto v) { return core::fma(v, v, core::broadcast(product)); };
    print("fused", lane<double>(near_one, fused) / 0x1p-60, 1);
    print("fused,one-lane", core::fma(near_one, near_one, product) / 0x1p-60, 1);
}

void expansions() {
    for (const double density : {1.0, 0.3, 0.01})
        for (int kind = 0; kind < 4; ++kind)
            for (const std::size_t groups : {std::size_t{1}, std::size_t{3}}) {
                const Matrix sv(61, density < 0.1 ? 400 : 13, density), z(29, sv.columns, density);
                const std::size_t width = groups == 1 ? 1 : groups - 1;
                const std::vector<double> coef = numbers(width * sv.rows);
                Expansion e{};
                e.kind = static_cast<KernelKind>(kind);
                e.gamma = 0.4, e.coef0 = 0.1, e.degree = 3;
                e.groups = groups, e.width = width, e.functions = groups == 1 ? 1 : 3, e.n = sv.rows;
                e.rho = numbers(e.functions);
                for (std::size_t g = 0; g < groups; ++g) e.group_end.push_back(g + 1 == groups ? e.n : 17 * (g + 1));
                const SupportVectors vectors{sv.csr(), coef.data(), e.n};
                describe(e, vectors);
                pack(e, vectors);
                const RowBlock rows{z.csr(), 0, z.rows};
                std::vector<double> out(z.rows * e.functions), errors(out.size()), exact(out.size());
                core::decision_block(e, rows, false, out.data(), errors.data());
                core::decision_block(e, rows, true, exact.data(), nullptr);
                const std::string name = ",kernel=" + std::to_string(kind) + ",density=" + std::to_string(density);
                for (std::size_t i = 0; i < out.size(); ++i) {
                    print("decision" + name, out[i], 2 * errors[i] + 1e-14);
                    print("LIBSVMs-order" + name, exact[i], 1e-13);
                }
                const auto single = single_pack(e, vectors);
                if (!single) continue;
                std::vector<std::int32_t> labels(z.rows);
                std::vector<double> bounds(out.size());
                core::single_labels(*single, rows, labels.data(), out.data(), bounds.data());
                for (std::size_t i = 0; i < out.size(); ++i) {
                    print("single-precision" + name, out[i], 2 * bounds[i]);
                    print("beyond-its-bound" + name, std::fabs(out[i] - exact[i]) > bounds[i], 0);
                }
            }
}

void routing() {
    for (const double density : {1.0, 0.2}) {
        const Matrix rows(200, 12, density);
        const std::vector<double> centers = numbers(90 * 12);
        std::vector<std::int64_t> children(91);
        children[0] = 90;
        const Router router({children.data(), {91}}, {centers.data(), {90, 12}});
        std::vector<std::int32_t> cell(rows.rows);
        router.route(rows.csr(), 0, rows.rows, cell.data());
        for (const std::int32_t c : cell) print("cell", c, 0);
    }
}

void polynomials() {
    const std::size_t d = 9, lanes = vector_lanes();
    for (int order = 1; order <= 4; ++order) {
        const std::vector<double> coefficients = numbers(monomials_up_to(d, order)), row = numbers(d);
        double size = 0;
        for (const double c : coefficients) size += std::fabs(c);
        std::vector<double> w(d * lanes), out(lanes);
        for (std::size_t f = 0; f < d; ++f) std::fill_n(w.begin() + f * lanes, lanes, row[f]);
        core::polynomial_block(w.data(), d, order, coefficients.data(), 1, out.data());
        for (const double value : out) print("polynomial", value, 100 * UNIT * size);
    }
}

void training() {
    const std::size_t n = 150, d = 11;
    const Matrix x(n, d, 0.7);
    std::vector<double> norms;
    std::vector<std::int64_t> order;
    for (std::size_t i = 0; i < n; ++i) {
        double norm = 0;
        for (std::int64_t k = x.indptr[i]; k < x.indptr[i + 1]; ++k) norm += x.values[k] * x.values[k];
        norms.push_back(norm), order.push_back(static_cast<std::int64_t>(i));
    }
    const std::size_t stride = 24;
    const std::vector<double> vectors = numbers(d * stride);
    std::vector<double> squares(stride), kernel(n * stride);
    for (std::size_t j = 0; j < d * stride; ++j) squares[j % stride] += vectors[j] * vectors[j];
    core::gaussian_rows(x.csr(), norms.data(), order.data(), n, vectors.data(), squares.data(), stride, 0.3,
                        kernel.data());
    for (const double value : kernel) print("kernel", value, 1e-12);

    std::vector<double> wd(21 * 40), h(21 * 40);
    core::make_merge_table(40, 1e-6, wd.data(), h.data());
    for (const double value : wd) print("merge-table", value, 1e-11);
}

}  // namespace

int main() {
    exponentials();
    expansions();
    routing();
    polynomials();
    training();
}
