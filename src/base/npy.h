// NumPy .npy files of float32 in C order (format version 1.0): logits in, logits out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace inferno::npy {

struct Array {
  std::vector<int64_t> shape;
  std::vector<float> data;
};

Result<Array> read(const std::string& path);
// Written beside `path` and renamed: never half a file.
Status write(const std::string& path, std::span<const int64_t> shape, std::span<const float> data);

}  // namespace inferno::npy
