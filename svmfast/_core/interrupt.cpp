#include "interrupt.hpp"

#include <pthread.h>

#include <chrono>

#include "fork.hpp"

namespace svmfast {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto BETWEEN = std::chrono::milliseconds(20);  // asking in every call is too expensive

void (*ask_caller)() = nullptr;
thread_local const std::atomic<bool> *watched = nullptr;
thread_local Clock::time_point last_look;

void before_fork() { no_fork().lock(); }
void after_fork() { no_fork().unlock(); }
[[maybe_unused]] const int registered = pthread_atfork(before_fork, after_fork, after_fork);

}  // namespace

std::mutex &no_fork() {
    static std::mutex mutex;
    return mutex;
}

void on_interrupt(void (*ask)()) { ask_caller = ask; }

void check_interrupt() {
    if (watched && watched->load(std::memory_order_relaxed)) throw Abandoned{};
    if (!ask_caller) return;
    const Clock::time_point now = Clock::now();
    if (now - last_look < BETWEEN) return;
    last_look = now;
    ask_caller();
}

WatchedLoop::WatchedLoop(const std::atomic<bool> &given_up) : outer_(watched) { watched = &given_up; }
WatchedLoop::~WatchedLoop() { watched = outer_; }

}  // namespace svmfast
