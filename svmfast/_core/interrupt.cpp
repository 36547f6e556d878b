#include "interrupt.hpp"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <chrono>

#include "fork.hpp"

namespace nb = nanobind;

namespace svmfast {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto BETWEEN = std::chrono::milliseconds(20);

unsigned long main_thread = 0;  // Python's, the only thread in which its handlers run
thread_local const std::atomic<bool> *watched = nullptr;
thread_local Clock::time_point last_look;

void before_fork() { no_fork().lock(); }
void after_fork() { no_fork().unlock(); }

// The thread that forked is the child's main thread.
void after_fork_in_child() {
    after_fork();
    main_thread = PyThread_get_thread_ident();
}

}  // namespace

std::mutex &no_fork() {
    static std::mutex mutex;
    return mutex;
}

void check_interrupt() {
    if (watched && watched->load(std::memory_order_relaxed)) throw Abandoned{};
    if (PyThread_get_thread_ident() != main_thread) return;
    const Clock::time_point now = Clock::now();
    if (now - last_look < BETWEEN) return;
    last_look = now;
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

WatchedLoop::WatchedLoop(const std::atomic<bool> &given_up) : outer_(watched) { watched = &given_up; }
WatchedLoop::~WatchedLoop() { watched = outer_; }

}  // namespace svmfast

void register_interrupt(nanobind::module_ &) {
    pthread_atfork(svmfast::before_fork, svmfast::after_fork, svmfast::after_fork_in_child);
    svmfast::main_thread =
        nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}
