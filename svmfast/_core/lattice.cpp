// Finds the lattice on which the values of support vectors lie, and packs them as integers: Lattice in
// single_precision.hpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "single_precision.hpp"

namespace svmfast {
namespace {

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

}  // namespace

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

}  // namespace svmfast
