// Staging: copies to the device through two pieces of pinned memory, one filled while the other is on its
// way, so that memory of any kind (a mapped file's, above all) goes at the speed of the slower of the two.
#pragma once

#include <array>
#include <cstddef>

#include "backend/cuda/runtime.h"

namespace inferno::backend::cuda {

class Staging {
 public:
  static Result<Staging> create();

  // When it returns, `host` has been read; in `stream`, what comes later sees the bytes.
  Status copy(void* device, const void* host, size_t bytes, cudaStream_t stream);

 private:
  struct Piece {
    PinnedMemory memory;
    OwnedEvent copied;  // what was last put into it has left
  };

  Staging() = default;
  std::array<Piece, 2> pieces_;
  size_t next_ = 0;
};

}  // namespace inferno::backend::cuda
