#include "backend/cpu/cpu_weight.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

namespace inferno::backend {
namespace {

// Of rows that a thread copies and repacks at a time, or one panel's: with what becomes of them mostly less
// than its second-level cache holds.
constexpr int64_t kRepackedBytes = int64_t{128} << 10;

// Without its panels.
std::shared_ptr<CpuMatrix> unpacked(const Tensor& tensor, const kernels::PanelMatmul& kernel,
                                    int64_t upper_bytes) {
  auto matrix = std::make_shared<CpuMatrix>();
  matrix->rows = tensor.as<const uint8_t>();
  matrix->row_bytes = static_cast<int64_t>(row_bytes(tensor.dtype, static_cast<size_t>(tensor.cols())));
  if (kernel.rows == 0) return matrix;
  matrix->kernel = kernel;
  matrix->upper_bytes = upper_bytes;
  matrix->n_panels = (tensor.rows() + kernel.rows - 1) / kernel.rows;
  return matrix;
}

size_t panels_bytes(const CpuMatrix& matrix, const Tensor& tensor) {
  return static_cast<size_t>(matrix.n_panels * matrix.kernel.panel_bytes(tensor.cols()));
}

}  // namespace

Result<bool> WeightPacker::pack_panels(const WeightSource& source, const CpuMatrix& matrix, Pack compress,
                                       const LargeMemory::Filling& panels) {
  const Tensor& tensor = source.tensor;
  const kernels::PanelMatmul& kernel = matrix.kernel;
  const auto panel_bytes = static_cast<size_t>(kernel.panel_bytes(tensor.cols()));
  const size_t upper_bytes = matrix.upper_bytes == 0 ? panel_bytes : static_cast<size_t>(matrix.upper_bytes);
  const size_t lower_bytes = panel_bytes - upper_bytes;
  const size_t lower_plane = static_cast<size_t>(matrix.n_panels) * upper_bytes;
  const int64_t panels_per_turn = std::max<int64_t>(1, kRepackedBytes / (kernel.rows * matrix.row_bytes));
  for (Room& room : rooms_) {
    room.status = {};
    room.panel.resize(lower_bytes == 0 ? 0 : panel_bytes);
    room.upper.resize(static_cast<size_t>(panels_per_turn) * upper_bytes);
    room.lower.resize(static_cast<size_t>(panels_per_turn) * lower_bytes);
  }
  std::atomic<bool> fits = true;
  team_.run((matrix.n_panels + panels_per_turn - 1) / panels_per_turn, [&](int64_t turn, unsigned thread) {
    Room& room = rooms_[thread];
    if (!room.status || !fits.load(std::memory_order_relaxed)) return;
    const int64_t first = turn * panels_per_turn;
    const int64_t end = std::min(matrix.n_panels, first + panels_per_turn);
    const int64_t first_row = first * kernel.rows;
    const uint8_t* rows = matrix.rows + first_row * matrix.row_bytes;
    if (source.copy_rows) {
      const int64_t n_rows = std::min(end * kernel.rows, tensor.rows()) - first_row;
      room.rows.resize(std::max(room.rows.size(), static_cast<size_t>(n_rows * matrix.row_bytes)));
      room.status = source.copy_rows(first_row, n_rows, room.rows.data());
      if (!room.status) return;
      rows = reinterpret_cast<const uint8_t*>(room.rows.data());
    }
    uint8_t* upper = room.upper.data();
    uint8_t* lower = room.lower.data();
    for (int64_t row = first_row; row < end * kernel.rows; row += kernel.rows) {
      uint8_t* panel = lower_bytes == 0 ? upper : room.panel.data();
      const uint8_t* of_panel = rows + (row - first_row) * matrix.row_bytes;
      const int64_t n_rows = std::min(kernel.rows, tensor.rows() - row);
      if (compress == nullptr) {
        kernel.pack(of_panel, matrix.row_bytes, n_rows, tensor.cols(), panel);
      } else if (!compress(of_panel, matrix.row_bytes, n_rows, tensor.cols(), panel)) {
        return fits.store(false, std::memory_order_relaxed);
      }
      if (lower_bytes != 0) {
        std::memcpy(upper, panel, upper_bytes);
        std::memcpy(lower, panel + upper_bytes, lower_bytes);
      }
      upper += upper_bytes;
      lower += lower_bytes;
    }
    const auto first_panel = static_cast<size_t>(first), n_panels = static_cast<size_t>(end - first);
    room.status = panels.copy(first_panel * upper_bytes, room.upper.data(), n_panels * upper_bytes);
    if (!room.status || lower_bytes == 0) return;
    room.status =
        panels.copy(lower_plane + first_panel * lower_bytes, room.lower.data(), n_panels * lower_bytes);
  });
  Status status;
  for (Room& room : rooms_) {
    if (status) status = room.status;
    // What a wide panel needs is not kept.
    if (std::max(room.rows.size(), room.upper.size()) > static_cast<size_t>(2 * kRepackedBytes)) room = {};
  }
  TRY(status);
  return fits.load();
}

std::shared_ptr<CpuMatrix> WeightPacker::find(const WeightSource& source, const kernels::PanelMatmul& kernel,
                                              int64_t upper_bytes, const CachedAs& cached) {
  if (cached.cache == nullptr || kernel.rows == 0) return nullptr;
  auto matrix = unpacked(source.tensor, kernel, upper_bytes);
  const auto found = cached.cache->find(cached.name, source.tensor, panels_bytes(*matrix, source.tensor));
  if (!found) return nullptr;
  matrix->panels = {found, reinterpret_cast<const uint8_t*>(found.get())};
  return matrix;
}

Result<std::shared_ptr<CpuMatrix>> WeightPacker::pack_with(const WeightSource& source,
                                                           const kernels::PanelMatmul& kernel,
                                                           int64_t upper_bytes, Pack compress,
                                                           const CachedAs& cached) {
  const Tensor& tensor = source.tensor;
  auto matrix = unpacked(tensor, kernel, upper_bytes);
  if (kernel.rows == 0) return matrix;
  const size_t bytes = panels_bytes(*matrix, tensor);
  TRY_ASSIGN(LargeMemory::Filling filling, memory_.alloc_to_fill(bytes, team_));
  TRY_ASSIGN(const bool fits, pack_panels(source, *matrix, compress, filling));
  if (!fits) {
    if (source.start_over) source.start_over();
    return std::shared_ptr<CpuMatrix>();
  }
  const std::shared_ptr<void> owner = filling.finish();
  const auto* panels = static_cast<const uint8_t*>(owner.get());
  matrix->panels = {owner, panels};
  if (cached.cache != nullptr)
    cached.cache->add(cached.name, tensor, std::as_bytes(std::span(panels, bytes)), owner);
  return matrix;
}

}  // namespace inferno::backend
