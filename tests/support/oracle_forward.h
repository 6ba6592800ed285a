// A second, independent forward pass: double precision, whole sequence, no cache, straight from the papers
// and the GGUF metadata, sharing no code with the engine. F32 tensors only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gguf/file.h"

namespace inferno::test {

// (n_ids, vocab), rounded to float at the end.
std::vector<float> oracle_logits(const gguf::File& file, std::span<const int32_t> ids);

}  // namespace inferno::test
