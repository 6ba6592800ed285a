// The F32 expansion of a model: the same values, dequantized.
#pragma once

#include <cstddef>

#include "base/cancel.h"
#include "base/progress.h"
#include "base/result.h"
#include "gguf/file.h"

namespace inferno::model {

struct ExpandOptions {
  size_t n_threads = 0;  // 0: one per CPU
  ProgressFn progress;   // in bytes of the result
  CancelFn cancelled;    // asked before each piece: kCancelled
};

// A File in memory that owns its bytes, with the metadata of `file` and every weight as F32: on the scalar
// backend the logits are the same, bit for bit. kResource, before anything is made, when it does not fit into
// memory beside `file`.
Result<gguf::File> expand_to_f32(const gguf::File& file, const ExpandOptions& options = {});

}  // namespace inferno::model
