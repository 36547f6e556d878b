// Packs a kernel expansion in single precision: single_precision.hpp.
#include "single_precision.hpp"

#include <algorithm>
#include <cmath>

#include "polynomial.hpp"

namespace svmfast {
namespace {

// Above this share of stored values the center is subtracted, which reduces norms but fills in zeros.
constexpr double CENTERED_DENSITY = 0.5;
// The proof of the bound presumes no more terms.
constexpr std::size_t MOST_FEATURES = 50000;
// Beyond this degree of a polynomial kernel its powers leave the range of floats.
constexpr int LARGEST_DEGREE = 64;
// A second-order polynomial is split off if 2 gamma x_i . x_j is below this for all support vectors and its cost is
// small compared with theirs.
constexpr double SMALL_EXPONENT = 0.7;
constexpr std::size_t WIDEST_SECOND_ORDER = 128;

// The largest power of two that is at most x.
double power_of_two(double x) { return std::exp2(std::floor(std::log2(x))); }
bool moderate(double x) { return x > 1e-100 && x < 1e100; }

// The contribution of one support vector, with coefficient a, to the second-order polynomial.
void add_to(SecondOrder &second, const std::vector<double> &x, double a, double gamma) {
    double *c = second.coefficients.data();
    *c++ += a;
    second.weight += std::fabs(a);
    for (const double value : x) *c++ += 2 * gamma * a * value;
    for (std::size_t f = 0; f < x.size(); ++f)
        for (std::size_t g = f; g < x.size(); ++g) *c++ += (f == g ? 2 : 4) * (gamma * x[f]) * (gamma * x[g]) * a;
}

}  // namespace

std::unique_ptr<SinglePack> single_pack(const Expansion &e, const SupportVectors &sv) {
    const std::int64_t *const indptr = sv.rows.indptr;
    const std::int32_t *const indices = sv.rows.indices;
    const double *const values = sv.rows.values;
    const std::size_t d = e.active.size();
    const bool rbf = e.kind == KernelKind::rbf, power = e.kind == KernelKind::polynomial;
    if (e.kind == KernelKind::linear || e.scattered || e.n == 0 || d > MOST_FEATURES || (rbf && !(e.gamma > 0)) ||
        (power && e.degree > LARGEST_DEGREE))
        return nullptr;
    const double density = static_cast<double>(indptr[e.n]) / (static_cast<double>(e.n) * static_cast<double>(d));
    auto s = std::make_unique<SinglePack>(
        SinglePack{e, 0, 1, 1, 1, 1, false, false, {}, 0, 0, {}, {}, {}, {}, {}, {}, nullptr, nullptr});
    if (rbf) s->exponent = e.gamma * LOG2_E;
    s->centered = rbf && density > CENTERED_DENSITY;
    s->center.assign(d, 0.0);
    for (std::int64_t k = 0; s->centered && k < indptr[e.n]; ++k)
        s->center[e.position(indices[k])] += values[k] / static_cast<double>(e.n);

    s->lanes = 2 * NF * vector_lanes();
    s->group_panels = e.panels_of(s->lanes);
    const std::size_t panels = s->group_panels.back();

    std::vector<double> x(d), norm(e.n);
    double largest = 0;
    auto centered_vector = [&](std::size_t i) {
        for (std::size_t f = 0; f < d; ++f) x[f] = -s->center[f];
        for (std::int64_t k = indptr[i]; k < indptr[i + 1]; ++k) {
            const std::int32_t at = e.position(indices[k]);
            x[at] = values[k] - s->center[at];
        }
    };
    s->reach = 0;
    for (std::size_t i = 0; i < e.n; ++i) {
        centered_vector(i);
        for (double v : x) {
            norm[i] += v * v;
            largest = std::max(largest, std::fabs(v));
        }
        s->reach = std::max(s->reach, std::sqrt(norm[i]));
    }
    double most = 0;
    for (std::size_t i = 0; i < e.width * e.n; ++i) most = std::max(most, std::fabs(sv.coef[i]));
    if (!(most > 1e-200 && most < 1e200) || !(largest == 0 || moderate(largest)) || !(s->exponent < 1e150))
        return nullptr;
    s->value_scale = largest > 0 ? 1 / power_of_two(largest) : 1;
    const double coefficients = power_of_two(most);
    s->coef_scale = coefficients;
    if (!rbf) {
        // The largest argument for a row as long as a support vector: powers of smaller ones do not overflow.
        const double argument = std::fabs(e.gamma) * s->reach * s->reach + std::fabs(e.coef0);
        if (argument != 0 && !moderate(argument)) return nullptr;
        if (power && argument != 0) s->argument_scale = power_of_two(argument);
        s->coef_scale *= powi(s->argument_scale, power ? e.degree : 0);
        if (!(s->coef_scale > 1e-200 && s->coef_scale < 1e200)) return nullptr;
    }

    s->pairs = e.functions > 1;
    // Its coefficients, up to a gamma in size, must not overflow, nor underflow relative to the rounding of the
    // constant.
    if (moderate(e.gamma) && !s->pairs && s->centered && d <= WIDEST_SECOND_ORDER &&
        2 * e.gamma * s->reach * s->reach <= SMALL_EXPONENT)
        s->second_order = std::make_unique<SecondOrder>(SecondOrder{std::vector<double>(monomials_up_to(d, 2)), 0});
    s->row_scale = (s->second_order ? 2 * e.gamma
                    : rbf           ? 2 * s->exponent
                                    : e.gamma / s->argument_scale) /
                   s->value_scale;

    s->values.assign(panels * d * s->lanes, 0.0f);
    s->init.assign(panels * s->lanes, 0.0f);
    s->coef.assign(panels * s->lanes, 0.0f);
    // Of coefficients and kernel values of one sign, the sum itself is that of the magnitudes. A sigmoid's bound needs
    // none.
    const bool magnitudes = rbf ? e.mixed : power && (e.mixed || e.degree % 2 != 0);
    if (magnitudes) s->size.assign(panels * s->lanes, 0.0f);
    if (s->pairs) s->by_column.assign(e.width * panels * s->lanes, 0.0f);
    for (std::size_t g = 0, i = 0; g < e.groups; ++g)
        for (std::size_t l = s->group_panels[g] * s->lanes; i < e.group_end[g]; ++i, ++l) {
            centered_vector(i);
            for (std::size_t f = 0; f < d; ++f)
                s->values[(l / s->lanes * d + f) * s->lanes + l % s->lanes] = static_cast<float>(x[f] * s->value_scale);
            const double shrink = s->second_order ? std::exp(-e.gamma * norm[i]) : 1;
            s->init[l] =
                s->second_order ? 0.0f : static_cast<float>(rbf ? -s->exponent * norm[i] : e.coef0 / s->argument_scale);
            double top = 0;
            for (std::size_t j = 0; j < e.width; ++j) {
                const double c = sv.coefficient(j, i) / coefficients;
                if (s->pairs) s->by_column[j * panels * s->lanes + l] = static_cast<float>(c);
                top = std::max(top, std::fabs(c));
            }
            s->coef[l] = s->pairs ? 1.0f : static_cast<float>(shrink * sv.coef[i] / coefficients);
            if (magnitudes) s->size[l] = static_cast<float>(top);
            if (s->second_order) add_to(*s->second_order, x, shrink * sv.coef[i], e.gamma);
        }
    if (rbf) s->lattice = pack_lattice(*s, sv);
    return s;
}

}  // namespace svmfast
