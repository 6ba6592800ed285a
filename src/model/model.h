// Model: a config, its weights, and the one forward pass of all families.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "base/result.h"
#include "gguf/file.h"
#include "kv/kv_cache.h"
#include "model/batch.h"
#include "model/config.h"
#include "model/memory_items.h"
#include "model/weights.h"

namespace inferno::model {

// Logits of the rows asked for, in the backend's memory until the next forward; with Batch::highest_only some
// may be -inf.
struct Logits {
  Tensor values;  // (n_logits, vocab)
  // (n_logits): with Batch::highest_only, where the host cannot read the backend's memory; else nullptr.
  const backend::Argmax* highest = nullptr;
};

class Model {
 public:
  // Errors: as load_weights().
  static Result<std::unique_ptr<Model>> load(gguf::File file, std::shared_ptr<backend::Backend> backend,
                                             const WeightOptions& options = {});

  // Runs the batch through all layers; keys and values of its positions are added to the cache. At most
  // max_batch() tokens. Errors: kResource when activations cannot be allocated; kCancelled when `cancelled`
  // says so, which is asked before each layer; kRuntime from the device.
  Result<Logits> forward(const Batch& batch, kv::KvCache& cache, const CancelFn& cancelled = {});
  // 512, or as many rows as keep the activations below 256 MiB.
  int64_t max_batch() const { return max_batch_; }

  // `error`; where it is kResource, also what is largest of `others` and the weights in the backend's memory.
  Error with_largest_items(const Error& error, std::vector<MemoryItem> others) const;

  // What a cache for this model needs.
  kv::Config kv_config(DType dtype, int64_t max_seqs, int64_t max_positions) const;

  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return weights_; }
  const gguf::File& file() const { return file_; }
  backend::Backend& backend() const { return *backend_; }

 private:
  // Activations of one forward pass, for up to `capacity` rows.
  struct Workspace {
    int64_t capacity = 0;
    int64_t logits_capacity = 0;
    std::vector<Buffer> buffers;
    Buffer logits_buffer;
    Buffer highest;               // (n_logits) Argmax; none where the host can read the logits
    Tensor x, normed;             // (n, dim)
    Tensor q, attended;           // (n, max heads * head_dim)
    Tensor k, v;                  // (n, max kv heads * head_dim)
    Tensor gate, up;              // (n, max hidden_dim)
    Tensor rows;                  // (n, dim): the rows whose logits are wanted
    std::vector<Tensor> cos_sin;  // (n, n_rope_pairs, 2) for each rope
    Tensor logits;                // (n_logits, vocab)
  };

  Model(gguf::File file, std::shared_ptr<backend::Backend> backend)
      : file_(std::move(file)), backend_(std::move(backend)) {}
  Status reserve_workspace(int64_t n_tokens, int64_t n_logits);
  Status allocate_workspace(int64_t n_tokens, int64_t n_logits);

  gguf::File file_;  // weights may lie in its mapping
  std::shared_ptr<backend::Backend> backend_;
  ModelConfig config_;
  Weights weights_;
  Workspace workspace_;  // grows with the largest batch so far
  int64_t max_batch_ = 1;
};

}  // namespace inferno::model
