// ModelConfig: sizes and switches of a model, read from GGUF metadata with the help of its family's row
// (arch_table.h). Per layer, because windows, heads and rope vary by layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/args.h"
#include "base/result.h"
#include "gguf/file.h"
#include "model/arch_table.h"

namespace inferno::model {

struct LayerConfig {
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;  // divides n_heads
  int64_t hidden_dim = 0;  // of the MLP
  int64_t window = 0;      // a query sees that many positions, its own included; 0 = all
  size_t rope = 0;         // index into ModelConfig::ropes
};

// One set of rotary frequencies. Position p turns pair i by p * inv_freq[i].
struct RopeConfig {
  double theta = 10000.0;
  double scale = 1.0;             // linear scaling: frequencies are divided by it
  bool uses_freq_factors = true;  // divided by the rope_freqs tensor, where the model has one
  std::vector<double> inv_freq;   // (n_pairs)
};

struct ModelConfig {
  const ArchRow* arch = nullptr;
  std::string name;
  int64_t dim = 0;
  int64_t n_layers = 0;
  int64_t vocab_size = 0;
  int64_t context_length = 0;
  int64_t head_dim = 0;
  int64_t n_rope_pairs = 0;  // half the rotary dimension
  float norm_eps = 0;
  float embedding_scale = 1;
  float attention_scale = 0;
  std::vector<LayerConfig> layers;
  std::vector<RopeConfig> ropes;

  int64_t max_heads() const;
  int64_t max_kv_heads() const;
  int64_t max_hidden_dim() const;
};

// Reads and checks everything: a config that comes out has no zero, no overflow and no division with a
// remainder in it. vocab_size comes from the token list.
Result<ModelConfig> read_config(const gguf::File& file);

}  // namespace inferno::model
