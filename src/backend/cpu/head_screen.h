// HeadScreen: coarse weights of an LM head that tell which of its rows cannot have the highest logit. Of a
// greedy token's head only they are read and the few groups of rows that may hold the token. They are the
// upper four bits of the head's own, which lies in two planes then (kernels::PlanesMatmul), or a copy in
// Q4_0.
//
// For row i of the head w, of the coarse weights c and for activations x, which the coarse product takes as
// x', rounded to 8 bits (by Cauchy and Schwarz; the head's own product rounds them as well, or not, or to
// BF16, of which x - x' has 2^-8 |x| more):
//   | w_i . x - c_i . x' | <= |w_i - c_i| |x'| + |w_i| |x - x'| + what float sums round
// So what is left, once one logit is known, are the rows whose coarse logit and that bound together reach it.
// The argument is Vijayanarasimhan et al. 2014's and many others': search exactly, bounded by norms.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/cpu_weight.h"
#include "backend/cpu/timed_choice.h"

namespace inferno::backend {

struct HeadScreen {
  Weight coarse;          // (vocab, dim); an upper plane is called as the head's type
  uint64_t coarse_bytes;  // that its product reads
  // What is kept or dropped together: whole panels of the head, in whole turns of the coarse product.
  int64_t group_rows;
  int64_t n_groups;
  // Of each row |w - c| and |w|, not less; NaN where there is one. Of an upper plane |c| + |w - c| for |w|,
  // which is neither less than |w| nor than |c|: both sums round.
  std::span<const float> lost, norm;  // (vocab)
  std::shared_ptr<const void> norms_owner;
  float largest_norm;

  uint64_t bytes() const { return coarse_bytes + lost.size_bytes() + norm.size_bytes(); }
};

// What the coarse weights are: the upper plane of a head that lies in two then. Nothing where they would gain
// little (heads that are hardly larger, or have no panels) or prove nothing (formats with minimums, whose
// sums may round by more than their weights' norms tell).
enum class ScreenKind : uint8_t { kNone, kUpperPlane, kCopy };
ScreenKind screen_kind(const Tensor& head, const CpuKernels& kernels, ScreenedHeads which);

// What make_head_screen() allocates.
uint64_t head_screen_bytes(const Tensor& head, const CpuKernels& kernels, ScreenKind kind);

// Of any kind but kNone. packed: the head's own panels, for kUpperPlane in two planes. kResource without
// memory.
Result<std::shared_ptr<const HeadScreen>> make_head_screen(const Tensor& head, const CpuMatrix& packed,
                                                           ScreenKind kind, const CpuKernels& kernels,
                                                           ThreadTeam& team, LargeMemory& memory,
                                                           const CachedAs& cached);

// What it takes to go through one screen after the other.
class HeadScreening {
 public:
  // times: whether passes are timed, and the screen left out where it is slower.
  HeadScreening(const CpuKernels& kernels, bool times) : kernels_(kernels), times_(times) {}

  // Whether this pass should use its screen: not where it is slower, nor for a while after passes that gained
  // nothing.
  bool is_due();
  // How long that pass of n rows took, with the screen or without. Those of one row are compared.
  void took(std::chrono::nanoseconds time, int64_t n);

  // Before the coarse product: for n rows of activations x, (n, dim), and x rounded. form: as what the head's
  // own product takes them.
  void begin(const HeadScreen& screen, const float* x, const kernels::QuantizedRows& rounded,
             kernels::XForm form, int64_t n);
  // The coarse logits of rows begin .. end - 1 are there, whole groups, (n, vocab): taken note of, -inf
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
    float off;       // |x - x'|, what BF16 rounds of x and what sums round, likewise
    float to_reach;  // the highest logit that is known, less what the smallest floats round
  };

  const CpuKernels& kernels_;
  const bool times_;
  TimedChoice is_faster_{{"head screened", 2, 16, 512}};
  const HeadScreen* screen_ = nullptr;
  std::vector<Row> rows_;  // (n)
  // (n, n_groups): the highest of the coarse logits, and what the head's own can come to; infinity for a NaN.
  std::vector<float> coarse_, most_;
  std::vector<int64_t> left_;
  int64_t pause_ = 0, pause_left_ = 0;  // passes
};

}  // namespace inferno::backend
