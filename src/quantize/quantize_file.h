// quantize_file: a model's file with its weights in another format, and how near it stays to the original.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/result.h"
#include "gguf/file.h"
#include "quantize/file_type.h"

namespace inferno::quantize {

struct Options {
  size_t n_threads = 0;  // 0: one per CPU; the bytes are the same with any
  ProgressFn progress;   // in bytes of the source
  const std::atomic<bool>* cancelled = nullptr;
};

// Squared sums over weights: of what reading back gives minus the source as it is read, and of the source.
struct Distance {
  double error = 0, source = 0;

  // The root of error / source; 0 where the source is all zeros.
  double relative_rmse() const;
  Distance& operator+=(const Distance& other);
};

struct QuantizedTensor {
  std::string name;
  std::vector<int64_t> shape;  // as the file has it
  DType from, to;
  DType wanted;  // `to` unless the rows are no whole blocks of it
  uint64_t n_elements;
  uint64_t bytes_before, bytes_after;
  Distance distance;
};

struct Report {
  std::vector<QuantizedTensor> tensors;        // in file order
  uint64_t bytes_before = 0, bytes_after = 0;  // of the files
};

// Bytes of the file that quantize_file() would write.
uint64_t quantized_bytes(const gguf::File& file, const FileType& file_type);

// Writes `file` to `path` as one file of `file_type`, replacing what is there once all is written. At no time
// more than a window of one tensor is in memory. Names, shapes and order of the tensors stay, and all
// metadata byte for byte, but: general.file_type and general.quantization_version say what the file now is
// (the latter is left out when no block in it is quantized), general.alignment comes first or, if it is 32,
// is left out, and split.* is left out. A tensor whose format does not change is copied.
//
// Errors: kInvalidArgument when `path` is a file that `file` was read from; kInvalidFile, with tensor and
// element, for a weight that is NaN, infinite or, but for F32 and BF16, beyond 65504, F16's largest; kIo;
// kCancelled.
Result<Report> quantize_file(const gguf::File& file, const FileType& file_type, const std::string& path,
                             const Options& options = {});

}  // namespace inferno::quantize
