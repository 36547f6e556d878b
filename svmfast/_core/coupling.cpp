// LIBSVM's probability estimates, operation by operation (svm_predict_probability): sigmoids of the decision values
// and, for more than two classes, their coupling (Wu, Lin and Weng, Probability Estimates for Multi-class
// Classification by Pairwise Coupling, JMLR 5, 2004, method 2). Loops run over classes, and the compiler vectorizes
// them. No sum is vectorized, so every instruction set gives LIBSVM's bits.
#include <algorithm>
#include <stdexcept>

#include "math.hpp"
#include "svmfast.hpp"

namespace svmfast {
namespace {

constexpr double UNIT = 0x1p-53;
// LIBSVM keeps pairwise probabilities this far from 0 and 1.
constexpr double LEAST = 1e-7;
// The relative uncertainty above which nothing can be proven.
constexpr double LARGE = 1e-3;
// Marks of a density, and rows that a thread takes at a time.
constexpr std::size_t DENSITY_MARKS = 10, BLOCK = 256;

double sigmoid(double decision, double a, double b) {
    const double t = decision * a + b;
    const double p = t >= 0 ? std::exp(-t) / (1.0 + std::exp(-t)) : 1.0 / (1 + std::exp(t));
    // LIBSVM's max and min: a nan becomes the lower limit.
    const double least = p > LEAST ? p : LEAST;
    return least < 1 - LEAST ? least : 1 - LEAST;
}

// A bound on the difference between LIBSVM's r and ours if its decision value lies within `error`; infinite if that is
// large.
double sigmoid_error(double decision, double error, double a, double b, double r) {
    const double of_t = std::fabs(a) * error + 4 * UNIT * (std::fabs(decision * a) + std::fabs(b));
    if (!(of_t < LARGE)) return HUGE_VAL;
    return 1.002 * r * (1 - r) * of_t + 10 * UNIT * r;
}

// Whether every number within `error` of p prints like p with "%g", six digits.
bool prints_alike(double p, double error) {
    if (!(p > 1e-290 && p < 1e6 && error < LARGE * p)) return false;
    int power = 5 - static_cast<int>(std::floor(std::log10(p)));
    double digits = p * std::pow(10.0, power);
    if (digits < 1e5) digits = p * std::pow(10.0, ++power);
    if (digits >= 1e6) digits = p * std::pow(10.0, --power);
    const double from_half = std::fabs(digits - std::floor(digits) - 0.5);
    // The errors of the powers of ten, the product and its fractional part are far below 1e-7 here.
    return from_half > digits / p * error * (1 + 1e-6) + 1e-7;
}

// Whether the first maximum, and all six digits, are the same for all estimates within `error`.
bool certain(const double *p, const double *error, std::size_t k) {
    const std::size_t best = static_cast<std::size_t>(std::max_element(p, p + k) - p);
    for (std::size_t t = 0; t < k; ++t)
        if (!prints_alike(p[t], error[t]) || (t != best && !(p[best] - p[t] > error[best] + error[t] + 4 * UNIT)))
            return false;
    return true;
}

// Multiclass_probability of one row, and a bound on the distance of another run (LIBSVM's, from its own decision
// values) whose r differ by at most `dr`. Names as in docs/certificate.md; "rounding" is the difference between the
// sums that LIBSVM updates and Q p and p^T Q p of its p.
class Coupling {
  public:
    Coupling(std::size_t k, bool bounds) : k(k), memory((bounds ? 4 : 2) * k * k + 6 * k) {
        double *next = memory.data();
        const auto take = [&](std::size_t n) { return next += n, next - n; };
        r = take(k * k), q = take(k * k);
        if (bounds) dr = take(k * k), dq = take(k * k);
        p = take(k), qp = take(k), diagonal = take(k), of_p = take(k), of_q = take(k), of_qp = take(k);
    }

    // Sets r from the pairs' probabilities, and the bound on another run's difference from them.
    void set(const double *pairwise, const double *errors) {
        for (std::size_t i = 0, pair = 0; i < k; ++i)
            for (std::size_t j = i + 1; j < k; ++j, ++pair) {
                r[i * k + j] = pairwise[pair];
                r[j * k + i] = 1 - pairwise[pair];
                if (!errors) continue;
                dr[i * k + j] = errors[pair];
                dr[j * k + i] = errors[pair] + 2 * UNIT;
            }
    }

