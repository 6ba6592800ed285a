// The arguments of the seam: tensors in the backend's memory and weights in its own layout, shapes in
// comments. n is the number of rows (tokens) of the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"
#include "kernels/params.h"
#include "tensor/tensor.h"

namespace inferno::backend {

using kernels::Activation;
using kernels::Argmax;
using kernels::KvLayerView;
using kernels::RopeStyle;

enum class WeightUse {
  kMatmul,
  kEmbedding,         // rows are looked up
  kHead,              // multiplied with for logits
  kEmbeddingAndHead,  // tied: rows are looked up, and it is multiplied with for logits
  kVector,            // a norm or bias: becomes F32
};

// A tensor to load. It lies in host memory, which outlives the weight; copy_rows is good while it is loaded.
struct WeightSource {
  // Copies n rows from `first` on, as they lie there. From any thread. Errors: what reading a file says.
  using CopyRows = std::function<Status(int64_t first, int64_t n, std::byte* to)>;

  // Not explicit, since most tensors lie in memory.
  WeightSource(const Tensor& at, CopyRows copy = {}) : tensor(at), copy_rows(std::move(copy)) {}

  Tensor tensor;
  // Where the memory is a file's, mapped: spares its pages. Takes every row once, or none: who makes all of a
  // weight out of copies, or who reads the tensor where it lies. Who has to begin again calls start_over
  // first, where there is one.
  CopyRows copy_rows;
  std::function<void()> start_over;
};

// A weight as a backend holds it. Only `data`'s layout is the backend's own business.
struct Weight {
  DType dtype = DType::kF32;
  int64_t rows = 0;  // outputs; 1 for a vector
  int64_t cols = 0;  // inputs
  std::shared_ptr<const void> data;
  size_t stored_bytes = 0;  // where a backend keeps it in fewer than the file has, else 0

  bool empty() const { return data == nullptr; }
  size_t bytes() const { return row_bytes(dtype, static_cast<size_t>(rows * cols)); }
  // What a product reads.
  size_t read_bytes() const { return stored_bytes != 0 ? stored_bytes : bytes(); }
};

// The flat arrays that describe a batch; names as in flash-attention and vLLM.
struct BatchView {
  int64_t n_tokens = 0;
  int64_t n_seqs = 0;
  int64_t n_logits = 0;
  int64_t max_blocks = 0;                   // columns of block_tables
  const int32_t* token_ids = nullptr;       // (n_tokens)
  const int32_t* positions = nullptr;       // (n_tokens), in its own sequence, from 0
  const int32_t* cu_seqlens_q = nullptr;    // (n_seqs + 1)
  const int32_t* context_lens = nullptr;    // (n_seqs), this batch's tokens included
  const int32_t* block_tables = nullptr;    // (n_seqs, max_blocks)
  const int64_t* slot_mapping = nullptr;    // (n_tokens): block id * block_size + offset
  const int32_t* logits_indices = nullptr;  // (n_logits): rows whose logits are wanted
};

struct EmbedArgs {
  const Weight& table;  // (vocab, dim)
  BatchView batch;
  Tensor y;  // (n, dim)
  float scale;
};

struct MatmulArgs {
  const Weight& w;     // (m, k)
  const Weight& bias;  // (m), or empty
  Tensor x;            // (n, k)
  Tensor y;            // (n, m)
};

struct RmsNormArgs {
  const Weight& w;  // (dim); x may have several heads of that size per row
  Tensor x;         // (n, dim)
  Tensor y;         // (n, dim); may be x
  float eps;
};

struct RopeTableArgs {
  BatchView batch;
  const double* inv_freq;  // (n_pairs), in host memory
  Tensor cos_sin;          // (n, n_pairs, 2)
};

struct RopeArgs {
  Tensor x;        // (n, n_heads, head_dim), in place
  Tensor cos_sin;  // (n, n_pairs, 2)
  RopeStyle style;
};

struct KvAppendArgs {
  Tensor k;  // (n, n_kv_heads, head_dim)
  Tensor v;
  KvLayerView kv;
  BatchView batch;
};

struct AttentionArgs {
  Tensor q;  // (n, n_heads, head_dim)
  KvLayerView kv;
  BatchView batch;
  Tensor y;        // (n, n_heads, head_dim)
  float scale;     // of q.k
  int64_t window;  // a query at p sees positions > p - window; 0 = all up to p
};

struct AddArgs {
  Tensor x;  // += y
  Tensor y;
};

struct ActMulArgs {
  Tensor gate;
  Tensor up;
  Tensor y;  // may be gate
  Activation activation;
};

struct GatherRowsArgs {
  Tensor x;            // (n, dim)
  const int32_t* ids;  // (y's rows)
  Tensor y;            // (n_ids, dim)
};

struct ArgmaxArgs {
  Tensor x;   // (n, dim)
  Argmax* y;  // (n)
};

struct QkvArgs {
  Tensor x;            // (n, dim), the residual stream; read only
  const Weight& norm;  // (dim)
  float eps;
  const Weight& wq;  // (n_heads * head_dim, dim)
  const Weight& wk;  // (n_kv_heads * head_dim, dim)
  const Weight& wv;
  const Weight& bq;  // biases, or empty
  const Weight& bk;
  const Weight& bv;
  const Weight& q_norm;  // (head_dim), per head, or empty
  const Weight& k_norm;
  Tensor cos_sin;  // (n, n_pairs, 2)
  RopeStyle rope_style;
  KvLayerView kv;
  BatchView batch;
  Tensor q;       // (n, n_heads, head_dim): the result
  Tensor normed;  // (n, dim): scratch, as are k and v
  Tensor k;       // (n, n_kv_heads, head_dim)
  Tensor v;
};

struct OutProjArgs {
  Tensor attended;          // (n, n_heads * head_dim)
  const Weight& wo;         // (dim, n_heads * head_dim)
  const Weight& bias;       // (dim), or empty
  const Weight& post_norm;  // (dim), or empty
  float eps;
  Tensor x;        // (n, dim): += the result
  Tensor scratch;  // (n, dim)
};

struct MlpArgs {
  const Weight& norm;  // (dim)
  float eps;
  const Weight& w_gate;  // (hidden_dim, dim)
  const Weight& w_up;
  const Weight& w_down;     // (dim, hidden_dim)
  const Weight& post_norm;  // (dim), or empty
  Activation activation;
  Tensor x;       // (n, dim): += the result
  Tensor normed;  // (n, dim): scratch, as are gate and up
  Tensor gate;    // (n, hidden_dim)
  Tensor up;
};

struct LmHeadArgs {
  Tensor x;  // (n, dim)
  BatchView batch;
  const Weight& norm;  // (dim)
  float eps;
  const Weight& head;  // (vocab, dim)
  Tensor rows;         // (n_logits, dim): scratch
  Tensor logits;       // (n_logits, vocab)
  // Of each row only the highest logit is wanted, and where it stands: others may come out as -inf.
  bool highest_only = false;
  // (n_logits): where the device is to leave that, so that the logits need not be downloaded for it. nullptr:
  // nowhere; so it is where the host can read them (Backend::host_view).
  Argmax* highest = nullptr;
};

}  // namespace inferno::backend
