#include "backend/cpu/cpu_weight.h"

#include <algorithm>
#include <span>

namespace inferno::backend {
namespace {

void pack_panels(const Tensor& tensor, const CpuMatrix& matrix, ThreadTeam& team, uint8_t* panels) {
  const kernels::PanelMatmul& kernel = matrix.kernel;
  const int64_t panel_bytes = kernel.panel_bytes(tensor.cols());
  constexpr int64_t kPanelsPerTurn = 8;
  team.run((matrix.n_panels + kPanelsPerTurn - 1) / kPanelsPerTurn, [&](int64_t turn, unsigned) {
    const int64_t end = std::min(matrix.n_panels, (turn + 1) * kPanelsPerTurn);
    for (int64_t i = turn * kPanelsPerTurn; i < end; ++i) {
      const int64_t row = i * kernel.rows;
      kernel.pack(matrix.rows + row * matrix.row_bytes, matrix.row_bytes,
                  std::min(kernel.rows, tensor.rows() - row), tensor.cols(), panels + i * panel_bytes);
    }
  });
}

}  // namespace

Result<std::shared_ptr<CpuMatrix>> pack_matrix(const Tensor& tensor, WeightUse use, const CpuKernels& kernels,
                                               ThreadTeam& team, LargeMemory& memory,
                                               const CachedAs& cached) {
  auto matrix = std::make_shared<CpuMatrix>();
  matrix->rows = tensor.as<const uint8_t>();
  matrix->row_bytes = static_cast<int64_t>(row_bytes(tensor.dtype, static_cast<size_t>(tensor.cols())));
  const kernels::PanelMatmul& kernel = kernels.matmul[static_cast<size_t>(tensor.dtype)];
  if (use == WeightUse::kEmbedding || kernel.rows == 0) return matrix;
  matrix->kernel = kernel;
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
