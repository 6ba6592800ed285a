#include "backend/cpu/cpu_weight.h"

namespace inferno::backend {

Result<std::shared_ptr<const CpuMatrix>> pack_matrix(const Tensor& tensor, WeightUse use,
                                                     const CpuKernels& kernels, ThreadTeam& team,
                                                     LargeMemory& memory) {
  auto matrix = std::make_shared<CpuMatrix>();
  matrix->rows = tensor.as<const uint8_t>();
  matrix->row_bytes = static_cast<int64_t>(row_bytes(tensor.dtype, static_cast<size_t>(tensor.cols())));
  const kernels::PanelMatmul& kernel = kernels.matmul[static_cast<size_t>(tensor.dtype)];
  if (use == WeightUse::kEmbedding || kernel.rows == 0) return std::shared_ptr<const CpuMatrix>(matrix);
  matrix->kernel = kernel;
  matrix->n_panels = (tensor.rows() + kernel.rows - 1) / kernel.rows;
  const int64_t panel_bytes = kernel.panel_bytes(tensor.cols());
  TRY_ASSIGN(const std::shared_ptr<void> memory_of_panels,
             memory.alloc(static_cast<size_t>(matrix->n_panels * panel_bytes), team));
  auto* panels = static_cast<uint8_t*>(memory_of_panels.get());
  matrix->panels = memory_of_panels;
  constexpr int64_t kPanelsPerTurn = 8;
  team.run((matrix->n_panels + kPanelsPerTurn - 1) / kPanelsPerTurn, [&](int64_t turn, unsigned) {
    const int64_t end = std::min(matrix->n_panels, (turn + 1) * kPanelsPerTurn);
    for (int64_t i = turn * kPanelsPerTurn; i < end; ++i) {
      const int64_t row = i * kernel.rows;
      kernel.pack(matrix->rows + row * matrix->row_bytes, matrix->row_bytes,
                  std::min(kernel.rows, tensor.rows() - row), tensor.cols(), panels + i * panel_bytes);
    }
  });
  return std::shared_ptr<const CpuMatrix>(matrix);
}

}  // namespace inferno::backend
