// Reads well-formed LIBSVM models. Whatever is wrong or unusual is declined: formats/libsvm_model.py reads it, or says
// why it cannot be read.
#include <algorithm>
#include <numeric>
#include <set>

#include "svmfast.hpp"

namespace svmfast {
namespace {

constexpr std::string_view TYPES[] = {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"};
constexpr std::string_view KERNELS[] = {"linear", "polynomial", "rbf", "sigmoid"};
constexpr std::size_t MARKS = 10;
// Bytes that arrays made of a model may take; svmfast/options.py has the limit that users set.
constexpr double MEMORY = double(std::size_t{2} << 30);

// The lines of a header, in the order in which LIBSVM writes them.
struct Header {
    std::string_view rest;

    std::vector<std::string_view> words() const {
        std::string_view line = rest.substr(0, rest.find('\n'));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        std::vector<std::string_view> words;
        for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != line.npos;) {
            const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
            words.push_back(line.substr(at, end - at));
            at = end;
        }
        return words;
    }

    bool has(std::string_view key) const {
        const auto all = words();
        return !all.empty() && all[0] == key;
    }

    // The values of the next line, which must have this key.
    std::vector<std::string_view> take(std::string_view key, std::size_t count) {
        auto values = words();
        require(has(key) && values.size() == count + 1);
        rest.remove_prefix(rest.find('\n') + 1);
        values.erase(values.begin());
        return values;
    }

    template <std::size_t N>
    int choice(std::string_view key, const std::string_view (&known)[N]) {
        const auto found = std::find(known, known + N, take(key, 1)[0]);
        require(found != known + N);
        return static_cast<int>(found - known);
    }

    template <class Number>
    std::vector<Number> numbers(std::string_view key, std::size_t count) {
        std::vector<Number> numbers;
        for (const std::string_view word : take(key, count))
            require(text::scan_number(word.data(), word.data() + word.size(), numbers.emplace_back()));
        return numbers;
    }
    double real(std::string_view key) { return numbers<double>(key, 1)[0]; }
    std::int32_t integer(std::string_view key) { return numbers<std::int32_t>(key, 1)[0]; }
    std::vector<double> reals_if_any(std::string_view key, std::size_t count) {
        return has(key) ? numbers<double>(key, count) : std::vector<double>();
    }
};

}  // namespace

LibsvmModel read_libsvm_model(std::string_view text) {
    require(!text.empty() && text.back() == '\n');
    Header header{text};
    LibsvmModel m;
    m.type = static_cast<SvmType>(header.choice("svm_type", TYPES));
    m.kernel = header.choice("kernel_type", KERNELS);
    const bool polynomial = m.kernel == int(KernelKind::polynomial);
    if (polynomial) m.degree = header.integer("degree");
    if (m.kernel != int(KernelKind::linear)) m.gamma = header.real("gamma");
    if (polynomial || m.kernel == int(KernelKind::sigmoid)) m.coef0 = header.real("coef0");
    const std::int32_t classes = header.integer("nr_class"), total = header.integer("total_sv");
    require(m.degree >= 0 && m.gamma >= 0 && total >= 0 && (m.classifier() ? classes >= 2 : classes == 2));
    const std::size_t k = static_cast<std::size_t>(classes), pairs = k * (k - 1) / 2,
                      n = static_cast<std::size_t>(total);
    require(pairs < text.size());
    m.rho = header.numbers<double>("rho", pairs);
    if (m.classifier()) {
        m.labels = header.numbers<std::int32_t>("label", k);
        require(std::set<std::int32_t>(m.labels.begin(), m.labels.end()).size() == k);
    }
    m.prob_a = header.reals_if_any("probA", pairs);
    m.prob_b = header.reals_if_any("probB", pairs);
    m.density_marks = header.reals_if_any("prob_density_marks", MARKS);
    require(m.classifier() ? m.prob_a.size() == m.prob_b.size() : m.prob_b.empty());
    require(m.type == SvmType::one_class ? m.prob_a.empty() : m.density_marks.empty());
    if (m.classifier()) {
        const auto sizes = header.numbers<std::int32_t>("nr_sv", k);
        require(*std::min_element(sizes.begin(), sizes.end()) >= 0);
        m.group_sizes.assign(sizes.begin(), sizes.end());
    } else {
        m.group_sizes = {total};
    }
    require(std::accumulate(m.group_sizes.begin(), m.group_sizes.end(), std::int64_t{0}) == total);
    header.take("SV", 0);

    const std::size_t width = m.classifier() ? k - 1 : 1;
    svmlight::Options form;
    form.numbers = width;
    Tokenizer tokenizer(form);
    const In1<std::uint8_t> all(reinterpret_cast<const std::uint8_t *>(text.data()), {text.size() + text::padding});
    require(!tokenizer.feed(all, text.size() - header.rest.size(), text.size(), 1));
    svmlight::Block &rows = tokenizer.block();
    require(rows.rows() == n && !rows.noted());
    const double values = double(rows.values.size());
    require(m.kernel == int(KernelKind::linear) || m.gamma > 0 || values == 0);
    // Panels of vectors, but lists where few values are stored (decision.cpp).
    const double dense = 24.0 * double(n) * double(rows.width);
    require(20.0 * double(text.size()) + std::min(dense, 400.0 * values) < MEMORY);
    std::unique_ptr<double[]> coef(new double[width * n]);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < width; ++c) coef[c * n + i] = rows.labels.data()[i * width + c];
    m.sv_coef = give(std::move(coef), {width, n});
    m.indptr = rows.indptr.give(), m.indices = rows.indices.give();
    m.values = rows.values.give(), m.columns = rows.width;
    return m;
}

DecisionSums decision_sums(const LibsvmModel &m) {
    return {m.kernel,
            m.gamma,
            m.coef0,
            m.degree,
            {{m.indptr.data.get(), m.indices.data.get(), m.values.data.get()}, m.indptr.shape[0] - 1},
            In2<double>(m.sv_coef.data.get(), {m.sv_coef.shape[0], m.sv_coef.shape[1]}),
            In1<double>(m.rho.data(), {m.rho.size()}),
            In1<std::int64_t>(m.group_sizes.data(), {m.group_sizes.size()})};
}

}  // namespace svmfast
