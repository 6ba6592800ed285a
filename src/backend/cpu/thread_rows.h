// ThreadRows: few rows of activations, as products take them, that each thread makes for itself when it has a
// turn of the product: the others would wait for one that made them for all, and fetch them from its cache
// (docs/decisions/007, "Each for itself").
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backend/cpu/activation_buffer.h"
#include "backend/host_backend.h"

namespace inferno::backend {

class ThreadRows {
 public:
  // A thread's.
  class Own {
   public:
    float* x() const { return static_cast<float*>(x_.data()); }
    const ActivationBuffer& formed() const { return formed_; }

   private:
    friend ThreadRows;
    Buffer x_;
    ActivationBuffer formed_;
    const float* made_ = nullptr;
    uint64_t made_for_ = 0;  // the loop
  };
  // Called with a thread, gives its rows.
  template <class Make>
  struct Maker {
    ThreadRows& all;
    int64_t n;
    Make make;

    Activations operator()(unsigned thread) const {
      Own& own = all.own_[thread].own;
      if (own.made_for_ != all.loop_) {
        own.made_ = make(own);
        own.made_for_ = all.loop_;
      }
      return {own.made_, n, own.formed_};
    }
  };

  // Room for so many rows of each thread, in these forms. kResource when memory is refused.
  Status reserve(unsigned n_threads, int64_t rows, int64_t cols, XForms forms, HostBackend& memory) {
    if (n_threads > n_threads_) {
      own_ = std::make_unique<Line[]>(n_threads);
      n_threads_ = n_threads;
    }
    const size_t bytes = static_cast<size_t>(rows * cols) * sizeof(float);
    for (unsigned thread = 0; thread < n_threads; ++thread) {
      Own& own = own_[thread].own;
      TRY(own.formed_.reserve(rows, cols, forms, memory));
      if (bytes <= own.x_.bytes()) continue;
      TRY_ASSIGN(own.x_, memory.alloc(bytes));
    }
    return {};
  }

  // A thread's, as memory of its own until the next loop of few rows.
  Own& of(unsigned thread) { return own_[thread].own; }

  // For one loop of the team: n rows, which make(own) leaves in own.formed() and, where it returns, as
  // floats.
  template <class Make>
  Maker<Make> made_by(int64_t n, Make make) {
    ++loop_;
    return {*this, n, std::move(make)};
  }

 private:
  struct alignas(64) Line {
    Own own;
  };

  std::unique_ptr<Line[]> own_;
  unsigned n_threads_ = 0;
  uint64_t loop_ = 0;
};

}  // namespace inferno::backend
