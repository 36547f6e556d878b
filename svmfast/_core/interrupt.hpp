// Interruptible native loops. A native loop may take minutes, so long loops ask the caller from time to time whether to
// go on: Python, for example, runs signal handlers only between its own instructions.
#pragma once
#include <atomic>
#include <cstddef>

namespace svmfast {

// Thrown in a helper thread whose caller was interrupted or failed.
struct Abandoned {};

// Sets the function that long loops call, on every thread; it may throw, which ends the loop.
void on_interrupt(void (*ask)());

// Whether the loop that this thread works on has been abandoned.
inline thread_local const std::atomic<bool> *abandoned = nullptr;

// Calls that function unless it was called a moment ago, or throws Abandoned.
void check_interrupt();

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
