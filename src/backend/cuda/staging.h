// Staging: copies to the device through two pieces of pinned memory, one filled while the other is on its
// way, so that memory of any kind (a mapped file's, above all) goes at the speed of the slower of the two.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "backend/cuda/runtime.h"

namespace inferno::backend::cuda {

class Staging {
 public:
  static constexpr size_t kPieceBytes = size_t{16} << 20;  // beside it, starting a copy costs nothing

  // Writes the n bytes from `offset` on of what is sent.
  using Fill = std::function<Status(size_t offset, size_t n, std::byte* to)>;

  static Result<Staging> create();

  // When it returns, `host` has been read; in `stream`, what comes later sees the bytes.
  Status copy(void* device, const void* host, size_t bytes, cudaStream_t stream);
  // The same of what `fill` writes straight into the pieces, in order and in multiples of `unit` (a row), of
  // which one fits into a piece.
  Status send(void* device, size_t bytes, size_t unit, const Fill& fill, cudaStream_t stream);

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
