// svm-predict's arguments.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "svmfast.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace svmfast {
namespace {

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

}  // namespace

PredictJob plain_job(const std::vector<std::string> &arguments) {
    PredictJob job;
    bool b = false, j = false;
    std::vector<std::string> files;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string &word = arguments[i], next = i + 1 < arguments.size() ? arguments[i + 1] : "";
        if (word == "-b" && !b && (next == "0" || next == "1")) {
            b = true, job.probability = next == "1", ++i;
        } else if (word == "-j" && !j && next.size() <= 2 && !next.empty() &&
                   next.find_first_not_of("0123456789") == next.npos && std::stoi(next) > 0) {
            j = true, job.threads = std::stoi(next), ++i;
        } else if (word == "-q" && !job.quiet) {
            job.quiet = true;
        } else if (word.empty() || (word[0] == '-' && (word.size() > 1 || files.size() < 2))) {
            throw Declined();
        } else {
            files.push_back(word);
        }
    }
    require(files.size() == 2 || files.size() == 3);
    if (!j) job.threads = usable_threads();
    job.data = files[0], job.model = files[1];
    if (files.size() == 3) job.output = files[2];
    return job;
}

}  // namespace svmfast
