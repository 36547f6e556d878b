// A plain fork-join loop. Threads are started per call and sleep nowhere in between, so an idle svmfast
// never spins; work is handed out by an atomic counter, so a slow core only takes fewer items.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace svmfast {

// Calls body(item, worker) for every item in [0, n_items). What an item computes must not depend on the worker,
// which only names scratch space: then results are the same bytes for any number of threads.
template <class Body>
void parallel_for(std::size_t n_items, int n_threads, Body &&body) {
    const std::size_t workers = std::min<std::size_t>(std::max(1, n_threads), std::max<std::size_t>(1, n_items));
    if (workers == 1) {
        for (std::size_t i = 0; i < n_items; ++i) body(i, std::size_t{0});
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    auto run = [&](std::size_t worker) {
        try {
            for (std::size_t i; (i = next.fetch_add(1)) < n_items;) body(i, worker);
        } catch (...) {
            std::lock_guard<std::mutex> lock(failure_mutex);
            if (!failure) failure = std::current_exception();
            next.store(n_items);
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(workers - 1);
    for (std::size_t w = 1; w < workers; ++w) threads.emplace_back(run, w);
    run(0);
    for (auto &t : threads) t.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace svmfast
