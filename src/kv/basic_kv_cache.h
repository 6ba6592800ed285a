// BasicKvCache: one contiguous run of positions per sequence and layer: a paged cache whose block is as long
// as the context.
#pragma once

#include <memory>

#include "kv/kv_cache.h"

namespace inferno::kv {

class BasicKvCache final : public KvCache {
 public:
  // Allocates everything at once: 2 * max_seqs * max_positions * sum of (n_kv_heads * head_dim) elements.
  // kResource, with the sum, when that is more than the machine has available; and as check_type().
  static Result<std::unique_ptr<BasicKvCache>> create(backend::Backend& backend, const Config& config);

  Status reserve(int32_t seq, int64_t n_positions) override;
  void truncate(int32_t seq, int64_t n_positions) override;
  std::span<const int32_t> block_table(int32_t seq) const override;
  int64_t block_size() const override { return block_size_; }
  kernels::KvLayerView layer(int64_t index) const override { return layers_[static_cast<size_t>(index)]; }
  int64_t max_positions() const override { return config_.max_positions; }
  uint64_t bytes() const override;

 private:
  BasicKvCache() = default;
  Config config_;
  int64_t block_size_ = 0;  // max_positions, rounded up to what the backend's layout takes
  Buffer memory_;           // K and V of each layer, one after the other
  std::vector<kernels::KvLayerView> layers_;
  std::vector<int32_t> block_ids_;  // sequence s owns block s
};

}  // namespace inferno::kv
