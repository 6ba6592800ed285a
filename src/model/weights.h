// The weights of a model. Field names are GGUF's; an empty Weight is absent.
#pragma once

#include <vector>

#include "backend/args.h"
#include "backend/backend.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "base/result.h"
#include "gguf/file.h"
#include "model/check_tensors.h"
#include "model/config.h"

namespace inferno::model {

struct LayerWeights {
  backend::Weight attn_norm;            // (dim)
  backend::Weight attn_q;               // (n_heads * head_dim, dim)
  backend::Weight attn_k;               // (n_kv_heads * head_dim, dim)
  backend::Weight attn_v;               // (n_kv_heads * head_dim, dim)
  backend::Weight attn_q_bias;          // (n_heads * head_dim)
  backend::Weight attn_k_bias;          // (n_kv_heads * head_dim)
  backend::Weight attn_v_bias;          // (n_kv_heads * head_dim)
  backend::Weight attn_q_norm;          // (head_dim)
  backend::Weight attn_k_norm;          // (head_dim)
  backend::Weight attn_output;          // (dim, n_heads * head_dim)
  backend::Weight attn_output_bias;     // (dim)
  backend::Weight post_attention_norm;  // (dim)
  backend::Weight ffn_norm;             // (dim)
  backend::Weight ffn_gate;             // (hidden_dim, dim)
  backend::Weight ffn_up;               // (hidden_dim, dim)
  backend::Weight ffn_down;             // (dim, hidden_dim)
  backend::Weight post_ffw_norm;        // (dim)
};

struct Weights {
  backend::Weight token_embd;   // (vocab, dim)
  backend::Weight output_norm;  // (dim)
  backend::Weight output;       // (vocab, dim); the same as token_embd where the file has none: a tied head
  std::vector<LayerWeights> layers;

  uint64_t bytes() const;
};

struct WeightOptions {
  ProgressFn progress;
  // Asked, if there is one, for what the backend made of the weights in an earlier run.
  backend::RepackCache* cache = nullptr;
  // Looks at each tensor as the backend takes it: at what it copies, or afterwards where the tensor lies.
  TensorChecker* checker = nullptr;
  CancelFn cancelled;  // asked before each tensor
};

// Takes every tensor of the file into the backend; refuses one that is missing, left over, of another shape
// than the config says or of a type that cannot be multiplied. Reads rope_freqs into config.ropes.
// kCancelled.
Result<Weights> load_weights(const gguf::File& file, ModelConfig& config, backend::Backend& backend,
                             const WeightOptions& options);

}  // namespace inferno::model
