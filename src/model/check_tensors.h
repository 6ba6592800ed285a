// Reading every weight of a file for values that no weight may have: what a damaged or hostile file holds.
#pragma once

#include "base/progress.h"
#include "base/result.h"
#include "gguf/file.h"

namespace inferno::model {

// kInvalidFile naming the first tensor with a NaN or infinity (a block's scale included), its element, and
// how many of its elements are not finite. Reads all weights: seconds per gigabyte.
Status check_tensors(const gguf::File& file, const ProgressFn& progress = {});

}  // namespace inferno::model
