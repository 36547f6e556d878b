// One plain job of svm-predict, from its files to its output and its summary, in bounded memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <numeric>

#include "number_text.hpp"
#include "output_file.hpp"
#include "svmfast.hpp"
#include "vote.hpp"

namespace svmfast {
namespace {

// Bytes of text that are read at a time; longer lines are left to Python.
constexpr std::size_t CHUNK = std::size_t{2} << 20;
// Largest number of values held besides the rows: it bounds the memory for many classes and short rows.
constexpr std::size_t CELLS = std::size_t{1} << 20;
// Left to Python: more distinct labels, and larger data for standard output, which gets nothing before all rows are
// known to be plain.
constexpr std::size_t MOST_LABELS = 1000;
constexpr std::size_t MOST_MODEL = std::size_t{100} << 20;
constexpr std::string_view FIRST_WORD = "svm_type ";
constexpr off_t MOST_TO_STDOUT = off_t{8} << 20;
// Rows whose scale is compared with the model's vectors, and a factor just below that of prediction_words.py.
constexpr std::size_t SCALE_ROWS = 1000, LEAST_SCALE_ROWS = 10;
constexpr double SCALE_FACTOR = 24.9;
// Names of outputs that are compressed, or are tables, or are refused (formats/packing.py, formats/answers.py).
constexpr const char *OTHER_OUTPUTS[] = {
    ".gz",    ".bz2",    ".xz",  ".zst",  ".parquet", ".pq",  ".arrow",  ".feather", ".ipc",    ".csv", ".tsv", ".json",
    ".jsonl", ".ndjson", ".xml", ".html", ".yaml",    ".yml", ".xlsx",   ".xls",     ".xlsm",   ".ods", ".orc", ".avro",
    ".h5",    ".hdf5",   ".npy", ".npz",  ".mat",     ".pkl", ".pickle", ".rds",     ".sqlite", ".db"};

class InputFile {
  public:
    // A pipe is not opened, since its writer would see that.
    explicit InputFile(const std::string &path) {
        require(stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0);
        descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        require(descriptor_ >= 0);
    }
    ~InputFile() { close(descriptor_); }
    InputFile(const InputFile &) = delete;
    InputFile &operator=(const InputFile &) = delete;

    // Fills all of [to, to + room) unless the file ends before.
    std::size_t read(char *to, std::size_t room) {
        std::size_t filled = 0;
        while (filled < room) {
            const ssize_t count = ::read(descriptor_, to + filled, room - filled);
            if (count == 0) {
                // A file that became shorter may have lost the rest of a line that was read in part.
                struct stat now;
                require(fstat(descriptor_, &now) == 0 && lseek(descriptor_, 0, SEEK_CUR) <= now.st_size);
                break;
            }
            require(count > 0);
            filled += static_cast<std::size_t>(count);
        }
        return filled;
    }

    struct stat status{};

  private:
    int descriptor_ = -1;
};

// The input: whole lines of a file, chunk by chunk, with the padding that the tokenizer needs.
class InputLines {
  public:
    explicit InputLines(InputFile &file)
        : file_(file),
          text_(std::min<std::size_t>(CHUNK, static_cast<std::size_t>(file.status.st_size) + 1) + BEHIND, '\0') {}

    // Moves to the next lines, [0, end()); false at the end of the file.
    bool next() {
        std::copy(text_.data() + end_, text_.data() + filled_, text_.data());
        filled_ -= end_;
        const std::size_t room = text_.size() - BEHIND - filled_, count = file_.read(text_.data() + filled_, room);
        filled_ += count;
        if (count < room) {
            if (filled_ && text_[filled_ - 1] != '\n') text_[filled_++] = '\n';
            end_ = filled_;
        } else {
            end_ = std::string_view(text_.data(), filled_).rfind('\n') + 1;  // npos + 1 is 0
            require(end_ > 0);
        }
        return end_ > 0;
    }

    std::size_t end() const { return end_; }
    In1<std::uint8_t> text() const { return {reinterpret_cast<const std::uint8_t *>(text_.data()), {text_.size()}}; }

  private:
    static constexpr std::size_t BEHIND = text::padding + 1;  // and a missing last line end

