// The tensors that the file of a preset has: names and shapes, and how their values are drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/presets.h"

namespace inferno::model {

enum class Draw {
  kMatrix,      // weights of mean 0 whose variance is 1 / columns: unit-variance inputs give such outputs
  kNorm,        // around 1
  kOutputNorm,  // around 1 or -1: else a tied head finds in its input the token that came in, and repeats it
  kBias,        // around 0
  kRopeFactor,  // not drawn: what the frequencies are divided by (Preset::rope_factors)
};

struct SyntheticTensor {
  std::string name;
  std::vector<int64_t> shape;  // outermost first
  Draw draw = Draw::kMatrix;

  int64_t n_elements() const;
};

// In file order. `preset` is one that a model can be made of: its arch has a row, its sizes are positive.
std::vector<SyntheticTensor> synthetic_tensors(const Preset& preset);

// The trained numbers of a model of this shape. A tied head counts once; rope factors are not trained.
int64_t parameter_count(const Preset& preset);

}  // namespace inferno::model
