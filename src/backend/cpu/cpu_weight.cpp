#include "backend/cpu/cpu_weight.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace inferno::backend {
namespace {

void pack_panels(const Tensor& tensor, const CpuMatrix& matrix, ThreadTeam& team, uint8_t* panels) {
  const kernels::PanelMatmul& kernel = matrix.kernel;
  const int64_t panel_bytes = kernel.panel_bytes(tensor.cols());
  const auto upper_bytes = static_cast<size_t>(matrix.upper_bytes);
  const size_t lower_bytes = static_cast<size_t>(panel_bytes) - upper_bytes;
  uint8_t* lower_plane = panels + matrix.n_panels * matrix.upper_bytes;
  constexpr int64_t kPanelsPerTurn = 8;
  team.run((matrix.n_panels + kPanelsPerTurn - 1) / kPanelsPerTurn, [&](int64_t turn, unsigned) {
    const int64_t end = std::min(matrix.n_panels, (turn + 1) * kPanelsPerTurn);
    std::vector<uint8_t> both_planes(upper_bytes == 0 ? 0 : static_cast<size_t>(panel_bytes));
    for (int64_t i = turn * kPanelsPerTurn; i < end; ++i) {
      const int64_t row = i * kernel.rows;
      uint8_t* to = upper_bytes == 0 ? panels + i * panel_bytes : both_planes.data();
      kernel.pack(matrix.rows + row * matrix.row_bytes, matrix.row_bytes,
                  std::min(kernel.rows, tensor.rows() - row), tensor.cols(), to);
      if (upper_bytes == 0) continue;
      std::memcpy(panels + static_cast<size_t>(i) * upper_bytes, to, upper_bytes);
      std::memcpy(lower_plane + static_cast<size_t>(i) * lower_bytes, to + upper_bytes, lower_bytes);
    }
  });
}

}  // namespace

Result<std::shared_ptr<CpuMatrix>> pack_matrix(const Tensor& tensor, const kernels::PanelMatmul& kernel,
                                               int64_t upper_bytes, ThreadTeam& team, LargeMemory& memory,
                                               const CachedAs& cached) {
  auto matrix = std::make_shared<CpuMatrix>();
  matrix->rows = tensor.as<const uint8_t>();
  matrix->row_bytes = static_cast<int64_t>(row_bytes(tensor.dtype, static_cast<size_t>(tensor.cols())));
  if (kernel.rows == 0) return matrix;
  matrix->kernel = kernel;
  matrix->upper_bytes = upper_bytes;
  matrix->n_panels = (tensor.rows() + kernel.rows - 1) / kernel.rows;
  const auto bytes = static_cast<size_t>(matrix->n_panels * kernel.panel_bytes(tensor.cols()));
  if (cached.cache != nullptr) {
    if (const auto found = cached.cache->find(cached.name, tensor, bytes)) {
      matrix->panels = {found, reinterpret_cast<const uint8_t*>(found.get())};
      return matrix;
    }
  }
  TRY_ASSIGN(const std::shared_ptr<void> owner, memory.alloc(bytes, team));
  auto* panels = static_cast<uint8_t*>(owner.get());
  pack_panels(tensor, *matrix, team, panels);
  matrix->panels = {owner, panels};
  if (cached.cache != nullptr)
    cached.cache->add(cached.name, tensor, std::as_bytes(std::span(panels, bytes)), owner);
  return matrix;
}

}  // namespace inferno::backend
