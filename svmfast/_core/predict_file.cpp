// One plain job of svm-predict, from its arguments to its output and its summary, in bounded memory.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>  // defines __GLIBC__
#include <map>
#include <thread>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

#include "files.hpp"
#include "svmfast.hpp"
#include "vote.hpp"

namespace svmfast {
namespace {

// Largest number of values held besides the rows: it bounds the memory for many classes and short rows.
constexpr std::size_t CELLS = std::size_t{1} << 20;
// Left to Python: more distinct labels, and larger data for standard output, which gets nothing before all rows are
// known to be plain.
constexpr std::size_t MOST_LABELS = 1000;
constexpr std::size_t MOST_MODEL = std::size_t{100} << 20;
constexpr std::string_view FIRST_WORD = "svm_type ";
constexpr off_t MOST_TO_STDOUT = off_t{8} << 20;
// Rows whose scale is compared with the model's vectors.
constexpr std::size_t SCALE_ROWS = 1000, LEAST_SCALE_ROWS = 10;
constexpr std::string_view TABLES[] = {".csv", ".tsv"};
// Names of outputs that are compressed, or are tables, or are refused (formats/packing.py, formats/answers.py).
constexpr std::string_view OTHER_OUTPUTS[] = {
    ".gz",    ".bz2",    ".xz",  ".zst",  ".parquet", ".pq",  ".arrow",  ".feather", ".ipc",    ".csv", ".tsv", ".json",
    ".jsonl", ".ndjson", ".xml", ".html", ".yaml",    ".yml", ".xlsx",   ".xls",     ".xlsm",   ".ods", ".orc", ".avro",
    ".h5",    ".hdf5",   ".npy", ".npz",  ".mat",     ".pkl", ".pickle", ".rds",     ".sqlite", ".db"};

// Predicts rows, appends their predictions to `text`, a line for each, and counts.
class Predicting {
  public:
    Predicting(const LibsvmModel &model, bool probability, Threads threads)
        : m_(model), probability_(probability && !model.regression()), threads_(threads), sums_(decision_sums(model)),
          labels_(model.labels.begin(), model.labels.end()), p_(model.rho.size()) {
        if (labels_.empty()) labels_ = {1, -1};
        predicted_.resize(labels_.size());
        for (const double label : labels_) {
            char word[text::number_room];
            words_.emplace_back(word, text::write_digits(word, label, probability_ ? 6 : 17));
            longest_ = std::max(longest_, words_.back().size());
        }
        if (!probability_) return;
        std::string header = m_.classifier() ? "labels" : "label normal outlier";
        for (const std::int32_t label : m_.labels) header += ' ' + std::to_string(label);
        header += '\n';
        text.append(header.data(), header.size());
    }

    void add(const svmlight::Block &block) {
        const std::size_t n = block.rows().count, k = labels_.size();
        const std::size_t step = std::max<std::size_t>(1, CELLS / (1 + p_ + (probability_ ? k * k : 0)));
        for (std::size_t first = 0; first < n; first += step) {
            const std::size_t count = std::min(step, n - first);
            const SparseRows rows{{block.indptr.data() + first, block.indices.data(), block.values.data()}, count};
            const double *targets = block.labels.data() + first;
            look(rows);
            if (m_.regression())
                add_values(std::get<0>(sums_.decide(rows, true, threads_)), targets, count);
            else if (probability_)
                add_probabilities(rows, targets);
            else
                add_lines(std::get<0>(sums_.labels(rows, threads_)).data.get(), nullptr, targets, count);
            found.rows += count;
        }
    }

    // Adds svm-predict's summary, and what is known of all rows.
    void finish(bool quiet, bool probability) {
        for (std::size_t c = 0; c < labels_.size(); ++c)
            if (predicted_[c]) classes_[labels_[c]].predicted = predicted_[c];
        for (const auto &[label, n] : classes_) {
            found.classes.emplace_back(label, n.rows, n.predicted, n.correct);
            found.correct += n.correct;
        }
        found.columns = m_.columns;
        take_scales();
        if (quiet) return;
        if (!probability && m_.has_probability())
            found.summary = "Model supports probability estimates, but disabled in prediction.\n";
        if (probability && m_.regression())
            say("Prob. model for test data: target value = predicted value + z,\n"
                "z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma=%g\n",
                m_.prob_a[0]);
        const double n = static_cast<double>(found.rows);
        if (!m_.regression())
            return say("Accuracy = %g%% (%zu/%zu) (classification)\n", 100 * static_cast<double>(found.correct) / n,
                       found.correct, found.rows);
        const double across = n * pt_ - sum_p_ * sum_t_;
        const double scc = across * across / ((n * pp_ - sum_p_ * sum_p_) * (n * tt_ - sum_t_ * sum_t_));
        // Without the sign of a nan.
        say("Mean squared error = %g (regression)\n", std::fabs(squares_ / n));
        say("Squared correlation coefficient = %g (regression)\n", std::isnan(scc) ? std::fabs(scc) : scc);
    }

