// A matrix as the CPU backend holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/args.h"
#include "backend/cpu_isa.h"
#include "backend/repack_cache.h"
#include "base/large_memory.h"
#include "base/result.h"
#include "base/thread_team.h"
#include "tensor/tensor.h"

namespace inferno::backend {

struct HeadScreen;

struct CpuMatrix {
  // As they lie in the file: looked up, and multiplied where there are no panels.
  const uint8_t* rows = nullptr;
  int64_t row_bytes = 0;
  kernels::PanelMatmul kernel;  // rows == 0: no panels, since it is only looked up or its type has none
  int64_t upper_bytes = 0;      // of a panel's upper plane, where there are two; panel after panel of each
  bool is_upper_plane = false;  // of such a matrix
  std::shared_ptr<const uint8_t> panels;  // ours, or in the file of a repack cache
  int64_t n_panels = 0;
  std::shared_ptr<const HeadScreen> screen;  // of an LM head, if there is one
};

inline const CpuMatrix& matrix_of(const Weight& weight) {
  return *static_cast<const CpuMatrix*>(weight.data.get());
}

// A turn of a product takes a multiple of so many rows of weights: whole panels of any ISA, and whole groups
// of CpuKernels::logit_group.
constexpr int64_t kTurnRows = 16;

// Where a matrix's panels may lie already, or are noted for the next run.
struct CachedAs {
  RepackCache* cache = nullptr;
  std::string_view name;
};

// Repacks matrices on all threads of a team.
class WeightPacker {
 public:
  WeightPacker(ThreadTeam& team, LargeMemory& memory) : team_(team), memory_(memory) {}

  // Into the panels of `kernel` (kernel.rows == 0: it stays as it is), in two planes if the upper one has
  // upper_bytes of a panel. kResource when there is no memory for them; what copying the source's rows says.
  Result<std::shared_ptr<CpuMatrix>> pack(const WeightSource& source, const kernels::PanelMatmul& kernel,
                                          int64_t upper_bytes, const CachedAs& cached) {
    return pack_with(source, kernel, upper_bytes, nullptr, cached);
  }
  // What a cache has of it, or nullptr.
  static std::shared_ptr<CpuMatrix> find(const WeightSource& source, const kernels::PanelMatmul& kernel,
                                         int64_t upper_bytes, const CachedAs& cached);
  // nullptr where its weights do not fit.
  Result<std::shared_ptr<CpuMatrix>> pack_compressed(const WeightSource& source,
                                                     const kernels::CompressedMatmul& compressed,
                                                     const CachedAs& cached) {
    return pack_with(source, compressed.product, 0, compressed.pack, cached);
  }

 private:
  using Pack = bool (*)(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel);
  // compress: instead of the kernel's pack().
  Result<std::shared_ptr<CpuMatrix>> pack_with(const WeightSource& source, const kernels::PanelMatmul& kernel,
                                               int64_t upper_bytes, Pack compress, const CachedAs& cached);
  // Whether all panels fit.
  Result<bool> pack_panels(const WeightSource& source, const CpuMatrix& matrix, Pack compress,
                           const LargeMemory::Filling& panels);

  // What a thread works on meanwhile.
  struct Room {
    std::vector<std::byte> rows;
    std::vector<uint8_t> panel;         // of both planes, if there are two
    std::vector<uint8_t> upper, lower;  // of all panels of a turn
    Status status;
  };
  ThreadTeam& team_;
  LargeMemory& memory_;
  std::vector<Room> rooms_ = std::vector<Room>(team_.n_threads());
};

}  // namespace inferno::backend
