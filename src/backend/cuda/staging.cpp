#include "backend/cuda/staging.h"

#include <algorithm>
#include <cstring>

namespace inferno::backend::cuda {
namespace {

constexpr size_t kPieceBytes = size_t{16} << 20;  // large enough that starting a copy costs nothing beside it

}  // namespace

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
  for (size_t done = 0; done < bytes; done += kPieceBytes) {
    const size_t n = std::min(kPieceBytes, bytes - done);
    Piece& piece = pieces_[next_];
    next_ = (next_ + 1) % pieces_.size();
    TRY(check("copying to the device", cudaEventSynchronize(piece.copied.get())));
    std::memcpy(piece.memory.get(), static_cast<const std::byte*>(host) + done, n);
    TRY(check("copying to the device",
              cudaMemcpyAsync(static_cast<std::byte*>(device) + done, piece.memory.get(), n,
                              cudaMemcpyHostToDevice, stream)));
    TRY(check("copying to the device", cudaEventRecord(piece.copied.get(), stream)));
  }
  return {};
}

}  // namespace inferno::backend::cuda
