// KvCache: where the keys and values of past positions are kept, behind one interface for every layout.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"

namespace inferno::kv {

struct LayerShape {
  int64_t n_kv_heads;
  int64_t head_dim;
};

// What every kind of cache needs to know.
struct Config {
  std::vector<LayerShape> layers;
  DType dtype = DType::kF16;  // F16 or F32: keys and values are rounded to it when stored
  int64_t max_seqs = 1;       // sequences held at once
  int64_t max_positions = 0;  // of one sequence
};

// Bytes of one position over all layers.
uint64_t bytes_per_position(const Config& config);

// Sequences are numbered 0 .. max_seqs - 1 by the caller.
class KvCache {
 public:
  virtual ~KvCache() = default;

  // Makes room for sequence `seq` to hold n_positions. kResource, saying what is needed and there, if it
  // cannot.
  virtual Status reserve(int32_t seq, int64_t n_positions) = 0;
  // Forgets all positions of a sequence from n_positions on.
  virtual void truncate(int32_t seq, int64_t n_positions) = 0;

  // Block ids of a sequence, in order of position; position p lies in entry p / block_size().
  virtual std::span<const int32_t> block_table(int32_t seq) const = 0;
  virtual int64_t block_size() const = 0;
  virtual kernels::KvLayerView layer(int64_t index) const = 0;

  virtual int64_t max_positions() const = 0;
  virtual uint64_t bytes() const = 0;
};

}  // namespace inferno::kv
