// KvCache: where the keys and values of past positions are kept, behind one interface for every layout.
#pragma once

#include <array>
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

// What keys and values can be stored as: they are rounded to it, and read as stored. BF16 has F32's range and
// 8 bits; Q8_0 has half of F16's bytes, and takes a head_dim that is a multiple of 32 only.
inline constexpr std::array kTypes = {DType::kF16, DType::kF32, DType::kBF16, DType::kQ8_0};

// What every kind of cache needs to know.
struct Config {
  std::vector<LayerShape> layers;
  DType dtype = DType::kF16;   // of kTypes
  int64_t max_seqs = 1;        // sequences held at once
  int64_t max_positions = 0;   // of one sequence
  int64_t soon_positions = 0;  // of them: those that are written before long
};

// kInvalidArgument where a head is no whole number of the type's blocks.
Status check_type(const Config& config);

// Bytes of one position over all layers, whose type has been checked.
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