    InputFile &file_;
    std::string text_;
    std::size_t filled_ = 0, end_ = 0;
};

// Predicts rows, appends their predictions to `text`, a line for each, and counts.
class Predicting {
  public:
    Predicting(const LibsvmModel &model, bool probability, Threads threads)
        : m_(model), probability_(probability && !model.regression()), threads_(threads), sums_(decision_sums(model)),
          labels_(model.labels.begin(), model.labels.end()), p_(model.rho.size()) {
        if (labels_.empty()) labels_ = {1, -1};
        for (const double label : labels_) {
            char word[number_room];
            words_.emplace_back(word, write_digits(word, label, probability_ ? 6 : 17));
            if (!probability_) words_.back() += '\n';
        }
        longest_ = std::max_element(words_.begin(), words_.end(), [](const auto &a, const auto &b) {
                       return a.size() < b.size();
                   })->size();
        if (!probability_) return;
        std::string header = m_.classifier() ? "labels" : "label normal outlier";
        for (const std::int32_t label : m_.labels) header += ' ' + std::to_string(label);
        header += '\n';
        text.append(header.data(), header.size());
    }

    void add(const svmlight::Block &block) {
        const std::size_t n = block.rows(), k = labels_.size();
        const std::size_t step = std::max<std::size_t>(1, CELLS / (1 + p_ + (probability_ ? k * k : 0)));
        for (std::size_t first = 0; first < n; first += step) {
            const std::size_t count = std::min(step, n - first);
            const SparseRows rows{{block.indptr.data() + first, block.indices.data(), block.values.data()}, count};
            const double *targets = block.labels.data() + first;
            look(rows, count);
            if (m_.regression())
                add_values(std::get<0>(sums_.decide(rows, Order::libsvm, threads_)), targets, count);
            else if (probability_)
                add_probabilities(rows, targets);
            else
                add_labels(std::get<0>(sums_.labels(rows, Precision::single_first, threads_)), targets, count);
            found.rows += count;
        }
    }

