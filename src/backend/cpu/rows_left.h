// RowsLeft: the outputs of a product in parts that are gone on with as soon as they are whole. Several
// threads make a part's rows, in any order; whoever makes the last one goes on with the part, while the
// others are still multiplying.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace inferno::backend {

class RowsLeft {
 public:
  // Before the product: parts 0 .. n_parts - 1 of so many rows, of all its matrices together.
  void begin(int64_t n_parts, int64_t rows) {
    if (n_parts > capacity_) {
      left_ = std::make_unique<std::atomic<int64_t>[]>(static_cast<size_t>(n_parts));
      capacity_ = n_parts;
    }
    for (int64_t i = 0; i < n_parts; ++i)
      left_[static_cast<size_t>(i)].store(rows, std::memory_order_relaxed);
  }
  // Rows begin .. end - 1 of a matrix, at least one, are made, of which each part has `rows` in order. Calls
  // go_on(part) for those that are whole by this; what any thread has made of them is seen there.
  template <class Fn>
  void made(int64_t begin, int64_t end, int64_t rows, const Fn& go_on) {
    for (int64_t part = begin / rows; part * rows < end; ++part) {
      const int64_t n = std::min(end, (part + 1) * rows) - std::max(begin, part * rows);
      if (left_[static_cast<size_t>(part)].fetch_sub(n, std::memory_order_acq_rel) == n) go_on(part);
    }
  }

 private:
  std::unique_ptr<std::atomic<int64_t>[]> left_;
  int64_t capacity_ = 0;
};

}  // namespace inferno::backend
