// Context: the forward passes of one sequence: tokens in, logits in host memory out, or what a greedy sampler
// needs of them, past keys and values kept in a cache of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "kv/kv_cache.h"
#include "model/batch.h"
#include "model/model.h"
#include "sampling/sampler.h"

namespace inferno::engine {

class Context {
 public:
  // Room for max_positions, the first of them for a prompt. kResource, with the sum, when that is more than
  // there is.
  static Result<Context> create(model::Model& model, DType kv_type, int64_t max_positions,
                                int64_t prompt_length);

  // Whether it could be the context of another sequence, after truncate(0), and is not far too large for it.
  bool fits(DType kv_type, int64_t max_positions) const {
    return kv_type == kv_type_ && max_positions <= max_positions_ && max_positions_ / 4 <= max_positions;
  }

  // Positions computed so far.
  int64_t length() const { return length_; }
  // One pass over at most model.max_batch() tokens that follow those already there. Afterwards there is a row
  // of logits for the last of them (kLast), for each (kAll) or for none (kNone). With highest_only it has the
  // highest and those it might have been taken for, else -inf; of a device whose memory the host cannot read
  // the highest is all that comes. Errors: those of Model::forward; the context is then as it was before, but
  // for the logits.
  Status compute(std::span<const int32_t> tokens, model::Batch::Logits wanted, const CancelFn& cancelled = {},
                 bool highest_only = false);
  // (rows, vocab), until the model's next pass, of whatever context; empty where only the highest have come.
  std::span<const float> logits() const { return logits_; }
  // (vocab), or empty likewise.
  std::span<const float> logits(size_t row) const;
  // The token that comes after `history`, which ends with the row's own: from its logits, or from the highest
  // where no others have come, which is enough for a sampler that takes_highest(). Errors: the sampler's.
  Result<int32_t> sample(sampling::Sampler& sampler, size_t row, std::span<const int32_t> history) const;
  // Back to the first n_positions.
  void truncate(int64_t n_positions);

 private:
  Context(model::Model& model, std::unique_ptr<kv::KvCache> cache, DType kv_type, int64_t max_positions);

  model::Model* model_;
  DType kv_type_;
  int64_t max_positions_;
  std::unique_ptr<kv::KvCache> cache_;
  int64_t length_ = 0;
  model::Batch batch_;
  std::span<const float> logits_;
  std::vector<float> downloaded_;         // what they lie in, unless the device's memory is the host's
  std::vector<backend::Argmax> highest_;  // of each row, where no others have come
};

// kInvalidArgument for an empty prompt or an id outside the vocabulary, kResource for a prompt longer than
// the model's context.
Status check_prompt(const model::Model& model, std::span<const int32_t> prompt_ids);

// As many tokens as can come after a prompt of so many, 0 where it fills more than the model's context.
int64_t room_after_prompt(const model::Model& model, size_t n_prompt_ids);

// A fault that shows only when a model runs, with the file that it comes from.
Error in_file(const model::Model& model, const Error& error);

}  // namespace inferno::engine
