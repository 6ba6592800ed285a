// Profile: what the operations of a backend cost: calls, time, bytes and floating-point operations, by name.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferno::metrics {

// What one operation has to move and compute at the least: each operand once.
struct Cost {
  uint64_t weight_bytes = 0;
  uint64_t kv_bytes = 0;
  uint64_t activation_bytes = 0;
  uint64_t flops = 0;
  uint64_t attention_flops = 0;  // of these, attention's: between activations, whatever the weights are
  // What the file has of the weights beyond weight_bytes, since they are kept in fewer bytes.
  uint64_t spared_bytes = 0;

  uint64_t bytes() const { return weight_bytes + kv_bytes + activation_bytes; }
  // Had the weights been read as the file has them.
  Cost as_in_file() const {
    Cost cost = *this;
    cost.weight_bytes += std::exchange(cost.spared_bytes, 0);
    return cost;
  }
  Cost& operator+=(const Cost& other);
};

// What a screen has saved of the LM head (backend::ScreenedHeads).
struct HeadScreenUse {
  uint64_t passes = 0;      // that wanted the highest logit alone of a head that has one
  uint64_t screened = 0;    // that did
  uint64_t head_bytes = 0;  // of the head as it is kept, once for each of the passes
  uint64_t read_bytes = 0;  // what was read of screen and head instead

  double read_share() const { return static_cast<double>(read_bytes) / static_cast<double>(head_bytes); }
  HeadScreenUse& operator+=(const HeadScreenUse& other);
};

class Profile {
 public:
  // Operations may nest (a decoder step is composed of primitives); depth 0 alone makes up the totals.
  struct Row {
    std::string name;
    int depth = 0;
    uint64_t calls = 0;
    std::chrono::nanoseconds time{0};
    Cost cost;
  };

  // Around each operation; what is entered before leave() is part of it and has a row of its own below its
  // row. Every enter() has its leave().
  void enter(const char* name);
  void leave(std::chrono::nanoseconds time, const Cost& cost);

  // A row for each operation within each that contains it, which comes right before; else in order of first
  // appearance.
  const std::vector<Row>& rows() const { return rows_; }
  std::chrono::nanoseconds total_time() const;
  // The sum of all rows of that name, whatever they are within; of depth 0, without calls if there are none.
  // One within another of its own name counts in both.
  Row total(std::string_view name) const;
  // Not between enter() and leave().
  void clear() { rows_.clear(); }

  // One line a row: name (indented by depth), calls, ms, % of the total, GB/s, GFLOP/s. The sum of depth 0
  // last.
  std::string table() const;

 private:
  std::vector<Row> rows_;
  std::vector<size_t> entered_;  // rows of the operations going on, outermost first
};

}  // namespace inferno::metrics