    // With `bound`, returns whether every run with r within dr ends within `uncertainty` of `estimates`.
    template <bool bound>
    bool run() {
        objective<bound>();
        std::fill_n(p, k, 1.0 / static_cast<double>(k));
        std::fill_n(of_p, k, 0.0);
        drift = UNIT;
        const double eps = 0.005 / static_cast<double>(k);
        for (std::size_t sweep = 0; sweep < std::max<std::size_t>(100, k); ++sweep) {
            double a = product();
            if (bound) product_errors(a);
            const int over = ends<bound>(a, eps);
            if (over != 0) return over > 0;
            for (std::size_t t = 0; t < k; ++t)
                if (!step<bound>(t, a)) return false;
        }
        return true;
    }

    const double *estimates() const { return p; }
    const double *uncertainty() const { return of_p; }

  private:
    std::size_t k;
    Aligned<double> memory;
    double *r, *q, *p, *qp, *diagonal;    // qp: Q p; diagonal: of Q
    double *dr = nullptr, *dq = nullptr;  // largest change of r and of Q
    double *of_p, *of_q, *of_qp;          // of p; |dQ| p; rounding of qp
    double of_a = 0, drift = 0;           // rounding of a = p^T Q p; |sum p - 1|

    template <bool bound>
    void objective() {
        for (std::size_t t = 0; t < k; ++t) {
            double *row = q + t * k, square = 0, change = 0;
            for (std::size_t j = 0; j < k; ++j) {
                if (j == t) continue;
                const double rjt = r[j * k + t], rtj = r[t * k + j];
                square += rjt * rjt;
                row[j] = j < t ? q[j * k + t] : -rjt * rtj;
                if (!bound) continue;
                const double d = dr[j * k + t], e = dr[t * k + j];
                dq[t * k + j] = rjt * e + rtj * d + d * e + 4 * UNIT * rjt * rtj;
                change += (2 * rjt + d) * d;
            }
            row[t] = diagonal[t] = square;
            if (bound) dq[t * k + t] = change + 2 * UNIT * static_cast<double>(k + 2) * square;
        }
    }

    // Q p and p^T Q p as LIBSVM adds them up; Q is symmetric, bit by bit.
    double product() {
        std::fill_n(qp, k, 0.0);
        for (std::size_t j = 0; j < k; ++j) {
            const double *row = q + j * k, pj = p[j];
            for (std::size_t t = 0; t < k; ++t) qp[t] += row[t] * pj;
        }
        double a = 0;
        for (std::size_t t = 0; t < k; ++t) a += p[t] * qp[t];
        return a;
    }

    // sum_j |Q_tj| p_j: outside the diagonal Q is negative.
    double absolute(std::size_t t) const { return 2 * diagonal[t] * p[t] - qp[t] + of_qp[t]; }

    // p^T |Q| p
    double all_absolute() const {
        double all = 0;
        for (std::size_t t = 0; t < k; ++t) all += p[t] * absolute(t);
        return all * (1 + 1e-9);
    }

    void product_errors(double a) {
        const double terms = 1.01 * static_cast<double>(k + 2) * UNIT;
        std::fill_n(of_q, k, 0.0);
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t t = 0; t < k; ++t) of_q[t] += dq[j * k + t] * p[j];
        for (std::size_t t = 0; t < k; ++t) {
            of_q[t] *= 1 + 1e-9;
            of_qp[t] = 0;
            of_qp[t] = terms * (std::fabs(absolute(t)) + 1e-9 * std::fabs(qp[t]));
        }
        of_a = 2 * terms * (all_absolute() + std::fabs(a));
    }

    // The largest difference of a = p^T Q p in another run, without rounding.
    double change_of_a() const {
        double by_p = 0, by_q = 0, sum = 0;
        for (std::size_t j = 0; j < k; ++j) {
            by_p += 2 * (std::fabs(qp[j]) + of_qp[j]) * of_p[j];
            by_q += of_q[j] * p[j];
            sum += of_p[j];
        }
        return by_p + 1.003 * by_q + sum * sum * static_cast<double>(k);
    }

