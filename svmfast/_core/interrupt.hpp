// Interruptible native loops. A native loop may take minutes, so long loops ask the caller from time to time whether to
// go on: Python, for example, runs signal handlers only between its own instructions.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>

namespace svmfast {

// Thrown in a helper thread whose caller was interrupted or failed.
struct Abandoned {};

// The function that long loops call, on every thread; it may throw, which ends the loop.
inline void (*on_interrupt)() = nullptr;

// Whether the loop that this thread works on has been abandoned.
inline thread_local const std::atomic<bool> *abandoned = nullptr;

// Calls that function unless it was called a moment ago, or throws Abandoned.
[[gnu::noinline]] inline void check_interrupt() {
    using Clock = std::chrono::steady_clock;
    constexpr auto between = std::chrono::milliseconds(20);  // asking in every call is too expensive
    static thread_local Clock::time_point last_look;
    if (abandoned && abandoned->load(std::memory_order_relaxed)) throw Abandoned{};
    if (!on_interrupt) return;
    const Clock::time_point now = Clock::now();
    if (now - last_look < between) return;
    last_look = now;
    on_interrupt();
}

// Calls check_interrupt() after every few milliseconds of work, measured by the operations (multiply-adds) that the
// loop reports.
class Pulse {
  public:
    void spent(std::size_t operations) {
        done_ += operations;
        if (done_ < BEAT) return;
        done_ = 0;
        check_interrupt();
    }

  private:
    static constexpr std::size_t BEAT = std::size_t{1} << 22;
    std::size_t done_ = 0;
};

}  // namespace svmfast
