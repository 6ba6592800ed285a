// NumPy .npy files of little-endian float32 in C order: logits in, logits out. Reads format versions 1.0
// and 2.0, writes 1.0. Source: numpy.lib.format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace inferno::npy {

struct Array {
  std::vector<int64_t> shape;  // outermost first; empty = a single number
  std::vector<float> data;
};

// kInvalidFile naming file, offset, expected and found for anything else, and when shape and size do not
// agree.
Result<Array> read(const std::string& path);
// Written beside `path` and renamed: never half a file. CHECKs that data has as many elements as shape says.
Status write(const std::string& path, std::span<const int64_t> shape, std::span<const float> data);

}  // namespace inferno::npy