    // 1: the iteration ends here; 0: it continues; -1: another run could do otherwise.
    template <bool bound>
    int ends(double a, double eps) const {
        double largest = 0, least = 0, most = 0;
        const double of_square = bound ? change_of_a() + 2 * of_a : 0;
        for (std::size_t t = 0; t < k; ++t) {
            const double error = std::fabs(qp[t] - a);
            if (error > largest) largest = error;
            if (!bound) continue;
            double apart = of_square + 1.003 * of_q[t] + 2 * of_qp[t] + 4 * UNIT * error;
            for (std::size_t j = 0; j < k; ++j) apart += std::fabs(q[t * k + j]) * of_p[j];
            least = std::max(least, error - apart * (1 + 1e-9));
            most = std::max(most, error + apart * (1 + 1e-9));
        }
        if (!bound) return largest < eps;
        return most < eps ? 1 : least >= eps ? 0 : -1;
    }

    template <bool bound>
    bool step(std::size_t t, double &a) {
        const double *row = q + t * k;
        const double diff = (-qp[t] + a) / row[t], grown = 1 + diff;
        const double of_w = bound ? step_error(t, a, diff) : 0;
        const double old_a = a, old_qp = qp[t], old_rounding = bound ? of_qp[t] : 0;
        p[t] += diff;
        a = (a + diff * (diff * row[t] + 2 * qp[t])) / grown / grown;
        for (std::size_t j = 0; j < k; ++j) {
            qp[j] = (qp[j] + diff * row[j]) / grown;
            p[j] /= grown;
        }
        if (!bound) return true;
        if (!(grown > 0) || !normalized(t, of_w, grown)) return false;
        const double *change = dq + t * k, size = std::fabs(diff);
        for (std::size_t j = 0; j < k; ++j) {
            of_qp[j] = (of_qp[j] + 2 * UNIT * size * std::fabs(row[j])) / grown + 8 * UNIT * std::fabs(qp[j]);
            of_qp[j] += 4 * UNIT * absolute(j);
            of_q[j] = (of_q[j] + diff * change[j] + 4 * UNIT * of_q[j]) / grown;
        }
        const double sums = std::fabs(old_a) + 2 * size * (size * row[t] + 2 * std::fabs(old_qp));
        of_a = (of_a + 2 * size * old_rounding + 3 * UNIT * sums) / grown / grown * (1 + 1e-9) +
               8 * UNIT * (std::fabs(a) + all_absolute());
        return true;
    }

    // The largest difference of w_t = p_t + diff in another run; Q_tt w_t is p^T Q p + sum_(j != t) |Q_tj| p_j.
    double step_error(std::size_t t, double a, double diff) const {
        const double *row = q + t * k;
        double by_p = 0, by_q = of_q[t], sum = 0;
        for (std::size_t j = 0; j < k; ++j) {
            by_p += (std::fabs(2 * qp[j] - (j == t ? 0.0 : row[j])) + 2 * of_qp[j]) * of_p[j];
            by_q += of_q[j] * p[j];
            sum += of_p[j];
        }
        const double w = std::fabs(p[t] + diff), change = dq[t * k + t];
        const double numerator = by_p + 1.003 * by_q + sum * sum * static_cast<double>(k) + w * change +
                                 2.01 * (of_a + of_qp[t] + UNIT * (std::fabs(a) + std::fabs(qp[t])));
        if (!(change < 1e-3 * row[t])) return HUGE_VAL;
        return (numerator / (row[t] - change) + 8 * UNIT * (std::fabs(diff) + p[t])) * (1 + 1e-9);
    }

