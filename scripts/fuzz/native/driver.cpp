// Runs a fuzz target without libFuzzer, for compilers that lack it: every seed, then random changes of seeds.
//
//     target RUNS SEED SECONDS FAILED FILE...
//
// Ends after RUNS inputs or SECONDS, whichever comes first; an input that fails is kept in FAILED.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *input, std::size_t size);

namespace {

std::string current;
const char *kept = nullptr;

void keep(int number) {
    std::ofstream(kept, std::ios::binary) << current;
    std::signal(number, SIG_DFL);
    std::raise(number);
}

void run(const std::string &text) {
    current = text;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(text.data()), text.size());
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 6) return std::fprintf(stderr, "target RUNS SEED SECONDS FAILED FILE...\n"), 2;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atol(arguments[3]));
    kept = arguments[4];
    for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(number, keep);
    const long runs = std::atol(arguments[1]);
    std::mt19937_64 random(std::strtoull(arguments[2], nullptr, 10));
    std::vector<std::string> seeds;
    for (int i = 5; i < count; ++i) {
        std::ifstream file(arguments[i], std::ios::binary);
        seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        run(seeds.back());
    }
    const std::string pieces = "0123456789+-.eE:# \t\r\n\n  ,x?q\x80\xff";
    long i = 0;
    for (; i < runs && (i % 256 || std::chrono::steady_clock::now() < end); ++i) {
        std::string text = seeds[random() % seeds.size()];
        for (unsigned change = 0; change <= random() % 4 && !text.empty(); ++change) {
            const std::size_t at = random() % text.size();
            switch (random() % 6) {
                case 0:
                    text[at] = static_cast<char>(random());
                    break;
                case 1:
                    text[at] = pieces[random() % pieces.size()];
                    break;
                case 2:
                    text.insert(at, 1, pieces[random() % pieces.size()]);
                    break;
                case 3:
                    text.erase(at, 1 + random() % 8);
                    break;
                case 4:
                    text.insert(at, text.substr(random() % text.size(), random() % 40));
                    break;
                default: {
                    const std::string &other = seeds[random() % seeds.size()];
                    if (!other.empty()) text.insert(at, other.substr(random() % other.size(), random() % 60));
                }
            }
        }
        run(text);
    }
    std::printf("%ld inputs, no difference\n", i + static_cast<long>(seeds.size()));
    return 0;
}
