// Attention in tiles of query rows and positions, online over chunks of kAttentionChunk positions. What a row
// comes to depends on its own query and the positions that it sees, never on its tile: positions that it does
// not see weigh 0. (Values are finite; infinity times 0 would be seen by the tile's other rows.)
#pragma once

#include <cstdint>

#include "kernels/cpu/loops/exp.h"
#include "kernels/cpu/loops/kv_cache.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

// The keys and values of one sequence and KV head.
template <class Cache>
struct CachedHead {
  const uint8_t* k;
  const uint8_t* v;
  const int32_t* block_table;
  int64_t block_size, n_kv_heads, head_dim, kv_head;
  int64_t row_bytes = Cache::row_bytes(head_dim);

  // Of the tile of kKeyTile positions that `position` lies in.
  const uint8_t* key_tile(int64_t position) const { return k + tile_offset(position); }
  const uint8_t* value_tile(int64_t position) const { return v + tile_offset(position); }

 private:
  int64_t tile_offset(int64_t position) const {
    const int64_t block = block_table[position / block_size];
    const int64_t in_block = position % block_size / kKeyTile * kKeyTile;
    return ((block * n_kv_heads + kv_head) * block_size + in_block) * row_bytes;
  }
};

// A query row and what has been made of it so far.
struct QueryRow {
  const float* q;      // (head_dim)
  float* y;            // (head_dim)
  int64_t begin, end;  // positions that it sees
  float max, sum;
};

