// Runs loops of the native core that svmfast-predict does not reach and compares the results with slow ones, for
// scripts/cross on aarch64. Multiply-add must round once.
#include <cmath>
#include <cstdio>
#include <vector>

#include "budget.hpp"
#include "polynomial.hpp"
#include "router.hpp"
#include "simd/vec.hpp"
#include "svmfast.hpp"

using namespace svmfast;
namespace core = svmfast::SVMFAST_ISA;

namespace {

int answers = 0, wrong = 0;

void check(const char *name, double value, double expected, double tolerance) {
    ++answers;
    if (std::fabs(value - expected) <= tolerance) return;
    std::printf("cross: %s: %.17g, more than %.3g from %.17g\n", name, value, tolerance, expected);
    ++wrong;
}

// The same numbers on every machine, in [-1, 1).
std::vector<double> numbers(std::size_t n) {
    static std::uint64_t state = 1;
    std::vector<double> out(n);
    for (double &x : out) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x = static_cast<double>(static_cast<std::int64_t>(state) >> 11) * 0x1p-52;
    }
    return out;
}

double distance(const double *a, const double *b, std::size_t stride, std::size_t d) {
    double sum = 0;
    for (std::size_t f = 0; f < d; ++f) sum += (a[f] - b[f * stride]) * (a[f] - b[f * stride]);
    return sum;
}

// The cells of rows, whose nearest centers they are, and their kernel values with vectors, stored by columns.
void routes_and_kernel_rows() {
    const std::size_t n = 150, d = 11, centers = 90, stride = 24;
    const std::vector<double> x = numbers(n * d), center = numbers(centers * d), vectors = numbers(d * stride);
    std::vector<std::int64_t> indptr{0}, order, children(centers + 1);
    std::vector<std::int32_t> indices, cell(n);
    std::vector<double> norms, squares(stride), kernel(n * stride), zero(d);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t f = 0; f < d; ++f) indices.push_back(f);
        indptr.push_back(indices.size()), order.push_back(i);
        norms.push_back(distance(&x[i * d], zero.data(), 1, d));
    }
    children[0] = centers;
    const Csr rows{indptr.data(), indices.data(), x.data()};
    Router({indices.data(), {d}}, {children.data(), {centers + 1}}, {center.data(), {centers, d}})
        .route(rows, 0, n, cell.data());
    for (std::size_t j = 0; j < d * stride; ++j) squares[j % stride] += vectors[j] * vectors[j];
    core::gaussian_rows(rows, norms.data(), order.data(), n, vectors.data(), squares.data(), stride, 0.3,
                        kernel.data());
    for (std::size_t i = 0; i < n; ++i) {
        const auto to = [&](std::size_t c) { return distance(&x[i * d], &center[c * d], 1, d); };
        for (std::size_t c = 0; c < centers; ++c) check("cell", to(cell[i]) <= to(c), 1, 0);
        for (std::size_t j = 0; j < stride; ++j)
            check("kernel", kernel[i * stride + j], std::exp(-0.3 * distance(&x[i * d], &vectors[j], stride, d)),
                  1e-12);
    }
}

// Sum of the monomials of `left` more indices, from `first` on, in the order of their coefficients.
double monomials(const std::vector<double> &row, std::size_t first, int left, double factor,
                 const double *&coefficient) {
    double sum = left ? 0 : factor * *coefficient++;
    for (std::size_t f = first; left && f < row.size(); ++f)
        sum += monomials(row, f, left - 1, factor * row[f], coefficient);
    return sum;
}

void polynomials() {
    const std::size_t d = 9, lanes = vector_lanes();
    for (int order = 1; order <= 4; ++order) {
        const std::vector<double> coefficients = numbers(monomials_up_to(d, order)), row = numbers(d);
        std::vector<double> w(d * lanes), out(lanes);
        for (std::size_t f = 0; f < d; ++f) std::fill_n(w.begin() + f * lanes, lanes, row[f]);
        core::polynomial_block(w.data(), d, order, coefficients.data(), 1, out.data());
        double expected = 0;
        const double *coefficient = coefficients.data();
        for (int degree = 0; degree <= order; ++degree) expected += monomials(row, 0, degree, 1, coefficient);
        for (const double value : out) check("polynomial", value, expected, 0x1p-46 * coefficients.size());
    }
}

}  // namespace

int main() {
    double all[core::W] = {1 + 0x1p-30}, x = all[0], product = -(1 + 0x1p-29);
    core::store(all, core::fma(core::load(all), core::load(all), core::broadcast(product)));
    check("multiply-add", all[0], 0x1p-60, 0);
    check("multiply-add of a number", core::fma(x, x, product), 0x1p-60, 0);
    routes_and_kernel_rows();
    polynomials();
    std::printf("%d answers of loops on aarch64, %d wrong\n", answers, wrong);
    return wrong != 0;
}
