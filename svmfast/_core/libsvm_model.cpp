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

    // The next word of the line; nothing at its end.
    std::string_view word() {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
        const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n"));
        rest.remove_prefix(word.size());
        return word;
    }
    void end_line() {
        require(word().empty());
        if (rest.substr(0, 1) == "\r") rest.remove_prefix(1);
        require(rest.substr(0, 1) == "\n");
        rest.remove_prefix(1);
    }
    bool has(std::string_view key) const { return Header(*this).word() == key; }

    template <std::size_t N>
    int choice(std::string_view key, const std::string_view (&known)[N]) {
        require(word() == key);
        const auto found = std::find(known, known + N, word());
        require(found != known + N);
        end_line();
        return static_cast<int>(found - known);
    }

    template <class Number>
    std::vector<Number> numbers(std::string_view key, std::size_t count) {
        require(word() == key);
        std::vector<Number> numbers;
        while (numbers.size() < count) {
            const std::string_view digits = word();
            require(text::scan_number(digits.data(), digits.data() + digits.size(), numbers.emplace_back()));
        }
        end_line();
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
    require(header.word() == "SV");
    header.end_line();

    const std::size_t width = m.classifier() ? k - 1 : 1;
    svmlight::Options form;
    form.numbers = width;
    Tokenizer tokenizer(form);
    const In1<std::uint8_t> all(reinterpret_cast<const std::uint8_t *>(text.data()), {text.size() + text::padding});
    require(!tokenizer.feed(all, text.size() - header.rest.size(), text.size(), 1));
    svmlight::Block &rows = tokenizer.block();
    require(rows.rows().count == n && !rows.noted());
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
    return {m.kernel, m.gamma, m.coef0, m.degree, m.vectors(), m.sv_coef, m.rho, m.group_sizes};
}

}  // namespace svmfast
