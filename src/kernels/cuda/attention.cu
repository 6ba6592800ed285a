#include "kernels/cuda/device/formats.h"
#include "kernels/cuda/device/launch_kernel.h"

namespace inferno::kernels::cuda {
namespace {

constexpr int kThreads = kAttentionChunk;  // a thread for each position of a chunk

// What a head of a row attends to: positions oldest .. last of one sequence and one KV head.
template <class Format>
struct Past {
  using Block = typename Format::Block;
  const KvLayerView& kv;
  const int32_t* block_table;
  int64_t kv_head, oldest, last;

  // Of keys or values at a position.
  __device__ const Block* row(const void* cache, int64_t position) const {
    const int64_t block = block_table[position / kv.block_size];
    const int64_t place = (block * kv.n_kv_heads + kv_head) * kv.block_size + position % kv.block_size;
    return static_cast<const Block*>(cache) + place * (kv.head_dim / Format::kElems);
  }
  __device__ float score(const float* q, int64_t position, float scale) const {
    const Block* key = row(kv.k, position);
    float dot = 0.0f;
    for (int64_t d = 0; d < kv.head_dim; ++d) dot = fmaf(q[d], Format::at(key, d), dot);
    return dot * scale;
  }
};

template <class Format>
__device__ Past<Format> past_of(const AttentionParams& p, int64_t row, int64_t head) {
  int64_t s = 0;
  while (row >= p.cu_seqlens_q[s + 1]) ++s;
  // A sequence's queries are the last of its positions.
  const int64_t last = p.context_lens[s] - p.cu_seqlens_q[s + 1] + row;
  const int64_t oldest = p.window == 0 || last < p.window ? 0 : last - p.window + 1;
  return {p.kv, p.block_tables + s * p.max_blocks, head / (p.n_heads / p.kv.n_kv_heads), oldest, last};
}

// A block for a head of a row. In each chunk a thread scores one position, then sums the values of all of
// them in its own dimensions, in order; what there is of y so far is scaled to the new maximum. Maximum and
// sum of a chunk every thread finds for itself, which needs no tree and has the order of the reference.
template <class Format>
__global__ void attention_kernel(AttentionParams p) {
  __shared__ float scores[kAttentionChunk];
  __shared__ float weights[kAttentionChunk];
  const int64_t row = blockIdx.x / p.n_heads;
  const int64_t head = blockIdx.x % p.n_heads;
  const Past<Format> past = past_of<Format>(p, row, head);
  const int64_t head_dim = p.kv.head_dim;
  const float* q = p.q + blockIdx.x * head_dim;
  float* y = p.y + blockIdx.x * head_dim;
  for (int64_t d = threadIdx.x; d < head_dim; d += kThreads) y[d] = 0.0f;

  float max = -INFINITY;
  float sum = 0.0f;
  for (int64_t first = past.oldest / kAttentionChunk * kAttentionChunk; first <= past.last;
       first += kAttentionChunk) {
    const int64_t position = first + threadIdx.x;
    const bool visible = position >= past.oldest && position <= past.last;
    const int begin = past.oldest > first ? static_cast<int>(past.oldest - first) : 0;
    const int end = past.last - first < kAttentionChunk ? static_cast<int>(past.last - first) + 1 : kThreads;
    const float score = visible ? past.score(q, position, p.scale) : 0.0f;
    scores[threadIdx.x] = score;
    __syncthreads();
    float chunk_max = -INFINITY;
    for (int i = begin; i < end; ++i) chunk_max = fmaxf(chunk_max, scores[i]);
    weights[threadIdx.x] = visible ? expf(score - chunk_max) : 0.0f;
    __syncthreads();  // nobody writes the next scores before all have read these, nor the next weights
    float chunk_sum = 0.0f;
    for (int i = begin; i < end; ++i) chunk_sum += weights[i];

    const float new_max = fmaxf(max, chunk_max);
    const float keep = expf(max - new_max);
    const float take = expf(chunk_max - new_max);
    sum = sum * keep + chunk_sum * take;
    max = new_max;
    for (int64_t d = threadIdx.x; d < head_dim; d += kThreads) {
      float values = 0.0f;
      for (int i = begin; i < end; ++i) {
        values = fmaf(weights[i], Format::at(past.row(p.kv.v, first + i), d), values);
      }
      y[d] = y[d] * keep + values * take;
    }
  }
  for (int64_t d = threadIdx.x; d < head_dim; d += kThreads) y[d] /= sum;
}

}  // namespace

void attention(const AttentionParams& p, int64_t n, Stream stream) {
  if (n == 0) return;
  with_cache_format(p.kv.dtype, [&](auto format) {
    launch(attention_kernel<decltype(format)>, dim3(static_cast<unsigned>(n * p.n_heads)), dim3(kThreads),
           stream, p);
  });
}

}  // namespace inferno::kernels::cuda