    Growing<char> text;
    Prediction found;

  private:
    // Counts rows with features that the model does not have, and takes the norms of the first rows.
    void look(const SparseRows &rows) {
        for (std::size_t i = 0; i < rows.count; ++i) {
            const std::int64_t begin = rows.indptr[i], end = rows.indptr[i + 1];
            if (begin < end && rows.indices[end - 1] >= m_.columns) {
                ++found.unknown;
                found.largest_column = std::max<std::int64_t>(found.largest_column, rows.indices[end - 1]);
            }
            if (norms_.size() < SCALE_ROWS) norms_.push_back(rows.squared_norm(i));
        }
    }

    template <class... Numbers>
    void say(const char *format, Numbers... numbers) {
        char line[400];
        std::snprintf(line, sizeof line, format, numbers...);
        found.summary += line;
    }

    void take_scales() {
        const std::size_t n = norms_.size();
        const SparseRows vectors = m_.vectors();
        if (n < LEAST_SCALE_ROWS || m_.kernel == int(KernelKind::linear) || !vectors.count) return;
        std::sort(norms_.begin(), norms_.end());
        found.scale_rows = n;
        found.median_norm = n % 2 ? norms_[n / 2] : (norms_[n / 2 - 1] + norms_[n / 2]) / 2;
        found.least_norm = HUGE_VAL, found.largest_norm = 0;
        for (std::size_t i = 0; i < vectors.count; ++i) {
            const double norm = vectors.squared_norm(i);
            found.least_norm = std::min(found.least_norm, norm);
            found.largest_norm = std::max(found.largest_norm, norm);
        }
    }

    void count(double target, std::size_t winner) {
        OfClass &given = classes_[target];
        require(classes_.size() <= MOST_LABELS);
        ++given.rows;
        given.correct += labels_[winner] == target;
        ++predicted_[winner];
    }

    void add_probabilities(const SparseRows &rows, const double *targets) {
        const std::size_t n = rows.count, k = labels_.size();
        const In1<double> a = m_.prob_a, b = m_.prob_b, marks = m_.density_marks;
        const Out<double> decisions = sums_.probability_values(rows, a, b, marks, threads_);
        Out<double> coupled;
        std::vector<double> normal;
        if (m_.classifier()) coupled = std::get<0>(probabilities(decisions, a, b, k, std::nullopt, threads_));
        for (std::size_t i = 0; i < n && !m_.classifier(); ++i) {
            const double inside = density(decisions.data.get()[i], marks.data());
            normal.insert(normal.end(), {inside, 1 - inside});
        }
        const double *const estimates = m_.classifier() ? coupled.data.get() : normal.data();
        std::vector<std::int32_t> best(n);
        std::vector<int> votes(k);
        for (std::size_t i = 0; i < n; ++i) {
            const double *const row = estimates + i * k;
            const auto voted = static_cast<std::int32_t>(winner(decisions.data.get() + i * p_, p_, votes));
            best[i] = m_.classifier() ? static_cast<std::int32_t>(std::max_element(row, row + k) - row) : voted;
            found.differing += best[i] != voted;
        }
        add_lines(best.data(), estimates, targets, n);
    }

    // Each row's line: the label of its class and, if given, the estimates of all classes.
    void add_lines(const std::int32_t *best, const double *estimates, const double *targets, std::size_t n) {
        const std::size_t k = estimates ? labels_.size() : 0;
        text.reserve_more(n * (longest_ + k * text::number_room + 1));
        char *to = text.end();
        for (std::size_t i = 0; i < n; ++i) {
            const std::string &word = words_[best[i]];
            to = std::copy(word.begin(), word.end(), to);
            for (std::size_t c = 0; c < k; ++c) {
                *to++ = ' ';
                to = text::write_digits(to, estimates[i * k + c], 6);
            }
            *to++ = '\n';
            count(targets[i], best[i]);
        }
        text.set_end(to);
    }

