// Arrays whose memory is used again: fresh pages for every block of a table would cost more than filling them.
#pragma once
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "arrays.hpp"

namespace svmfast {

// Memory that NumPy has given back. At most 32 MB of it is kept.
class Spare {
  public:
    struct Piece {
        void *start = nullptr;
        std::size_t bytes = 0;
    };

    static Piece take(std::size_t bytes) {
        Spare &spare = instance();
        {
            const std::lock_guard<std::mutex> locked(spare.mutex_);
            for (std::size_t i = spare.pieces_.size(); i-- > 0;) {
                const Piece piece = spare.pieces_[i];
                // Much larger pieces are left for those who fill them.
                if (piece.bytes < bytes || piece.bytes / 4 > bytes) continue;
                spare.pieces_.erase(spare.pieces_.begin() + static_cast<std::ptrdiff_t>(i));
                spare.bytes_ -= piece.bytes;
                return piece;
            }
        }
        void *const start = std::malloc(bytes ? bytes : 1);
        if (!start) throw std::bad_alloc();
        return {start, bytes};
    }

    static void give_back(Piece piece) noexcept {
        Spare &spare = instance();
        {
            const std::lock_guard<std::mutex> locked(spare.mutex_);
            if (spare.pieces_.size() < most_pieces && spare.bytes_ + piece.bytes <= most_bytes) {
                spare.pieces_.push_back(piece);
                spare.bytes_ += piece.bytes;
                return;
            }
        }
        std::free(piece.start);
    }

  private:
    static constexpr std::size_t most_pieces = 16, most_bytes = std::size_t{1} << 25;

    Spare() { pieces_.reserve(most_pieces); }
    // Never destroyed: arrays may outlive everything else.
    static Spare &instance() {
        static Spare *const spare = new Spare;
        return *spare;
    }

    std::mutex mutex_;
    std::vector<Piece> pieces_;
    std::size_t bytes_ = 0;
};

// An array of at most so many items, which becomes a NumPy array without a copy.
template <class T>
class Recycled {
  public:
    explicit Recycled(std::size_t capacity) : piece_(Spare::take(capacity * sizeof(T))) {}
    Recycled(const Recycled &) = delete;
    Recycled &operator=(const Recycled &) = delete;
    ~Recycled() {
        if (piece_.start) Spare::give_back(piece_);
    }

    T *data() noexcept { return static_cast<T *>(piece_.start); }

    // Hands the first items over to NumPy.
    Out<T> give(std::size_t size) {
        // Of a sparse table most of the memory was never touched and would only be held.
        if (size * sizeof(T) < piece_.bytes / 4)
            if (void *const smaller = std::realloc(piece_.start, size ? size * sizeof(T) : 1))
                piece_ = {smaller, size * sizeof(T)};
        auto *const held = new Spare::Piece(piece_);
        nb::capsule owner(held, [](void *p) noexcept {
            auto *const piece = static_cast<Spare::Piece *>(p);
            Spare::give_back(*piece);
            delete piece;
        });
        piece_.start = nullptr;
        const std::size_t shape[1] = {size};
        return Out<T>(static_cast<T *>(held->start), 1, shape, owner);
    }

  private:
    Spare::Piece piece_;
};

}  // namespace svmfast
