// Work that a process does once, safely across forks: the child has one thread, the one that forked, so a lock that
// another thread held at that moment would stay locked forever.
#pragma once
#include <pthread.h>

#include <atomic>
#include <mutex>

namespace svmfast {

// Held during such work; a fork waits for it. The holder must not wait for the interpreter, which calls fork.
inline std::mutex no_fork;
[[maybe_unused]] inline const int registered =
    pthread_atfork([] { no_fork.lock(); }, [] { no_fork.unlock(); }, [] { no_fork.unlock(); });

// Calls a function once, however many threads call at the same time. Like std::once_flag, but safe in the child of a
// fork during the call. After an exception the next call tries again.
class Once {
  public:
    template <class Body>
    void call(Body &&body) {
        if (done_.load(std::memory_order_acquire)) return;
        std::lock_guard<std::mutex> lock(no_fork);
        if (done_.load(std::memory_order_relaxed)) return;
        body();
        done_.store(true, std::memory_order_release);
    }

  private:
    std::atomic<bool> done_{false};
};

}  // namespace svmfast
