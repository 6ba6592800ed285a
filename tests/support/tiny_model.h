// Tiny models of any family with random F32 weights, as GGUF images in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gguf/writer.h"

namespace inferno::test {

struct TinySpec {
  std::string arch = "qwen3";
  uint32_t n_layers = 2;
  uint32_t dim = 32;
  uint32_t n_heads = 4;
  uint32_t n_kv_heads = 2;
  uint32_t head_dim = 8;
  uint32_t hidden_dim = 48;
  uint32_t vocab_size = 300;  // at least 258: all bytes and two specials
  uint32_t context_length = 512;
  uint32_t window = 0;
  float rope_theta = 10000.0f;
  float rope_scale = 1.0f;
  bool tied = true;
  bool rope_freqs = false;
  uint64_t seed = 1;
};

// A model whose parts can be changed before it is written: what a test of bad input needs.
class TinyModel {
 public:
  explicit TinyModel(const TinySpec& spec);

  struct TensorData {
    std::vector<int64_t> shape;  // outermost first
    std::vector<float> values;
    DType dtype = DType::kF32;  // what they are written as: F32, F16 or I32
  };
  // By name; erase, rename or reshape at will.
  std::map<std::string, TensorData> tensors;
  // Writes metadata by name; replace or erase at will ("qwen3.block_count" …).
  std::map<std::string, std::function<void(gguf::Writer&, const std::string& key)>> metadata;

  template <class T>
  void set(const std::string& key, T value) {
    metadata[key] = [value](gguf::Writer& writer, const std::string& k) { writer.add(k, value); };
  }
  template <class T>
  void set_array(const std::string& key, std::vector<T> values) {
    metadata[key] = [values](gguf::Writer& writer, const std::string& k) {
      writer.add(k, std::span<const T>(values));
    };
  }
  void set_bools(const std::string& key, std::vector<bool> values);

  // A tensor of random values, in place of one of that name.
  void add_tensor(const std::string& name, std::vector<int64_t> shape, double spread, double mean = 0);

  std::vector<std::byte> bytes() const;

 private:
  uint64_t state_;
};

// Random ids below vocab_size, the same for the same seed.
std::vector<int32_t> random_ids(size_t n, uint32_t vocab_size, uint64_t seed);

}  // namespace inferno::test
