// A simple fork-join loop. Threads are started for each call and end with it, so an idle svmfast has none. An atomic
// counter assigns the items, so a slow core takes fewer of them.
#pragma once
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "interrupt.hpp"

namespace svmfast {

// Multiply-adds that a thread computes in less than a tenth of a millisecond. For fewer the caller works alone:
// starting others takes as long. Tests set it to 0, so that small problems use threads too.
inline std::atomic<double> least_threaded_work{2e6};

// The number of threads that a caller allows: any integer, limited to 1 .. MOST.
class Threads {
  public:
    static constexpr int MOST = 1024;
    Threads(long long wanted = 1) : count_(static_cast<int>(std::clamp<long long>(wanted, 1, MOST))) {}
    operator std::size_t() const { return static_cast<std::size_t>(count_); }

    Threads for_work(double multiply_adds) const { return multiply_adds < least_threaded_work ? Threads(1) : *this; }

  private:
    int count_;
};

// Calls body(item, worker) for every item in [0, n_items). The result of an item must not depend on the worker, which
// only selects scratch space; results are then the same for any number of threads. If the system cannot start more
// threads, the running ones do all the work. Interrupts are handled between items, and within them if the body calls
// check_interrupt().
template <class Body>
void parallel_for(std::size_t n_items, std::size_t n_threads, Body &&body) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> given_up{false};
    std::exception_ptr failure;
    std::mutex mutex;
    auto attempt = [&](auto &&work) {
        try {
            work();
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex);
            if (!failure) failure = std::current_exception();
            given_up.store(true);
        }
    };
    auto run = [&](std::size_t worker) {
        const auto *const outer = std::exchange(abandoned, &given_up);
        attempt([&] {
            for (std::size_t i; (i = next.fetch_add(1)) < n_items;) {
                check_interrupt();
                body(i, worker);
            }
        });
        abandoned = outer;
    };
    // A helper that starts after all items are taken ends at once, and nobody waits for it: what it looks at is its
    // own.
    struct Start {
        std::mutex mutex;
        std::condition_variable ended;
        std::size_t running = 0;
        bool over = false;
    };
    const auto start = std::make_shared<Start>();
    const std::size_t workers = std::max<std::size_t>(1, std::min(n_threads, n_items));
    try {
        for (std::size_t w = 1; w < workers; ++w)
            std::thread([start, w, &run] {
                {
                    std::lock_guard<std::mutex> lock(start->mutex);
                    if (start->over) return;
                    ++start->running;
                }
                run(w);
                std::lock_guard<std::mutex> lock(start->mutex);
                --start->running;
                start->ended.notify_one();
            }).detach();
    } catch (const std::exception &) {  // std::system_error: no more threads; std::bad_alloc: no memory for one
    }
    run(0);
    // Other threads may have long items left; an interrupt must not wait for them.
    std::unique_lock<std::mutex> lock(start->mutex);
    start->over = true;
    while (!start->ended.wait_for(lock, std::chrono::milliseconds(20), [&] { return start->running == 0; })) {
        lock.unlock();
        if (!given_up.load()) attempt(check_interrupt);
        lock.lock();
    }
    if (failure) std::rethrow_exception(failure);
}

// Held during work that a process does once, safely across forks: the child has one thread, the one that forked, so a
// lock that another thread held at that moment would stay locked forever. A fork waits for it. The holder must not wait
// for the interpreter, which calls fork.
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