    // The distance of the runs after a step in which w_t differs by at most of_w: (w_i - p_i sum w) / sum w.
    bool normalized(std::size_t t, double of_w, double grown) {
        of_p[t] = of_w;
        double sum = 2 * drift;
        for (std::size_t j = 0; j < k; ++j) sum += of_p[j];
        const double least = grown - sum * (1 + 1e-9);
        if (!(least > 0.5 * grown)) return false;
        bool small = true;
        for (std::size_t j = 0; j < k; ++j) {
            const double rest = std::fabs(1 - p[j]);
            of_p[j] = (of_p[j] * rest + p[j] * (sum - of_p[j])) / least * (1 + 1e-9) + 12 * UNIT * p[j];
            small &= of_p[j] < LARGE * p[j];
        }
        drift = drift / grown + 4 * UNIT;
        return small && drift < 1e-9;
    }
};

// out[row][class]. `errors`, if not null, bounds the distance of LIBSVM's own decision values from the given ones:
// near_boundary[row] is then 0 if LIBSVM's estimates provably (docs/certificate.md) print the same with six digits and
// have the same first maximum.
void estimate(std::size_t k, const double *a, const double *b, const double *decisions, const double *errors,
              std::size_t rows, double *out, std::uint8_t *near_boundary) {
    const std::size_t pairs = k * (k - 1) / 2;
    Aligned<double> r(2 * pairs + 1);
    double *const dr = r.data() + pairs;
    Coupling coupling(k == 2 ? 0 : k, errors != nullptr);
    for (std::size_t i = 0; i < rows; ++i) {
        const double *f = decisions + i * pairs;
        for (std::size_t p = 0; p < pairs; ++p) {
            r[p] = sigmoid(f[p], a[p], b[p]);
            if (errors) dr[p] = sigmoid_error(f[p], errors[i * pairs + p], a[p], b[p], r[p]);
        }
        if (k == 2) {
            out[2 * i] = r[0], out[2 * i + 1] = 1 - r[0];
            dr[1] = dr[0] + 2 * UNIT;
            if (errors) near_boundary[i] = !certain(out + 2 * i, dr, 2);
            continue;
        }
        coupling.set(r.data(), errors ? dr : nullptr);
        const bool bounded = errors ? coupling.run<true>() : coupling.run<false>();
        std::copy_n(coupling.estimates(), k, out + i * k);
        if (errors) near_boundary[i] = !(bounded && certain(coupling.estimates(), coupling.uncertainty(), k));
    }
}

}  // namespace

double density(double decision, const double *marks) {
    if (decision < marks[0]) return 0.001;
    if (decision > marks[DENSITY_MARKS - 1]) return 0.999;
    for (std::size_t i = 1; i < DENSITY_MARKS; ++i)
        if (decision < marks[i]) return static_cast<double>(i) / DENSITY_MARKS;
    return 0;
}

std::tuple<Out<double>, Out<std::uint8_t>> probabilities(In2<double> decisions, In1<double> a, In1<double> b,
                                                         std::size_t classes, std::optional<In2<double>> errors,
                                                         Threads wanted) {
    const std::size_t n = decisions.shape(0), pairs = decisions.shape(1), marks = errors ? n : 0;
    if (classes < 2 || pairs != classes * (classes - 1) / 2 || a.shape(0) != pairs || b.shape(0) != pairs)
        throw std::invalid_argument("one value and one sigmoid for each pair of classes is needed");
    if (errors && (errors->shape(0) != n || errors->shape(1) != pairs))
        throw std::invalid_argument("one error for each value is needed");
    std::unique_ptr<double[]> out(new double[n * classes]);
    std::unique_ptr<std::uint8_t[]> near_boundary(new std::uint8_t[marks]);
    // Two sigmoids a pair, or some rounds of coupling.
    const Threads threads = wanted.for_work(100.0 * double(n) * double(pairs));
    parallel_for(divide_up(n, BLOCK), threads, [&](std::size_t block, std::size_t) {
        const std::size_t first = block * BLOCK, count = std::min(BLOCK, n - first);
        estimate(classes, a.data(), b.data(), decisions.data() + first * pairs,
                 errors ? errors->data() + first * pairs : nullptr, count, out.get() + first * classes,
                 near_boundary.get() + (errors ? first : 0));
    });
    return {give(std::move(out), {n, classes}), give(std::move(near_boundary), {marks})};
}

}  // namespace svmfast
