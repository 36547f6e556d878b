// Reads well-formed LIBSVM models. Whatever is wrong or unusual is declined: formats/libsvm_model.py reads it, or says
// why it cannot be read.
#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>

#include "loops.hpp"
#include "rounding.hpp"
#include "svmfast.hpp"

namespace svmfast {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::string_view TYPES[] = {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"};
constexpr std::string_view KERNELS[] = {"linear", "polynomial", "rbf", "sigmoid"};
constexpr std::size_t MARKS = 10;
// Bytes that arrays made of a model may take; svmfast/options.py has the limit that users set.
constexpr double MEMORY = double(std::size_t{2} << 30);

struct Declined {};

void require(bool fine) {
    if (!fine) throw Declined{};
}

// The lines of a header, in the order in which LIBSVM writes them.
class Header {
  public:
    explicit Header(std::string_view text) : rest(text) {}

    double real(std::string_view key) { return reals(key, 1).front(); }
    std::int32_t integer(std::string_view key) { return integers(key, 1).front(); }

    std::size_t choice(std::string_view key, const std::string_view *first, const std::string_view *last) {
        const Words words = take(key, 1);
        const auto found = std::find(first, last, words.front());
        require(found != last);
        return static_cast<std::size_t>(found - first);
    }

    std::vector<double> reals(std::string_view key, std::size_t count) {
        std::vector<double> numbers;
        for (const std::string_view word : take(key, count)) {
            double number;
            require(text::scan_double(word.data(), word.data() + word.size(), number) == text::Scan::ok);
            numbers.push_back(number);
        }
        return numbers;
    }

    std::vector<std::int32_t> integers(std::string_view key, std::size_t count) {
        std::vector<std::int32_t> numbers;
        for (const std::string_view word : take(key, count)) {
            std::int64_t number;
            require(text::scan_int64(word.data(), word.data() + word.size(), number) == text::Scan::ok);
            numbers.push_back(static_cast<std::int32_t>(number));
            require(numbers.back() == number);
        }
        return numbers;
    }

    // None where the next line has another key.
    std::vector<double> reals_if_any(std::string_view key, std::size_t count) {
        const Words words = split(rest.substr(0, rest.find('\n')));
        return !words.empty() && words.front() == key ? reals(key, count) : std::vector<double>();
    }

    // The values of the next line, which must have this key.
    Words take(std::string_view key, std::size_t count) {
        const std::size_t end = rest.find('\n');
        require(end != rest.npos);
        Words words = split(rest.substr(0, end));
        rest.remove_prefix(end + 1);
        require(words.size() == count + 1 && words.front() == key);
        words.erase(words.begin());
        return words;
    }

    std::string_view rest;

  private:
    static Words split(std::string_view line) {
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        Words words;
        const auto blank = [](char c) { return c == ' ' || c == '\t'; };
        for (auto at = line.begin(); at != line.end();) {
            const auto begin = std::find_if_not(at, line.end(), blank);
            at = std::find_if(begin, line.end(), blank);
            if (begin != at) words.push_back(line.substr(static_cast<std::size_t>(begin - line.begin()), at - begin));
        }
        return words;
    }
};

LibsvmModel read(std::string_view text) {
    require(!text.empty() && text.back() == '\n');
    Header header(text);
    LibsvmModel m;
    m.type = static_cast<SvmType>(header.choice("svm_type", std::begin(TYPES), std::end(TYPES)));
    m.kernel = static_cast<int>(header.choice("kernel_type", std::begin(KERNELS), std::end(KERNELS)));
    const bool polynomial = m.kernel == int(KernelKind::polynomial);
    if (polynomial) m.degree = header.integer("degree");
    if (m.kernel != int(KernelKind::linear)) m.gamma = header.real("gamma");
    if (polynomial || m.kernel == int(KernelKind::sigmoid)) m.coef0 = header.real("coef0");
    const std::int32_t classes = header.integer("nr_class"), total = header.integer("total_sv");
    require(m.degree >= 0 && m.gamma >= 0 && total >= 0 && (m.classifier() ? classes >= 2 : classes == 2));
    const std::size_t k = static_cast<std::size_t>(classes), pairs = k * (k - 1) / 2,
                      n = static_cast<std::size_t>(total);
    require(pairs < text.size());
    m.rho = header.reals("rho", pairs);
    if (m.classifier()) {
        m.labels = header.integers("label", k);
        require(std::set<std::int32_t>(m.labels.begin(), m.labels.end()).size() == k);
    }
    m.prob_a = header.reals_if_any("probA", pairs);
    m.prob_b = header.reals_if_any("probB", pairs);
    m.density_marks = header.reals_if_any("prob_density_marks", MARKS);
    require(m.classifier() ? m.prob_a.size() == m.prob_b.size() : m.prob_b.empty());
    require(m.type == SvmType::one_class ? m.prob_a.empty() : m.density_marks.empty());
    if (m.classifier()) {
        const auto sizes = header.integers("nr_sv", k);
        require(*std::min_element(sizes.begin(), sizes.end()) >= 0);
        m.group_sizes.assign(sizes.begin(), sizes.end());
    } else {
        m.group_sizes = {total};
    }
    require(std::accumulate(m.group_sizes.begin(), m.group_sizes.end(), std::int64_t{0}) == total);
    header.take("SV", 0);

    const std::size_t width = m.classifier() ? k - 1 : 1;
    auto [fault, position, coef, indptr, indices, values, columns] =
        read_sv_section(text, static_cast<std::size_t>(header.rest.data() - text.data()), n, width, false);
    require(fault == 0 && !(m.kernel != int(KernelKind::linear) && m.gamma == 0 && values.shape[0]));
    // Panels of vectors, but lists where few values are stored (decision.cpp).
    const double dense = 24.0 * double(n) * double(columns), listed = 400.0 * double(values.shape[0]);
    require(20.0 * double(text.size()) + std::min(dense, listed) < MEMORY);
    m.sv_coef = std::move(coef), m.indptr = std::move(indptr), m.indices = std::move(indices);
    m.values = std::move(values), m.columns = columns;
    return m;
}

}  // namespace

std::optional<LibsvmModel> read_libsvm_model(std::string_view text) {
    try {
        return read(text);
    } catch (const Declined &) {
    } catch (const std::invalid_argument &) {  // more support vectors than the text can hold
    }
    return std::nullopt;
}

DecisionSums decision_sums(const LibsvmModel &m) {
    const auto view = [](const auto &out) {
        return View<std::decay_t<decltype(*out.data)>, 1>(out.data.get(), {out.shape[0]});
    };
    return {m.kernel,
            m.gamma,
            m.coef0,
            m.degree,
            view(m.indptr),
            view(m.indices),
            view(m.values),
            In2<double>(m.sv_coef.data.get(), {m.sv_coef.shape[0], m.sv_coef.shape[1]}),
            In1<double>(m.rho.data(), {m.rho.size()}),
            In1<std::int64_t>(m.group_sizes.data(), {m.group_sizes.size()})};
}

}  // namespace svmfast
