// The ladder of speed: one model, a rung for each way of running it, each above the one before: scalar
// without a cache, the KV cache, SIMD, threads, quantized weights multiplied directly, the GPU. The first
// four run on the F32 expansion of the weights, so that each rung is one change.
#pragma once

#include <atomic>
#include <string>

#include "base/clock.h"
#include "bench/ladder_rows.h"
#include "bench/runner.h"
#include "gguf/file.h"

namespace inferno::bench {

struct LadderOptions {
  std::string model_path;  // as the user gave it; empty is the demo model
  int64_t prompt_tokens = 32;
  int64_t max_new_tokens = 16;
  RunOptions run;  // of each rung; use_kv_cache is the rung's own; max_seconds is shared among the rungs
};

// A rung's name and number, and what its runner tells.
using OnLadderProgress = std::function<void(std::string_view rung, size_t i, size_t n, const Progress&)>;

// A rung whose backend is not here, or whose device fails, has a row that says why. `file` may be of any
// weight type; of an F32 model the quantized rung is absent. Once `cancelled`, the rungs so far are all there
// are. Errors: those of loading and running, kResource when the expansion does not fit into memory;
// kCancelled before the first rung.
Result<Ladder> climb(const gguf::File& file, const LadderOptions& options,
                     const OnLadderProgress& on_progress = {}, const std::atomic<bool>* cancelled = nullptr,
                     const Clock& clock = steady_clock());

}  // namespace inferno::bench
