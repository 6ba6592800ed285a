// The CUDA kernels, as the host calls them: the parameters of kernels/params.h with every pointer in the
// device's memory, and the stream that they are put into. A call returns before its kernel has run; what goes
// wrong is the CUDA runtime's last error. Plain C++: no CUDA type is seen here.
#pragma once

#include "kernels/params.h"

namespace inferno::kernels::cuda {

using Stream = void*;  // a cudaStream_t

void embed(const EmbedParams& p, Stream stream);
void matmul(const MatmulParams& p, Stream stream);
void rms_norm(const RmsNormParams& p, Stream stream);
void rope_table(const RopeTableParams& p, Stream stream);
void rope(const RopeParams& p, Stream stream);
void kv_append(const KvAppendParams& p, Stream stream);
// n: rows of q and y, which the host cannot read from cu_seqlens_q.
void attention(const AttentionParams& p, int64_t n, Stream stream);
void add(const AddParams& p, Stream stream);
void act_mul(const ActMulParams& p, Stream stream);
void gather_rows(const GatherRowsParams& p, Stream stream);
// Blocks that look through a row together; scratch has a word for each: (n, argmax_blocks(dim)).
constexpr int64_t argmax_blocks(int64_t dim) {
  constexpr int64_t kPerBlock = 2048;  // elements
  return (dim + kPerBlock - 1) / kPerBlock;
}
void argmax(const ArgmaxParams& p, uint64_t* scratch, Stream stream);

// Parts of decoder steps in one launch, each with the bits of the primitives that it stands for.

// Products of the same rows with up to three matrices of one type, as wq, wk and wv are: of each,
// y[r, m] = sum over k of w[m, k] * x[r, k] (+ bias[m]), added to what y has if `add`.
struct SharedMatmulParams {
  struct Matrix {
    const void* w;      // (m, k) in dtype
    const float* bias;  // (m) or nullptr
    float* y;           // (n, m)
    int64_t m;
  };
  Matrix matrices[3];
  int n_matrices;
  DType dtype;
  const float* x;  // (n, k)
  int64_t n, k;
  bool add;
};
void shared_matmul(const SharedMatmulParams& p, Stream stream);

// y = act(x w_gate^T) * (x w_up^T): SwiGLU, GeGLU. Shazeer 2020.
struct GatedMatmulParams {
  const void* w_gate;  // (m, k) in dtype
  const void* w_up;    // likewise
  DType dtype;
  const float* x;  // (n, k)
  float* y;        // (n, m)
  int64_t n, m, k;
  Activation activation;
};
void gated_matmul(const GatedMatmulParams& p, Stream stream);

// y += the norm of x.
void rms_norm_add(const RmsNormParams& p, Stream stream);

// What follows on q, k and v: the norms of heads, where there are, the rotation of q and k, keys and values
// stored in the cache. Strides: elements from a row to the next.
struct FinishHeadsParams {
  float* q;             // (n, n_heads, head_dim), in place
  float* k;             // (n, n_kv_heads, head_dim), in place
  const float* v;       // (n, n_kv_heads, head_dim)
  const float* q_norm;  // (head_dim) or nullptr
  const float* k_norm;
  const float* cos_sin;         // (n, n_pairs, 2)
  const int64_t* slot_mapping;  // (n): block id * block_size + offset
  KvLayerView kv;
  int64_t n, n_heads, n_pairs;
  int64_t q_stride, k_stride, v_stride;
  float eps;
  RopeStyle style;
};
void finish_heads(const FinishHeadsParams& p, Stream stream);

// Sums of the data's 64-bit words modulo 2^64, which together are all of them: the loop whose speed is the
// device's read-bandwidth ceiling. Bytes are a multiple of 16.
constexpr int64_t kReadSums = 1 << 14;
struct ReadAllParams {
  const void* data;
  int64_t bytes;
  uint64_t* sums;  // (kReadSums)
};
void read_all(const ReadAllParams& p, Stream stream);

}  // namespace inferno::kernels::cuda
