#include "interrupt.hpp"

#include <chrono>

namespace svmfast {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto BETWEEN = std::chrono::milliseconds(20);  // asking in every call is too expensive

void (*ask_caller)() = nullptr;
thread_local Clock::time_point last_look;

}  // namespace

void on_interrupt(void (*ask)()) { ask_caller = ask; }

void check_interrupt() {
    if (abandoned && abandoned->load(std::memory_order_relaxed)) throw Abandoned{};
    if (!ask_caller) return;
    const Clock::time_point now = Clock::now();
    if (now - last_look < BETWEEN) return;
    last_look = now;
    ask_caller();
}

}  // namespace svmfast
