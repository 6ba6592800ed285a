// Random weights, drawn directly in the format that stores them. Each block is a function of (key, its index)
// alone, so the parts of a tensor can be made in any order and by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace inferno::model {

// What the draws of one tensor depend on.
uint64_t tensor_key(uint64_t seed, uint64_t tensor_index);

// Fills `out`, whole blocks of `dtype` (a weight type), with the tensor's blocks from `first_block` on:
// weights of mean 0 and standard deviation `sigma`. Every code of a format occurs but those that quantizers
// never make.
void draw_weights(DType dtype, double sigma, uint64_t key, uint64_t first_block, std::span<std::byte> out);

// The same of a tensor of F32, with elements uniform in [low, high), half of them negated if `random_sign`.
void draw_uniform(double low, double high, bool random_sign, uint64_t key, uint64_t first_element,
                  std::span<std::byte> out);

}  // namespace inferno::model
