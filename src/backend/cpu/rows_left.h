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
  // Before the product: parts 0 .. n_parts - 1 of so many rows, of all its matrices together. After one of
  // the same shape no count is written: whoever went on with a part left its count as it has to be, and in
  // his cache, where he is likely to need it again.
  void begin(int64_t n_parts, int64_t rows) {
    const bool is_left_so = is_whole_ && n_parts == n_parts_ && rows == rows_;
    is_whole_ = false;
    if (is_left_so) return;
    if (n_parts > capacity_) {
      left_ = std::make_unique<Count[]>(static_cast<size_t>(n_parts));
      capacity_ = n_parts;
    }
    n_parts_ = n_parts;
    rows_ = rows;
    for (int64_t i = 0; i < n_parts; ++i)
      left_[static_cast<size_t>(i)].rows.store(rows, std::memory_order_relaxed);
  }
  // After the product, all parts of which are made.
  void end() { is_whole_ = true; }
  // Rows begin .. end - 1 of a matrix, at least one, are made, of which each part has `rows` in order. Calls
  // go_on(part) for those that are whole by this; what any thread has made of them is seen there.
  template <class Fn>
  void made(int64_t begin, int64_t end, int64_t rows, const Fn& go_on) {
    for (int64_t part = begin / rows; part * rows < end; ++part) {
      const int64_t n = std::min(end, (part + 1) * rows) - std::max(begin, part * rows);
      std::atomic<int64_t>& left = left_[static_cast<size_t>(part)].rows;
      if (left.fetch_sub(n, std::memory_order_acq_rel) != n) continue;
      left.store(rows_, std::memory_order_relaxed);
      go_on(part);
    }
  }

 private:
  // In a line of its own: neighbouring parts may be made by threads whose caches are far apart.
  struct alignas(64) Count {
    std::atomic<int64_t> rows;
  };

  std::unique_ptr<Count[]> left_;
  int64_t capacity_ = 0, n_parts_ = 0, rows_ = 0;
  // All counts are rows_. Apart from what made() reads, since each product writes it.
  alignas(64) bool is_whole_ = false;
};

}  // namespace inferno::backend
