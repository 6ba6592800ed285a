// BatchOnDevice: a batch's arrays in the device's memory, all in one piece.
#pragma once

#include <vector>

#include "backend/args.h"
#include "backend/cuda/staging.h"

namespace inferno::backend::cuda {

class BatchOnDevice {
 public:
  // The view of the copy, which is there for what comes later in the stream; good until the next one.
  Result<BatchView> copy(const BatchView& host, Staging& staging, cudaStream_t stream);

 private:
  std::vector<std::byte> packed_;
  Buffer device_;
};

}  // namespace inferno::backend::cuda
