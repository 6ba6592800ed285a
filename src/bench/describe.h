// The setting of a run: what it is made with.
#pragma once

#include <string>

#include "bench/result.h"
#include "bench/runner.h"
#include "model/load.h"

namespace inferno::bench {

// Takes the ceilings from this boot's cache, or measures them, unless `cancelled` (kCancelled). They stay
// unknown where that would take much of a short options.max_seconds. `model_path` as the user gave it; empty
// is the demo model.
Result<Setting> describe(const model::LoadedModel& loaded, const RunOptions& options,
                         const std::string& model_path, const std::string& suite, uint64_t seed,
                         const CancelFn& cancelled = {});

// The type that holds most bytes of the model's weights.
DType main_weight_type(const gguf::File& file);

}  // namespace inferno::bench
