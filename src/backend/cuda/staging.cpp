#include "backend/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace inferno::backend::cuda {

Result<Staging> Staging::create() {
  Staging staging;
  for (Piece& piece : staging.pieces_) {
    void* memory = nullptr;
    TRY(check("taking pinned memory", cudaMallocHost(&memory, kPieceBytes)));
    piece.memory.reset(memory);
    TRY_ASSIGN(piece.copied, make_event());
  }
  return staging;
}

Status Staging::copy(void* device, const void* host, size_t bytes, cudaStream_t stream) {
  const auto* from = static_cast<const std::byte*>(host);
  const auto copy = [from](size_t offset, size_t n, std::byte* to) -> Status {
    std::memcpy(to, from + offset, n);
    return {};
  };
  return send(device, bytes, 1, copy, stream);
}

Status Staging::send(void* device, size_t bytes, size_t unit, const Fill& fill, cudaStream_t stream) {
  CHECK(unit > 0 && unit <= kPieceBytes, "a unit of {} bytes in pieces of {}", unit, kPieceBytes);
  const size_t most = kPieceBytes / unit * unit;
  for (size_t done = 0; done < bytes; done += most) {
    const size_t n = std::min(most, bytes - done);
    Piece& piece = pieces_[next_];
    next_ = (next_ + 1) % pieces_.size();
    TRY(check("copying to the device", cudaEventSynchronize(piece.copied.get())));
    TRY(fill(done, n, static_cast<std::byte*>(piece.memory.get())));
    TRY(check("copying to the device",
              cudaMemcpyAsync(static_cast<std::byte*>(device) + done, piece.memory.get(), n,
                              cudaMemcpyHostToDevice, stream)));
    TRY(check("copying to the device", cudaEventRecord(piece.copied.get(), stream)));
  }
  return {};
}

}  // namespace inferno::backend::cuda