// Scores of kRows rows against kScoreVectors vectors of positions from `position` on, which begins a tile.
// Tiles after `last` do not exist; the last one's scores stand for theirs.
template <class V, class Cache, int kRows>
void score_group(const QueryRow* rows, const CachedHead<Cache>& head, int64_t position, int64_t last,
                 typename V::F scale, float* scores) {
  using F = typename V::F;
  constexpr int kVectors = V::kScoreVectors;
  constexpr int kVectorsPerTile = static_cast<int>(kKeyTile / V::kLanes);
  const uint8_t* k[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const int64_t tile = position + v / kVectorsPerTile * kKeyTile;
    k[v] = head.key_tile(tile < last ? tile : last);
  }
  F sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[t][v] = V::zero();
  }
  const auto first = [](int v) { return v % kVectorsPerTile * V::kLanes; };
  int64_t block = 0;
  for (int64_t d = 0; d < head.head_dim; d += Cache::kBlockDims, block += Cache::kKeyBlockBytes) {
    typename Cache::Scale scales[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) scales[v] = Cache::scale(k[v] + block, first(v));
    for (int64_t i = 0; i < Cache::kBlockDims; ++i) {
      F keys[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) keys[v] = Cache::key(k[v] + block, i, first(v), scales[v]);
#pragma GCC unroll 8
      for (int t = 0; t < kRows; ++t) {
        const F q = V::set(rows[t].q[d + i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[t][v] = V::fma(q, keys[v], sums[t][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      V::store(scores + t * kAttentionChunk + v * V::kLanes, V::mul(sums[t][v], scale));
    }
  }
}

// Turns a row's scores of the positions from chunk + begin to chunk + end, both at tiles, into weights, and
// tells how the sum so far and this chunk's are combined: y = y * keep + values * take.
struct Mix {
  float keep, take;
};
template <class V>
Mix weigh(QueryRow* row, float* scores, int64_t chunk, int64_t begin, int64_t end) {
  using F = typename V::F;
  const float infinity = __builtin_inff();
  if (row->begin >= chunk + end || row->end <= chunk + begin) {
    for (int64_t i = begin; i < end; ++i) scores[i] = 0.0f;
    return {1.0f, 0.0f};
  }
  for (int64_t i = begin; i < row->begin - chunk; ++i) scores[i] = -infinity;
  for (int64_t i = row->end - chunk; i < end; ++i) scores[i] = -infinity;
  F largest = V::set(-infinity);
  for (int64_t i = begin; i < end; i += V::kLanes) largest = V::max(V::load(scores + i), largest);
  const float max = V::largest(largest);
  const F max_lanes = V::set(max);
  F sums = V::zero();
  for (int64_t i = begin; i < end; i += V::kLanes) {
    const F weight = exp<V>(V::sub(V::load(scores + i), max_lanes));
    V::store(scores + i, weight);
    sums = V::add(sums, weight);
  }
  const float new_max = max > row->max ? max : row->max;
  // Lane 0 of a vector, so that there is one exp().
  const float keep = V::first(exp<V>(V::set(row->max - new_max)));
  const float take = V::first(exp<V>(V::set(max - new_max)));
  row->sum = row->sum * keep + V::sum(sums) * take;
  row->max = new_max;
  return {keep, take};
}

// y = y * keep + (values, weighted) * take for kVectors vectors of dimensions from d on, the last one with n
// lanes.
template <class V, class Cache, int kRows, int kVectors>
void add_values(const QueryRow* rows, const Mix* mixes, const CachedHead<Cache>& head, const float* weights,
                int64_t chunk, int64_t begin, int64_t end, int64_t d, int64_t n) {
  using F = typename V::F;
  F sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[t][v] = V::zero();
  }
  for (int64_t tile = begin / kKeyTile * kKeyTile; tile < end; tile += kKeyTile) {
    const uint8_t* values = head.value_tile(chunk + tile);
    const int64_t first = tile < begin ? begin : tile;
    const int64_t last = tile + kKeyTile < end ? tile + kKeyTile : end;
    for (int64_t i = first; i < last; ++i) {
      F x[kVectors];
      Cache::values(values + (i - tile) * head.row_bytes, d, n, x);
#pragma GCC unroll 8
      for (int t = 0; t < kRows; ++t) {
        const F weight = V::set(weights[t * kAttentionChunk + i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[t][v] = V::fma(weight, x[v], sums[t][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
    const F keep = V::set(mixes[t].keep);
    const F take = V::set(mixes[t].take);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int64_t lanes = kVectors == 1 ? n : V::kLanes;
      float* y = rows[t].y + d + v * V::kLanes;
      V::store(y, V::fma(sums[t][v], take, V::mul(V::load(y, lanes), keep)), lanes);
    }
  }
}

template <class V, class Cache, int kRows>
void attend_tile(QueryRow* rows, const CachedHead<Cache>& head, float scale, int64_t chunk) {
  int64_t first = rows[0].begin;
  int64_t last = rows[0].end;
  for (int t = 1; t < kRows; ++t) {
    if (rows[t].begin < first) first = rows[t].begin;
    if (rows[t].end > last) last = rows[t].end;
  }
  const int64_t begin = first > chunk ? first - chunk : 0;
  const int64_t end = last < chunk + kAttentionChunk ? last - chunk : kAttentionChunk;
  if (begin >= end) return;
  const int64_t first_tile = begin / kKeyTile * kKeyTile;
  const int64_t tiles_end = (end + kKeyTile - 1) / kKeyTile * kKeyTile;
  constexpr int64_t kGroup = V::kScoreVectors * V::kLanes;
  alignas(64) float scores[kRows * kAttentionChunk];
  for (int64_t i = first_tile; i < tiles_end; i += kGroup) {
    alignas(64) float group[kRows * kAttentionChunk];
    const bool fits = i + kGroup <= kAttentionChunk;  // a group need not begin at a multiple of its length
    score_group<V, Cache, kRows>(rows, head, chunk + i, chunk + tiles_end - kKeyTile, V::set(scale),
                                 fits ? scores + i : group);
    if (fits) continue;
    for (int t = 0; t < kRows; ++t) {
      for (int64_t j = i; j < tiles_end; ++j)
        scores[t * kAttentionChunk + j] = group[t * kAttentionChunk + j - i];
    }
  }
  Mix mixes[kRows];
  for (int t = 0; t < kRows; ++t)
    mixes[t] = weigh<V>(&rows[t], scores + t * kAttentionChunk, chunk, first_tile, tiles_end);
  int64_t d = 0;
  for (; head.head_dim - d >= kGroup; d += kGroup) {
    add_values<V, Cache, kRows, V::kScoreVectors>(rows, mixes, head, scores, chunk, begin, end, d, V::kLanes);
  }
  for (; d < head.head_dim; d += V::kLanes) {
    const int64_t n = head.head_dim - d < V::kLanes ? head.head_dim - d : V::kLanes;
    add_values<V, Cache, kRows, 1>(rows, mixes, head, scores, chunk, begin, end, d, n);
  }
}

template <class V, class Cache, int kRows>
void attend_rest(QueryRow* rows, int64_t n, const CachedHead<Cache>& head, float scale, int64_t chunk) {
  if constexpr (kRows > 0) {
    if (n == kRows) return attend_tile<V, Cache, kRows>(rows, head, scale, chunk);
    attend_rest<V, Cache, kRows - 1>(rows, n, head, scale, chunk);
  }
}

template <class V, class Cache>
void attend(const AttentionPart& p) {
  const AttentionParams& a = p.all;
  const int64_t head_dim = a.kv.head_dim;
  const int64_t heads_per_kv_head = a.n_heads / a.kv.n_kv_heads;
  const int64_t first_query = a.cu_seqlens_q[p.seq];
  const int64_t first_position = a.context_lens[p.seq] - (a.cu_seqlens_q[p.seq + 1] - first_query);
  const CachedHead<Cache> head = {static_cast<const uint8_t*>(a.kv.k),
                                  static_cast<const uint8_t*>(a.kv.v),
                                  a.block_tables + p.seq * a.max_blocks,
                                  a.kv.block_size,
                                  a.kv.n_kv_heads,
                                  head_dim,
                                  p.kv_head};
  QueryRow rows[kMaxQueryRows];
  const int64_t n = p.row_end - p.row_begin;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t query = (p.row_begin + i) / heads_per_kv_head;
    const int64_t query_head = p.kv_head * heads_per_kv_head + (p.row_begin + i) % heads_per_kv_head;
    const int64_t offset = ((first_query + query) * a.n_heads + query_head) * head_dim;
    const int64_t position = first_position + query;
    const int64_t oldest = position - a.window + 1;
    rows[i] = {a.q + offset, a.y + offset,      a.window == 0 || oldest < 0 ? 0 : oldest,
               position + 1, -__builtin_inff(), 0.0f};
    for (int64_t d = 0; d < head_dim; ++d) rows[i].y[d] = 0.0f;
  }
  // Rows are in order of position, so the first sees the oldest and the last the newest.
  for (int64_t chunk = rows[0].begin / kAttentionChunk * kAttentionChunk; chunk < rows[n - 1].end;
       chunk += kAttentionChunk) {
    int64_t i = 0;
    for (; n - i >= V::kScoreRows; i += V::kScoreRows) {
      attend_tile<V, Cache, V::kScoreRows>(rows + i, head, a.scale, chunk);
    }
    attend_rest<V, Cache, V::kScoreRows - 1>(rows + i, n - i, head, a.scale, chunk);
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t d = 0; d < head_dim; ++d) rows[i].y[d] /= rows[i].sum;
  }
}

template <class V>
void attention_part(const AttentionPart& p) {
  with_cache<V>(p.all.kv.dtype, [&](auto cache) { attend<V, decltype(cache)>(p); });
}

}  // namespace
}  // namespace inferno::kernels
