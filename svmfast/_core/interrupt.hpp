// Native work that heeds signals. Python runs a signal's handler only between two of its own instructions, and a loop
// in here may take minutes: long loops therefore ask, now and then, whether a signal has come.
#pragma once
#include <atomic>
#include <cstddef>

namespace svmfast {

// Thrown in a helper thread whose caller was interrupted or failed.
struct Abandoned {};

// Throws what a signal's handler raised (on Python's main thread), or Abandoned where the loop that this thread helps
// with has been given up. Looks at the clock first: asking Python costs more than a call may.
void heed_interrupt();

// Makes heed_interrupt() of this thread watch `given_up` as well, for as long as the object lives.
class WatchedLoop {
  public:
    explicit WatchedLoop(const std::atomic<bool> &given_up);
    ~WatchedLoop();
    WatchedLoop(const WatchedLoop &) = delete;
    WatchedLoop &operator=(const WatchedLoop &) = delete;

  private:
    const std::atomic<bool> *outer_;
};

// Calls heed_interrupt() after every few milliseconds of work: the loop says how many operations (multiply-adds) it
// did.
class Pulse {
  public:
    void spent(std::size_t operations) {
        done_ += operations;
        if (done_ < BEAT) return;
        done_ = 0;
        heed_interrupt();
    }

  private:
    static constexpr std::size_t BEAT = std::size_t{1} << 22;
    std::size_t done_ = 0;
};

}  // namespace svmfast