    // Adds svm-predict's summary, and whether something is remarkable.
    void finish(bool quiet, bool probability) {
        for (const auto &[target, given] : targets_)
            for (std::size_t c = 0; c < given.size(); ++c) {
                if (given[c]) found.confusion.emplace_back(target, labels_[c], given[c]);
                if (labels_[c] == target) found.correct += given[c];
            }
        found.columns = m_.columns;
        found.remarkable = other_scale() || found.unknown || found.differing || class_neglected();
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
    void look(const Csr &rows, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
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

    // Whether some class is recognized far below the accuracy: prediction_words.py decides.
    bool class_neglected() const {
        const double accuracy = static_cast<double>(found.correct) / static_cast<double>(found.rows);
        return std::any_of(targets_.begin(), targets_.end(), [&](const auto &one) {
            const auto at = std::find(labels_.begin(), labels_.end(), one.first) - labels_.begin();
            const auto all = std::accumulate(one.second.begin(), one.second.end(), std::size_t{0});
            const std::size_t right = at < std::ptrdiff_t(labels_.size()) ? one.second[std::size_t(at)] : 0;
            return static_cast<double>(right) <= static_cast<double>(all) * accuracy / 2;
        });
    }

    // Whether the rows may have another scale than the vectors: prediction_words.py decides.
    bool other_scale() {
        const std::size_t vectors = m_.sv_coef.shape[1], n = norms_.size();
        if (n < LEAST_SCALE_ROWS || m_.kernel == int(KernelKind::linear) || !vectors) return false;
        const Csr rows{m_.indptr.data.get(), m_.indices.data.get(), m_.values.data.get()};
        double low = HUGE_VAL, high = 0;
        for (std::size_t i = 0; i < vectors; ++i) {
            const double norm = rows.squared_norm(i);
            low = std::min(low, norm), high = std::max(high, norm);
        }
        std::sort(norms_.begin(), norms_.end());
        const double median = n % 2 ? norms_[n / 2] : (norms_[n / 2 - 1] + norms_[n / 2]) / 2;
        found.scale_rows = n, found.median_norm = median, found.least_norm = low, found.largest_norm = high;
        return median > SCALE_FACTOR * high || SCALE_FACTOR * median < low;
    }

    void count(double target, std::size_t winner) {
        auto &given = targets_[target];
        require(targets_.size() + labels_.size() <= MOST_LABELS);
        given.resize(labels_.size());
        ++given[winner];
    }

    void add_labels(const Out<std::int32_t> &winners, const double *targets, std::size_t n) {
        text.reserve_more(n * longest_);
        char *to = text.end();
        for (std::size_t i = 0; i < n; ++i) {
            const auto winner = static_cast<std::size_t>(winners.data.get()[i]);
            to = std::copy(words_[winner].begin(), words_[winner].end(), to);
            count(targets[i], winner);
        }
        text.set_end(to);
    }

    void add_probabilities(const SparseRows &rows, const double *targets) {
        const std::size_t n = rows.count, k = labels_.size();
        const auto view = [](const std::vector<double> &numbers) {
            return In1<double>(numbers.data(), {numbers.size()});
        };
        const In1<double> a = view(m_.prob_a), b = view(m_.prob_b), marks = view(m_.density_marks);
        const Out<double> decisions = sums_.probability_values(rows, a, b, marks, threads_);
        std::vector<double> normal;
        Out<double> estimates;
        if (m_.classifier()) {
            estimates = std::get<0>(probabilities({decisions.data.get(), {n, p_}}, a, b, k, std::nullopt, threads_));
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                const double inside = density(decisions.data.get()[i], marks.data());
                normal.insert(normal.end(), {inside, 1 - inside});
            }
        }
        const double *row = m_.classifier() ? estimates.data.get() : normal.data();
        std::vector<int> votes(k);
        text.reserve_more(n * (longest_ + k * number_room + 1));
        char *to = text.end();
        for (std::size_t i = 0; i < n; ++i, row += k) {
            const std::size_t voted = winner(decisions.data.get() + i * p_, p_, votes);
            const std::size_t best =
                m_.classifier() ? static_cast<std::size_t>(std::max_element(row, row + k) - row) : voted;
            found.differing += best != voted;
            count(targets[i], best);
            to = std::copy(words_[best].begin(), words_[best].end(), to);
            for (std::size_t c = 0; c < k; ++c) {
                *to++ = ' ';
                to = write_digits(to, row[c], 6);
            }
            *to++ = '\n';
        }
        text.set_end(to);
    }

    void add_values(const Out<double> &values, const double *targets, std::size_t n) {
        text.reserve_more(n * (number_room + 1));
        char *to = text.end();
        for (std::size_t i = 0; i < n; ++i) {
            const double p = values.data.get()[i], t = targets[i];
            to = write_digits(to, p, 17);
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
    std::map<double, std::vector<std::size_t>> targets_;
    std::vector<double> norms_;  // squared, of the first rows
    double squares_ = 0, sum_p_ = 0, sum_t_ = 0, pp_ = 0, tt_ = 0, pt_ = 0;
};

bool ends_with(std::string path, const char *const *endings, std::size_t count) {
    for (char &c : path) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return std::any_of(endings, endings + count, [&](std::string_view end) {
        return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
    });
}

}  // namespace

Prediction predict_file(const PredictJob &job) {
    constexpr const char *tables[] = {".csv", ".tsv"};
    require(!ends_with(job.data, tables, 2) && !ends_with(job.output, OTHER_OUTPUTS, std::size(OTHER_OUTPUTS)));
    struct stat inputs[2];
    std::string text;
    std::size_t size;
    {
        InputFile file(job.model);
        inputs[0] = file.status;
        size = static_cast<std::size_t>(file.status.st_size);
        require(FIRST_WORD.size() < size && size < MOST_MODEL);
        text.resize(FIRST_WORD.size());
        // As LIBSVM writes it; of another file nothing more is read.
        require(file.read(text.data(), text.size()) == text.size() && text == FIRST_WORD);
        text.resize(size + text::padding);
        const std::size_t rest = size - FIRST_WORD.size();
        require(file.read(text.data() + FIRST_WORD.size(), rest) == rest);
    }
    const LibsvmModel model = read_libsvm_model(std::string_view(text).substr(0, size));
    require(!job.probability || model.has_probability());
    text = std::string();
    InputFile data(job.data);
    inputs[1] = data.status;
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
        if (!begun) require(out.open(job.output, inputs, 2));
        begun = true;
        if (job.output == "-") continue;
        require(out.write(predicting.text.data(), predicting.text.size()));
        predicting.text.clear();
    }
    require(predicting.found.rows > 0);
    predicting.finish(job.quiet, job.probability);
    require(out.write(predicting.text.data(), predicting.text.size()) && out.finish());
    predicting.found.job = job;
    return std::move(predicting.found);
}

}  // namespace svmfast
