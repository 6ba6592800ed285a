// Reading every weight of a file for values that no weight may have: what a damaged or hostile file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/progress.h"
#include "base/result.h"
#include "gguf/file.h"

namespace inferno::model {

// A tensor with elements that are NaN or infinite.
struct NotFinite {
  const gguf::TensorInfo* info;  // of the file
  int64_t first;                 // index of the first such element
  int64_t count;                 // how many there are; all of a block whose scale is not finite
};

// Reads weights at about the speed of memory: of quantized blocks only the scales, which decide. A tensor or
// a part of one at a time, so that a load can check what the backend copies while it lies in a cache.
class TensorChecker {
 public:
  // Calls fn(0) … fn(n - 1), each once, on as many threads as it has.
  using Loop = std::function<void(int64_t n, const std::function<void(int64_t)>& fn)>;
  explicit TensorChecker(Loop loop) : loop_(std::move(loop)) {}

  // All of a tensor, on all threads, where it lies. `info` outlives the checker.
  void check(const gguf::TensorInfo& info);
  // A copy of n of its elements from `first` on, both at the edge of a block. From any thread, in any order.
  void check_copy(const gguf::TensorInfo& info, int64_t first, int64_t n, const std::byte* copy);
  // What was found in it: it is checked anew.
  void forget(const gguf::TensorInfo& info);
  // Of those that were checked, in file order.
  std::vector<NotFinite> found() const;

 private:
  Loop loop_;
  mutable std::mutex mutex_;  // of found_, which has each tensor once
  std::vector<NotFinite> found_;
};

// All weights of a file. kCancelled when `cancelled` says so, which is asked before each tensor.
Result<std::vector<NotFinite>> find_not_finite(const gguf::File& file, const ProgressFn& progress = {},
                                               const CancelFn& cancelled = {});

// "FILE: tensor NAME (data at byte N): expected finite numbers, found …"
std::string describe(const gguf::File& file, const NotFinite& found);

// kInvalidFile with the first that is found; kCancelled.
Status check_tensors(const gguf::File& file, const ProgressFn& progress = {}, const CancelFn& cancelled = {});

}  // namespace inferno::model
