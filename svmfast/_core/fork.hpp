// What a process does once, and what becomes of it where the process forks: the child has one thread, the one that
// forked, so a lock that another thread holds at that moment would stay locked for good.
#pragma once
#include <atomic>
#include <mutex>

namespace svmfast {

// Held while something is done once; a fork waits for it. Whoever holds it must not wait for Python, in which the fork
// is called.
std::mutex &no_fork();

// Does something once, whichever threads ask for it at the same time. Like std::once_flag, but safe to use in the child
// of a fork that came in between. What throws is tried again.
class Once {
  public:
    template <class Body>
    void call(Body &&body) {
        if (done_.load(std::memory_order_acquire)) return;
        std::lock_guard<std::mutex> lock(no_fork());
        if (done_.load(std::memory_order_relaxed)) return;
        body();
        done_.store(true, std::memory_order_release);
    }

  private:
    std::atomic<bool> done_{false};
};

}  // namespace svmfast