    void add_values(const Out<double> &values, const double *targets, std::size_t n) {
        text.reserve_more(n * (text::number_room + 1));
        char *to = text.end();
        for (std::size_t i = 0; i < n; ++i) {
            const double p = values.data.get()[i], t = targets[i];
            to = text::write_digits(to, p, 17);
            *to++ = '\n';
            squares_ += (p - t) * (p - t);
            sum_p_ += p, sum_t_ += t, pp_ += p * p, tt_ += t * t, pt_ += p * t;
        }
        text.set_end(to);
    }

    const LibsvmModel &m_;
    const bool probability_;
    const Threads threads_;
    DecisionSums sums_;
    std::vector<double> labels_;
    const std::size_t p_;
    std::vector<std::string> words_;
    std::size_t longest_ = 0;
    struct OfClass {
        std::size_t rows, predicted, correct;
    };
    std::map<double, OfClass> classes_;
    std::vector<std::size_t> predicted_;  // rows for each of labels_
    std::vector<double> norms_;           // squared, of the first rows
    double squares_ = 0, sum_p_ = 0, sum_t_ = 0, pp_ = 0, tt_ = 0, pt_ = 0;
};

Threads usable_threads() {
    long long threads = std::thread::hardware_concurrency();
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) threads = CPU_COUNT(&set);
#endif
    const char *limit = std::getenv("OMP_NUM_THREADS");
    const long long most = limit ? std::atoll(limit) : 0;
    return most > 0 ? std::min(threads, most) : threads;
}

template <std::size_t N>
bool ends_with(std::string path, const std::string_view (&endings)[N]) {
    for (char &c : path) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return std::any_of(endings, endings + N, [&](std::string_view end) {
        return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
    });
}

}  // namespace

PredictJob plain_job(const std::vector<std::string> &arguments) {
    PredictJob job;
    bool b = false;
    int threads = 0;
    std::vector<std::string> files;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string &word = arguments[i], next = i + 1 < arguments.size() ? arguments[i + 1] : "";
        if (word == "-b" && !b && (next == "0" || next == "1")) {
            b = true, job.probability = next == "1", ++i;
        } else if (word == "-j" && !threads && text::scan_number(next.data(), next.data() + next.size(), threads) &&
                   threads > 0 && threads < 100) {
            ++i;
        } else if (word == "-q" && !job.quiet) {
            job.quiet = true;
        } else if (word.empty() || (word[0] == '-' && (word.size() > 1 || files.size() < 2))) {
            throw Declined();
        } else {
            files.push_back(word);
        }
    }
    require(files.size() == 2 || files.size() == 3);
    job.threads = threads ? Threads(threads) : usable_threads();
    job.data = files[0], job.model = files[1];
    if (files.size() == 3) job.output = files[2];
    return job;
}

void keep_freed_memory() {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc allows
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

Prediction predict_file(const PredictJob &job) {
    require(!ends_with(job.data, TABLES) && !ends_with(job.output, OTHER_OUTPUTS));
    InputFile model_file(job.model);
    const auto size = static_cast<std::size_t>(model_file.status.st_size), rest = size - FIRST_WORD.size();
    require(FIRST_WORD.size() < size && size < MOST_MODEL);
    std::string text(FIRST_WORD.size(), '\0');
    // As LIBSVM writes it; of another file nothing more is read.
    require(model_file.read(text.data(), text.size()) == text.size() && text == FIRST_WORD);
    text.resize(size + text::padding);
    require(model_file.read(text.data() + FIRST_WORD.size(), rest) == rest);
    const LibsvmModel model = read_libsvm_model({text.data(), size});
    require(!job.probability || model.has_probability());
    text = std::string();
    InputFile data(job.data);
    require(job.output != "-" || data.status.st_size <= MOST_TO_STDOUT);
    OutputFile out;
    InputLines lines(data);
    Tokenizer tokenizer({});
    Predicting predicting(model, job.probability, job.threads);
    bool begun = false;
    while (lines.next()) {
        check_interrupt();
        const char first = static_cast<char>(lines.text().data()[0]);
        require(begun || text::is_digit(first) || first == '+' || first == '-' || first == '.');
        require(!tokenizer.feed(lines.text(), 0, lines.end(), job.threads));
        require(!tokenizer.block().noted());
        predicting.add(tokenizer.block());
        tokenizer.block().clear();
        if (!begun) out.open(job.output, {model_file.status, data.status});
        begun = true;
        if (job.output == "-") continue;
        out.write(predicting.text.data(), predicting.text.size());
        predicting.text.clear();
    }
    require(predicting.found.rows > 0);
    predicting.finish(job.quiet, job.probability);
    out.write(predicting.text.data(), predicting.text.size());
    out.finish();
    predicting.found.job = job;
    return std::move(predicting.found);
}

}  // namespace svmfast
