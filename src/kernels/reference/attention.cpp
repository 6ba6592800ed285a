#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {
namespace {

constexpr int64_t kDims = 32;  // read at a time: whole blocks of every type

// The keys or values of one sequence and one KV head.
struct CachedHead {
  const uint8_t* data;
  DequantizeFn dequantize_run;
  int64_t row_bytes, run_bytes;  // of all dimensions; of kDims of them
  const int32_t* block_table;
  int64_t block_size, n_kv_heads, head_dim, kv_head;

  // n dimensions from d on, which is a multiple of kDims.
  void read(int64_t position, int64_t d, int64_t n, float* x) const {
    const int64_t block = block_table[position / block_size];
    const int64_t row = (block * n_kv_heads + kv_head) * block_size + position % block_size;
    dequantize_run(data + row * row_bytes + d / kDims * run_bytes, x, n);
  }
};

struct Range {  // of positions
  int64_t begin, end;
};

// The softmax of one chunk before it is normalized.
struct ChunkWeights {
  float max;
  float sum;
  float weight[kAttentionChunk];  // exp(score - max) of position begin + i
};

void score_chunk(const float* q, const CachedHead& keys, Range range, float scale, ChunkWeights* chunk) {
  chunk->max = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < range.end - range.begin; ++i) {
    float dot = 0.0f;
    for (int64_t d0 = 0; d0 < keys.head_dim; d0 += kDims) {
      const int64_t n = std::min(kDims, keys.head_dim - d0);
      float k[kDims];
      keys.read(range.begin + i, d0, n, k);
      for (int64_t d = 0; d < n; ++d) dot += q[d0 + d] * k[d];
    }
    chunk->weight[i] = dot * scale;
    chunk->max = std::max(chunk->max, chunk->weight[i]);
  }
  chunk->sum = 0.0f;
  for (int64_t i = 0; i < range.end - range.begin; ++i) {
    chunk->weight[i] = std::exp(chunk->weight[i] - chunk->max);
    chunk->sum += chunk->weight[i];
  }
}

// y = y * keep + (weighted sum of the chunk's values) * take, a few dimensions at a time.
void combine_values(const CachedHead& values, Range range, const ChunkWeights& chunk, float keep, float take,
                    float* y) {
  for (int64_t d0 = 0; d0 < values.head_dim; d0 += kDims) {
    const int64_t n = std::min(kDims, values.head_dim - d0);
    float sums[kDims] = {};
    for (int64_t i = 0; i < range.end - range.begin; ++i) {
      float v[kDims];
      values.read(range.begin + i, d0, n, v);
      for (int64_t d = 0; d < n; ++d) sums[d] += chunk.weight[i] * v[d];
    }
    for (int64_t d = 0; d < n; ++d) y[d0 + d] = y[d0 + d] * keep + sums[d] * take;
  }
}

void attend(const float* q, const CachedHead& keys, const CachedHead& values, Range visible, float scale,
            float* y) {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0.0f;
  for (int64_t d = 0; d < keys.head_dim; ++d) y[d] = 0.0f;
  ChunkWeights chunk;
  for (int64_t c = visible.begin / kAttentionChunk; c * kAttentionChunk < visible.end; ++c) {
    const Range range = {std::max(visible.begin, c * kAttentionChunk),
                         std::min(visible.end, (c + 1) * kAttentionChunk)};
    score_chunk(q, keys, range, scale, &chunk);
    const float new_max = std::max(max, chunk.max);
    const float keep = std::exp(max - new_max);
    const float take = std::exp(chunk.max - new_max);
    sum = sum * keep + chunk.sum * take;
    combine_values(values, range, chunk, keep, take, y);
    max = new_max;
  }
  for (int64_t d = 0; d < keys.head_dim; ++d) y[d] /= sum;
}

void attend_sequence(const AttentionParams& p, int64_t s) {
  const KvLayerView& kv = p.kv;
  const auto bytes_of = [&](int64_t n) {
    return static_cast<int64_t>(row_bytes(kv.dtype, static_cast<size_t>(n)));
  };
  const int64_t first_row = p.cu_seqlens_q[s];
  const int64_t n_queries = p.cu_seqlens_q[s + 1] - first_row;
  const int64_t heads_per_kv_head = p.n_heads / kv.n_kv_heads;
  for (int64_t i = 0; i < n_queries; ++i) {
    const int64_t position = p.context_lens[s] - n_queries + i;
    const int64_t oldest = p.window == 0 ? 0 : std::max<int64_t>(0, position - p.window + 1);
    for (int64_t h = 0; h < p.n_heads; ++h) {
      const CachedHead keys = {static_cast<const uint8_t*>(kv.k),
                               find_dequantize(kv.dtype),
                               bytes_of(kv.head_dim),
                               bytes_of(kDims),
                               p.block_tables + s * p.max_blocks,
                               kv.block_size,
                               kv.n_kv_heads,
                               kv.head_dim,
                               h / heads_per_kv_head};
      CachedHead values = keys;
      values.data = static_cast<const uint8_t*>(kv.v);
      const int64_t row = ((first_row + i) * p.n_heads + h) * kv.head_dim;
      attend(p.q + row, keys, values, {oldest, position + 1}, p.scale, p.y + row);
    }
  }
}

}  // namespace

void attention(const AttentionParams& p) {
  for (int64_t s = 0; s < p.n_seqs; ++s) attend_sequence(p, s);
}

}  // namespace inferno::kernels::reference
