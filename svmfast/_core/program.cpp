// svmfast-predict: svm-predict's arguments and output. A plain job takes one call of the library; any other is handed
// to the svmfast program in the same folder, and no output has appeared then.
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

#include "svmfast.hpp"

namespace {

volatile std::sig_atomic_t signal_to_end = 0;

struct Interrupted {};

void remember(int number) { signal_to_end = number; }

void stop_if_asked() {
    if (signal_to_end) throw Interrupted{};
}

void watch_signals() {
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write()
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction now{};
        // A shell's background job ignores interrupts, and a job under nohup ignores SIGHUP.
        if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) std::signal(number, remember);
    }
    svmfast::on_interrupt = stop_if_asked;
}

[[noreturn]] void hand_over(char **arguments, int count) {
    char named[PATH_MAX] = "/proc/self/exe", predict[] = "predict";
#if defined(__APPLE__)
    std::uint32_t room = sizeof named;
    _NSGetExecutablePath(named, &room);
#endif
    std::string path;
    if (const char *own = realpath(named, nullptr)) {  // its links resolved
        path.assign(own, std::strrchr(own, '/')).append("/svmfast");
        std::vector<char *> all{path.data(), predict};
        all.insert(all.end(), arguments, arguments + count + 1);  // and the null at the end
        execv(path.c_str(), all.data());
    }
    std::fprintf(stderr, "svmfast-predict: cannot run '%s': %s\n", path.c_str(), std::strerror(errno));
    std::_Exit(2);
}

bool streams_are_open() {
    for (int descriptor = 0; descriptor < 3; ++descriptor)
        if (fcntl(descriptor, F_GETFD) < 0) return false;
    return true;
}

}  // namespace

int main(int argc, char **argv) {
    try {
        const auto job = svmfast::plain_job({argv + 1, argv + argc});
        svmfast::require(streams_are_open());
        watch_signals();
        svmfast::keep_freed_memory();
        const auto found = svmfast::predict_file(job);
        std::FILE *const stream = job.output == "-" ? stderr : stdout;
        std::fputs(found.summary.c_str(), stream);
        std::fflush(stream);
        std::_Exit(0);  // without giving back memory
    } catch (const Interrupted &) {
        return 128 + signal_to_end;
    } catch (const std::exception &) {  // not plain, or no memory, for example: the command reports it
        hand_over(argv + 1, argc - 1);
    }
}
