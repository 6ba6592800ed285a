// The argument structs of every kernel: raw pointers and sizes, shapes in comments, rows outermost. Kernels
// do not allocate, log or start threads, and never see anything above them. Activations are float32. A weight
// row of K elements is row_bytes(dtype, K) bytes; rows follow each other without gaps.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace inferno::kernels {

// y[r] = row ids[r] of the table, times scale
struct EmbedParams {
  const void* table;  // (vocab, dim) in dtype
  DType dtype;
  const int32_t* ids;  // (n)
  float* y;            // (n, dim)
  int64_t n, dim;
  float scale;
};

// y[r, m] = sum over k of w[m, k] * x[r, k] (+ bias[m])
struct MatmulParams {
  const void* w;  // (m, k) in dtype
  DType dtype;
  const float* bias;  // (m) or nullptr
  const float* x;     // (n, k)
  float* y;           // (n, m)
  int64_t n, m, k;
};

// y[r] = x[r] / sqrt(mean(x[r]^2) + eps) * w. Zhang and Sennrich 2019. y may be x.
struct RmsNormParams {
  const float* x;  // (n, dim)
  const float* w;  // (dim)
  float* y;        // (n, dim)
  int64_t n, dim;
  float eps;
};

// cos_sin[r, i] = (cos, sin) of positions[r] * inv_freq[i], in double, rounded once
struct RopeTableParams {
  const int32_t* positions;  // (n)
  const double* inv_freq;    // (n_pairs)
  float* cos_sin;            // (n, n_pairs, 2)
  int64_t n, n_pairs;
};

enum class RopeStyle : uint8_t {
  kInterleaved,  // pairs (2i, 2i+1), as in the paper
  kHalves,       // pairs (i, i + rotary/2): NEOX
};

// Rotates the first 2 * n_pairs elements of every head in place. Su et al. 2021.
struct RopeParams {
  float* x;              // (n, n_heads, head_dim)
  const float* cos_sin;  // (n, n_pairs, 2)
  int64_t n, n_heads, head_dim, n_pairs;
  RopeStyle style;
};

// Where a layer's keys and values lie: blocks of positions, each (n_kv_heads, block_size, head_dim) in dtype,
// or in an order of the backend's own within a head. A contiguous cache is one block as long as the context.
// In Q8_0 the head_dim elements of a position and head are head_dim / 32 blocks (BlockQ8_0) one after the
// other, as a row of weights is.
struct KvLayerView {
  void* k;      // (n_blocks, n_kv_heads, block_size, head_dim)
  void* v;      // likewise
  DType dtype;  // F32, F16, BF16, or Q8_0 where head_dim is a multiple of 32
  int64_t block_size, n_kv_heads, head_dim;
};

// Stores k and v of each row, rounded to the cache's type.
struct KvAppendParams {
  const float* k;  // (n, n_kv_heads, head_dim)
  const float* v;  // likewise
  KvLayerView kv;
  const int64_t* slot_mapping;  // (n): block id * block_size + offset
  int64_t n;
};

// Causal grouped-query attention over the cache, ragged in queries and contexts. Softmax is computed online
// in chunks of kAttentionChunk positions counted from position 0 and combined in order, so a row's result
// depends on its own sequence alone.
constexpr int64_t kAttentionChunk = 256;
struct AttentionParams {
  const float* q;               // (n, n_heads, head_dim)
  KvLayerView kv;               // already holds the positions of this batch
  const int32_t* block_tables;  // (n_seqs, max_blocks)
  const int32_t* cu_seqlens_q;  // (n_seqs + 1): rows of sequence s are cu_seqlens_q[s] .. cu_seqlens_q[s + 1]
  const int32_t* context_lens;  // (n_seqs): positions in the cache, this batch's included
  float* y;                     // (n, n_heads, head_dim)
  int64_t n_seqs, max_blocks, n_heads;
  float scale;     // scores are q.k * scale
  int64_t window;  // a query at p sees positions > p - window; 0 = all up to p
};

// x += y
struct AddParams {
  float* x;        // (n)
  const float* y;  // (n)
  int64_t n;
};

enum class Activation : uint8_t {
  kSilu,      // x / (1 + exp(-x))
  kGeluTanh,  // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
};

// y = act(gate) * up. y may be gate.
struct ActMulParams {
  const float* gate;  // (n)
  const float* up;    // (n)
  float* y;           // (n)
  int64_t n;
  Activation activation;
};

// y[r] = x[ids[r]]
struct GatherRowsParams {
  const float* x;      // (?, dim)
  const int32_t* ids;  // (n)
  float* y;            // (n, dim)
  int64_t n, dim;
};

// Where the highest element of a row stands, of equals the first (0 and -0 are), and its value: -inf only
// where all are. In a row with NaN or +inf the first of these stands for it, so that nobody who is told of
// one element takes the row for one of numbers.
struct Argmax {
  float value;
  int32_t index;
};

// y[r] = that of x[r]
struct ArgmaxParams {
  const float* x;  // (n, dim)
  Argmax* y;       // (n)
  int64_t n, dim;  // dim > 0
};

}  // namespace inferno::kernels
