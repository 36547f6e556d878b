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
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t f = 0; f < columns; ++f) {
                const double keep = next(), value = next();
                if (std::fabs(keep) < density) indices.push_back(static_cast<std::int32_t>(f)), values.push_back(value);
            }
            indptr.push_back(static_cast<std::int64_t>(indices.size()));
        }
    }
    Csr csr() const { return {indptr.data(), indices.data(), values.data()}; }
};

std::vector<double> numbers(std::size_t n) {
    std::vector<double> out(n);
    for (double &x : out) x = next();
    return out;
}

void exponentials() {
    double in[core::W], out[core::W];
    float in32[core::WF], out32[core::WF];
    for (int i = -60; i <= 20; ++i) {
        const double t = i * 17.03125 + next();
        std::fill_n(in, core::W, t);
        core::store(out, core::exp2(core::load(in)));
        print("exp2 of " + std::to_string(t), out[0], 4 * UNIT * out[0]);
        print("exp2, libm's", out[0] - std::exp2(std::max(t, -1022.0)), 4 * UNIT * out[0]);
        std::fill_n(in, core::W, -std::fabs(t));
        core::store(out, core::exp2_fast(core::load(in)));
        print("exp2_fast of " + std::to_string(-std::fabs(t)), out[0], 3e-10 * out[0]);
        std::fill_n(in32, core::WF, static_cast<float>(t / 10));
        core::store(out32, core::exp2(core::load(in32)));
        print("single exp2 of " + std::to_string(t / 10), out32[0], 0x1p-20 * out32[0]);
        std::fill_n(in32, core::WF, static_cast<float>(i / 60.0));
        core::store(out32, core::exp_remainder(core::load(in32)));
        print("exp_remainder of " + std::to_string(i / 60.0), out32[0], 0x1p-19 * std::fabs(out32[0]));
    }
    const double near_one = 1 + 0x1p-30;
    std::fill_n(in, core::W, near_one);
    core::store(out, core::fma(core::load(in), core::load(in), core::broadcast(-(1 + 0x1p-29))));
    // 2^-60 if multiply-add rounds once, 0 if it rounds twice. The tolerance accepts either;
    // scripts/cross checks it by name.
    print("fused", out[0] / 0x1p-60, 1);
    print("fused, one lane", core::fma(near_one, near_one, -(1 + 0x1p-29)) / 0x1p-60, 1);
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
                const std::string name = " kernel " + std::to_string(kind) + " density " + std::to_string(density);
                for (std::size_t i = 0; i < out.size(); ++i) {
                    print("decision" + name, out[i], 2 * errors[i] + 1e-14);
                    print("LIBSVM's order" + name, exact[i], 1e-13);
                }
                const auto single = single_pack(e, vectors);
                if (!single) continue;
                std::vector<std::int32_t> labels(z.rows);
                std::vector<double> bounds(out.size());
                core::single_labels(*single, rows, labels.data(), out.data(), bounds.data());
                for (std::size_t i = 0; i < out.size(); ++i) {
                    print("single precision" + name, out[i], 2 * bounds[i]);
                    print("beyond its bound" + name, std::fabs(out[i] - exact[i]) > bounds[i], 0);
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
    for (const double value : wd) print("merge table", value, 1e-11);

    const std::size_t k = 4;
    const std::vector<double> a(6, -1.5), b = numbers(6), decisions = numbers(50 * 6);
    const auto estimates =
        std::get<0>(probabilities({decisions.data(), {50, 6}}, {a.data(), {6}}, {b.data(), {6}}, k, std::nullopt, 1));
    for (std::size_t i = 0; i < 50 * k; ++i) print("probability", estimates.data.get()[i], 1e-12);
}

}  // namespace

int main() {
    exponentials();
    expansions();
    routing();
    polynomials();
    training();
}
