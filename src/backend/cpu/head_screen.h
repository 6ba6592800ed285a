// HeadScreen: a coarse copy of an LM head that tells which of its rows cannot have the highest logit. Of a
// greedy token's head only the copy is read, which is half as large as a head of 8 bits, and the few groups
// of rows that may hold the token.
//
// For row i of the head w, of the copy c and for activations x, which the copy's product takes as x', rounded
// to 8 bits (by Cauchy and Schwarz; the head's own product rounds them as well, or not):
//   | w_i . x - c_i . x' | <= |w_i - c_i| |x'| + |w_i| |x - x'| + what float sums round
// So what is left, once one logit is known, are the rows whose coarse logit and that bound together reach it.
// The argument is Vijayanarasimhan et al. 2014's and many others': search exactly, bounded by norms.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/cpu_weight.h"

namespace inferno::backend {

struct HeadScreen {
  Weight coarse;  // (vocab, dim) in Q4_0
  // What is kept or dropped together: whole panels of the head, in whole turns of the copy's product.
  int64_t group_rows;
  int64_t n_groups;
  // Of each row |w - c| and |w|, not less; NaN where there is one.
  std::span<const float> lost, norm;  // (vocab)
  float largest_norm;

  uint64_t bytes() const { return coarse.bytes() + lost.size_bytes() + norm.size_bytes(); }
};

// What make_head_screen() allocates; 0 where it makes none.
uint64_t head_screen_bytes(const Tensor& head, const CpuKernels& kernels);

// nullptr where a copy would gain little (heads that are hardly larger, or have no panels) or prove nothing
// (formats with minimums, whose sums may round by more than their weights' norms tell). kResource without
// memory for it.
Result<std::shared_ptr<const HeadScreen>> make_head_screen(const Tensor& head, const CpuKernels& kernels,
                                                           ThreadTeam& team, LargeMemory& memory,
                                                           const CachedAs& cached);

// What it takes to go through one screen after the other.
class HeadScreening {
 public:
  explicit HeadScreening(const CpuKernels& kernels) : kernels_(kernels) {}

  // Whether this pass should use its screen: not for a while after passes that gained nothing.
  bool is_due();

  // Before the product with the copy: for n rows of activations x, (n, dim), and x rounded. rounded_as_well:
  // the head's own product takes them rounded, too.
  void begin(const HeadScreen& screen, const float* x, const kernels::QuantizedRows& rounded,
             bool rounded_as_well, int64_t n);
  // The copy's logits of rows begin .. end - 1 are there, whole groups, (n, vocab): taken note of, -inf
  // stands there afterwards. From any thread.
  void coarse_logits(float* logits, int64_t begin, int64_t end);
  // The group with the highest of a row's coarse logits, or one with a NaN.
  int64_t likeliest_group(int64_t row) const;
  // A logit of that row that is there, whole: what others have to reach, or almost. NaN changes nothing.
  void found(int64_t row, float logit);
  // In ascending order.
  std::span<const int64_t> groups_left();

  // Of how many bytes of the head this pass has read how many of screen and head.
  void passed(uint64_t head_bytes, uint64_t read_bytes);

 private:
  // Of the activations of one row.
  struct Row {
    float length;    // |x'|, not less
    float off;       // |x - x'| and what sums round, likewise
    float to_reach;  // the highest logit that is known, less what the smallest floats round
  };

  const CpuKernels& kernels_;
  const HeadScreen* screen_ = nullptr;
  std::vector<Row> rows_;  // (n)
  // (n, n_groups): the highest of the copy's logits, and what the head's own can come to; infinity for a NaN.
  std::vector<float> coarse_, most_;
  std::vector<int64_t> left_;
  int64_t pause_ = 0, pause_left_ = 0;  // passes
};

}  // namespace inferno::backend
