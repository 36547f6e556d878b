// Packs a kernel expansion in single precision, and the lattice on which its values lie: single_precision.hpp.
#include "single_precision.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

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

// Integers up to this fit into words, and sums of their products into 32 bits.
constexpr std::size_t MOST_LEVELS = 4096;
constexpr double LARGEST_SUM = 0x1p29;
// Values rounded to six digits count as on the lattice; the bound includes their distance from it.
constexpr double TOLERANCE = 2e-6;

// Columns that share a lane: four bytes, two words, or 0 where integers are no faster than single precision.
std::size_t columns_in_a_lane() {
#if defined(__x86_64__)
    return has_vnni() ? 4 : 2;
#else
    return 0;
#endif
}

// The distinct values of support vectors, including 0 if some column is not stored; nothing if there are too many.
std::vector<double> distinct_values(const Expansion &e, const SupportVectors &sv) {
    const auto nnz = static_cast<std::size_t>(sv.rows.indptr[e.n]);
    std::unordered_set<double> seen;
    if (nnz < e.n * e.active.size()) seen.insert(0.0);
    double last = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t k = 0; k < nnz; ++k) {
        if (sv.rows.values[k] == last) continue;
        last = sv.rows.values[k];
        seen.insert(last);
        if (seen.size() > MOST_LEVELS) return {};
    }
    return {seen.begin(), seen.end()};
}

// Sets origin, step and levels to the coarsest lattice of the values; false if there is none.
bool find_lattice(Lattice &l, const std::vector<double> &values) {
    if (values.size() < 2) return false;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double width = *most - *least, tolerance = TOLERANCE * std::max(std::fabs(*least), std::fabs(*most));
    if (!(width < 1e100)) return false;  // squares of distances from the lattice must not overflow
    l.origin = *least;
    for (l.levels = static_cast<double>(values.size() - 1); l.levels < MOST_LEVELS; ++l.levels) {
        l.step = width / l.levels;
        if (std::all_of(values.begin(), values.end(), [&](double v) {
                return std::fabs(v - (l.origin + l.step * std::nearbyint((v - l.origin) / l.step))) <= tolerance;
            }))
            return l.step > 8 * tolerance;
    }
    return false;
}

// The lattice of an otherwise complete pack, or null if its values are not on a lattice.
std::unique_ptr<Lattice> pack_lattice(const SinglePack &s, const SupportVectors &sv) {
    const Expansion &e = s.e;
    const std::size_t d = e.active.size();
    const std::size_t features = columns_in_a_lane();
    auto l = std::make_unique<Lattice>();
    if (!features || s.second_order || !find_lattice(*l, distinct_values(e, sv))) return nullptr;
    const bool bytes = features == 4 && l->levels <= 255;
    l->features = bytes ? 4 : 2;
    const double zero = std::nearbyint(-l->origin / l->step);
    l->zero = zero >= 0 && zero <= l->levels ? zero : -1;
    l->shift = bytes ? 0 : l->zero >= 0 ? l->zero : std::floor(l->levels / 2);
    l->sparse = l->zero == l->shift;
    const double largest = bytes ? 256 : std::max(l->shift, l->levels - l->shift);
    if (!(largest * largest * static_cast<double>(d) < LARGEST_SUM)) return nullptr;
    l->groups = divide_up(d, l->features);

    const std::size_t panels = s.group_panels.back();
    l->values.assign(panels * l->groups * s.lanes, bytes ? static_cast<std::int32_t>(0x80808080) : 0);
    l->norm.assign(panels * s.lanes, 0);
    std::vector<double> level(d);
    for (std::size_t g = 0, i = 0; g < e.groups; ++g)
        for (std::size_t at = s.group_panels[g] * s.lanes; i < e.group_end[g]; ++i, ++at) {
            const auto stored = sv.rows.entries(i);
            std::fill(level.begin(), level.end(), l->zero);
            double off = (static_cast<double>(d - stored)) * std::pow(l->origin + l->step * l->zero, 2);
            for (std::int64_t k = sv.rows.indptr[i]; k < sv.rows.indptr[i + 1]; ++k) {
                const double v = sv.rows.values[k], nearest = std::nearbyint((v - l->origin) / l->step);
                level[e.position(sv.rows.indices[k])] = nearest;
                off += std::pow(v - (l->origin + l->step * nearest), 2);
            }
            l->residual = std::max(l->residual, std::sqrt(off));
            std::int32_t *const to = l->values.data() + at / s.lanes * l->groups * s.lanes + at % s.lanes;
            l->norm[at] = pack_integers(*l, level, bytes ? 128 : 0, to, s.lanes).squares;
        }
    return l;
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
    auto s = std::make_unique<SinglePack>(e);
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
