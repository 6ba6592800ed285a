// Attention in tiles of query rows and positions, online over chunks of kAttentionChunk positions. What a row
// comes to depends on its own query and the positions that it sees, never on its tile: positions that it does
// not see weigh 0. (Values are finite; infinity times 0 would be seen by the tile's other rows.)
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/loops/kv_cache.h"
#include "kernels/cpu/loops/query_rows.h"
#include "kernels/cpu/loops/tile_fetcher.h"
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
  int64_t row_bytes;

  // The tile that begins with this position.
  const uint8_t* key_tile(int64_t position) const { return k + offset(position); }
  const uint8_t* value(int64_t position) const { return v + offset(position); }

  // Calls fn(i, n) for pieces of positions first + begin .. first + end - 1 that lie one after the other: the
  // n from first + i on.
  template <class Fn>
  [[gnu::always_inline]] void for_pieces(int64_t first, int64_t begin, int64_t end, const Fn& fn) const {
    for (int64_t i = begin; i < end;) {
      const int64_t left_in_block = block_size - (first + i) % block_size;
      const int64_t n = end - i < left_in_block ? end - i : left_in_block;
      fn(i, n);
      i += n;
    }
  }

 private:
  int64_t offset(int64_t position) const {
    const int64_t block = block_table[position / block_size];
    return ((block * n_kv_heads + kv_head) * block_size + position % block_size) * row_bytes;
  }
};

constexpr int64_t tiles_begin(int64_t position) {
  return position / kKeyTile * kKeyTile;
}
constexpr int64_t tiles_end(int64_t position) {
  return tiles_begin(position + kKeyTile - 1);
}

template <class Cache>
CachedHead<Cache> cached_head(const AttentionPart& p) {
  const AttentionParams& a = p.all;
  return {static_cast<const uint8_t*>(a.kv.k),
          static_cast<const uint8_t*>(a.kv.v),
          a.block_tables + p.seq * a.max_blocks,
          a.kv.block_size,
          a.kv.n_kv_heads,
          a.kv.head_dim,
          p.kv_head,
          Cache::row_bytes(a.kv.head_dim)};
}

// Scores of kRows rows against kVectors vectors of positions, those of a tile or of several that lie side by
// side.
template <class V, class Cache, int kRows, int kVectors, class AnyFetcher>
void score_tiles(const QueryRow* rows, int64_t head_dim, const uint8_t* tiles, typename V::F scale,
                 float* scores, AnyFetcher& fetcher) {
  using F = typename V::F;
  const int64_t tile_bytes = kKeyTile * Cache::row_bytes(head_dim);
  const auto tile_of = [&](int v) { return tiles + v / kTileVectors<V> * tile_bytes; };
  const auto first_of = [](int v) { return v % kTileVectors<V> * V::kLanes; };
  F sums[kRows][kVectors];
  const float* queries[kRows];  // else their places are read again at each step
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
    queries[t] = rows[t].q;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[t][v] = V::zero();
  }
  int64_t block = 0;
  for (int64_t d = 0; d < head_dim; d += Cache::kBlockDims, block += Cache::kKeyBlockBytes) {
    typename Cache::Scale scales[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) scales[v] = Cache::scale(tile_of(v) + block, first_of(v));
    for (int64_t i = 0; i < Cache::kBlockDims; ++i) {
      fetcher.step();
      F keys[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) keys[v] = Cache::key(tile_of(v) + block, i, first_of(v), scales[v]);
#pragma GCC unroll 8
      for (int t = 0; t < kRows; ++t) {
        const F q = V::set(queries[t][d + i]);
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

// y = y * keep + (values, weighted) * take for kVectors vectors of dimensions from d on, the last one with n
// lanes.
template <class V, class Cache, int kRows, int kVectors, class AnyFetcher>
void add_values(const QueryRow* rows, const Mix* mixes, const CachedHead<Cache>& head, const float* weights,
                int64_t chunk, int64_t begin, int64_t end, int64_t d, int64_t n, AnyFetcher& fetcher) {
  using F = typename V::F;
  F sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[t][v] = V::zero();
  }
  head.for_pieces(chunk, begin, end, [&](int64_t first, int64_t n_values) {
    const uint8_t* value = head.value(chunk + first);
    for (int64_t i = first; i < first + n_values; ++i, value += head.row_bytes) {
      fetcher.step();
      F x[kVectors];
      Cache::values(value, d, n, x);
#pragma GCC unroll 8
      for (int t = 0; t < kRows; ++t) {
        const F weight = V::set(weights[t * kAttentionChunk + i]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[t][v] = V::fma(weight, x[v], sums[t][v]);
      }
    }
  });
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
    const F keep = V::set(mixes[t].keep);
    const F take = V::set(mixes[t].take);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const int64_t lanes = kVectors == 1 ? n : V::kLanes;
      float* y = rows[t].y + d + v * V::kLanes;
      V::store(y, V::fma(sums[t][v], take, V::mul(V::load(y, lanes), keep)), lanes);
    }
  }
}

// For dimensions from d on, as long as there are kVectors vectors of them; returns the next.
template <class V, class Cache, int kRows, int kVectors, class AnyFetcher>
int64_t add_all_values(const QueryRow* rows, const Mix* mixes, const CachedHead<Cache>& head,
                       const float* weights, int64_t chunk, int64_t begin, int64_t end, int64_t d,
                       AnyFetcher& fetcher) {
  for (; head.head_dim - d >= kVectors * V::kLanes; d += kVectors * V::kLanes) {
    add_values<V, Cache, kRows, kVectors>(rows, mixes, head, weights, chunk, begin, end, d, V::kLanes,
                                          fetcher);
  }
  return d;
}

// What a part reads: first a chunk's keys, then its values, then the next chunk's keys, or those of the part
// that the thread does next.
template <class Cache>
struct WhatIsRead {
  using Head = CachedHead<Cache>;

  static void add_keys(TileFetcher& fetcher, const Head& head, int64_t chunk, Seen seen) {
    head.for_pieces(chunk, tiles_begin(seen.begin), tiles_end(seen.end),
                    [&](int64_t i, int64_t n) { fetcher.add(head.key_tile(chunk + i), n * head.row_bytes); });
  }
  static void add_values(TileFetcher& fetcher, const Head& head, int64_t chunk, Seen seen) {
    head.for_pieces(chunk, seen.begin, seen.end,
                    [&](int64_t i, int64_t n) { fetcher.add(head.value(chunk + i), n * head.row_bytes); });
  }
  // Calls fn(head, chunk, seen) with the next keys, if there are any; `seen` may be empty.
  template <class Fn>
  static void with_next_keys(const AttentionPart& p, const QueryRow* rows, int64_t n, const Head& head,
                             int64_t chunk, const Fn& fn) {
    const int64_t next_chunk = chunk + kAttentionChunk;
    if (p.partial == nullptr && next_chunk < rows[n - 1].end)
      return fn(head, next_chunk, seen_of_chunk(rows, n, next_chunk));
    if (p.next == nullptr) return;
    QueryRow next_rows[kMaxQueryRows];
    const int64_t n_next = query_rows(*p.next, next_rows);
    const int64_t first = p.next->partial == nullptr ? next_rows[0].begin / kAttentionChunk : p.next->chunk;
    fn(cached_head<Cache>(*p.next), first * kAttentionChunk,
       seen_of_chunk(next_rows, n_next, first * kAttentionChunk));
  }
};

// The first lines of what is read next, from which on the processor foresees it by itself.
inline void hint_first_lines(const uint8_t* at) {
#pragma GCC unroll 4
  for (int64_t line = 0; line < 4; ++line) __builtin_prefetch(at + line * 64, 0, 3);
}

// kFetches: these rows are all of the part, whose keys and values come from memory and are asked for ahead.
template <class V, class Cache, int kRows, bool kFetches>
void attend_tile(const AttentionPart& p, QueryRow* rows, const CachedHead<Cache>& head, int64_t chunk) {
  using TilesFetcher = std::conditional_t<kFetches, TileFetcher, NoTileFetcher>;
  using Read = WhatIsRead<Cache>;
  const Seen seen = seen_of_chunk(rows, kRows, chunk);
  const auto [begin, end] = seen;
  if (begin >= end) return;
  static_assert(kAttentionChunk % kKeyTile == 0);
  const int64_t keys_begin = tiles_begin(begin);
  const int64_t keys_end = tiles_end(end);
  alignas(64) float scores[kRows * kAttentionChunk];
  const bool is_all = p.row_end - p.row_begin == kRows;
  TilesFetcher values;
  if constexpr (kFetches) {
    Read::add_values(values, head, chunk, seen);
    values.begin((keys_end - keys_begin) / kKeyTile * head.head_dim, p.fetched_streams);
  } else if (is_all) {
    hint_first_lines(head.value(chunk + begin));
  }
  // One tile after the other, in the order in which they lie: that is how a processor foresees memory best.
  head.for_pieces(chunk, keys_begin, keys_end, [&](int64_t first, int64_t n) {
    const uint8_t* tile = head.key_tile(chunk + first);
    for (int64_t i = first; i < first + n; i += kKeyTile, tile += kKeyTile * head.row_bytes) {
      score_tiles<V, Cache, kRows, kTileVectors<V>>(rows, head.head_dim, tile, V::set(p.all.scale),
                                                    scores + i, values);
    }
  });
  Mix mixes[kRows];
  for (int t = 0; t < kRows; ++t)
    mixes[t] = weigh<V>(&rows[t], scores + t * kAttentionChunk, chunk, keys_begin, keys_end);
  TilesFetcher next_keys;
  if constexpr (kFetches) {
    Read::with_next_keys(p, rows, kRows, head, chunk, [&](const auto& next, int64_t first, Seen some) {
      Read::add_keys(next_keys, next, first, some);
    });
    next_keys.begin(end - begin, p.fetched_streams);
  } else if (is_all) {
    Read::with_next_keys(p, rows, kRows, head, chunk, [](const auto& next, int64_t first, Seen some) {
      if (some.begin < some.end) hint_first_lines(next.key_tile(first + tiles_begin(some.begin)));
    });
  }
  // Of one or two rows there is room for the sums of twice as many dimensions: fewer passes over the values.
  int64_t d = 0;
  if constexpr (kRows <= 2) {
    d = add_all_values<V, Cache, kRows, 2 * V::kScoreVectors>(rows, mixes, head, scores, chunk, begin, end, d,
                                                              next_keys);
  }
  d = add_all_values<V, Cache, kRows, V::kScoreVectors>(rows, mixes, head, scores, chunk, begin, end, d,
                                                        next_keys);
  for (; d < head.head_dim; d += V::kLanes) {
    const int64_t n = head.head_dim - d < V::kLanes ? head.head_dim - d : V::kLanes;
    add_values<V, Cache, kRows, 1>(rows, mixes, head, scores, chunk, begin, end, d, n, next_keys);
  }
}

// n rows, up to kRows.
template <class V, class Cache, int kRows, bool kFetches>
void attend_rest(const AttentionPart& p, QueryRow* rows, int64_t n, const CachedHead<Cache>& head,
                 int64_t chunk) {
  if constexpr (kRows > 0) {
    if (n == kRows) return attend_tile<V, Cache, kRows, kFetches>(p, rows, head, chunk);
    attend_rest<V, Cache, kRows - 1, kFetches>(p, rows, n, head, chunk);
  }
}

template <class V, class Cache>
void attend_chunk(const AttentionPart& p, QueryRow* rows, int64_t n, const CachedHead<Cache>& head,
                  int64_t chunk) {
  if (p.fetched_streams != 0 && n <= V::kScoreRows)
    return attend_rest<V, Cache, V::kScoreRows, true>(p, rows, n, head, chunk);
  int64_t i = 0;
  for (; n - i >= V::kScoreRows; i += V::kScoreRows)
    attend_tile<V, Cache, V::kScoreRows, false>(p, rows + i, head, chunk);
  attend_rest<V, Cache, V::kScoreRows - 1, false>(p, rows + i, n - i, head, chunk);
}

// Many rows of a part: keys and values are brought into float32 once for all of them, as many at once as the
// first-level cache keeps, values by kWideDims dimensions.
constexpr int64_t kMaxWideHeadDim = 256;
template <class V>
constexpr int64_t kWideKeys = V::kScoreVectors* V::kLanes;
template <class V>
constexpr int64_t kWideDims = V::kScoreVectors* V::kLanes;
template <class V>
constexpr int64_t kWideValues = 4096 / kWideDims<V>;

template <class V>
struct WideWork {
  static constexpr int64_t kKeyFloats = kWideKeys<V> * kMaxWideHeadDim;
  static constexpr int64_t kValueFloats = kWideValues<V> * kWideDims<V>;
  alignas(64) float scores[kMaxQueryRows][kAttentionChunk];
  alignas(64) float unpacked[kKeyFloats > kValueFloats ? kKeyFloats : kValueFloats];
  alignas(64) float sums[kMaxQueryRows][kWideDims<V>];
  Mix mixes[kMaxQueryRows];
};

// A tile of keys, as it lies in a cache in F32.
template <class V, class Cache>
void unpack_keys(const uint8_t* k, int64_t head_dim, float* to) {
  constexpr int kVectors = kTileVectors<V>;
  int64_t block = 0;
  for (int64_t d = 0; d < head_dim; d += Cache::kBlockDims, block += Cache::kKeyBlockBytes) {
    typename Cache::Scale scales[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) scales[v] = Cache::scale(k + block, v * V::kLanes);
    for (int64_t i = 0; i < Cache::kBlockDims; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        V::store(to + (d + i) * kKeyTile + v * V::kLanes, Cache::key(k + block, i, v * V::kLanes, scales[v]));
      }
    }
  }
}

// Of the values of positions begin .. end - 1 of the chunk, kWideDims dimensions from d on.
template <class V, class Cache>
void unpack_values(const CachedHead<Cache>& head, int64_t chunk, int64_t begin, int64_t end, int64_t d,
                   float* to) {
  head.for_pieces(chunk, begin, end, [&](int64_t first, int64_t n) {
    const uint8_t* value = head.value(chunk + first);
    for (int64_t i = 0; i < n; ++i, value += head.row_bytes, to += kWideDims<V>) {
      typename V::F x[V::kScoreVectors];
      Cache::values(value, d, V::kLanes, x);
#pragma GCC unroll 4
      for (int v = 0; v < V::kScoreVectors; ++v) V::store(to + v * V::kLanes, x[v]);
    }
  });
}

// sums += n values, weighted, of kScoreRows rows.
template <class V>
void add_unpacked(const float* values, int64_t n, const float (*weights)[kAttentionChunk], int64_t i,
                  float (*all_sums)[kWideDims<V>], PacedFetcher fetcher) {
  constexpr int kRows = V::kScoreRows;
  constexpr int kVectors = V::kScoreVectors;
  typename V::F sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[t][v] = V::load(all_sums[t] + v * V::kLanes);
  }
  for (int64_t end = i + n; i < end; ++i, values += kWideDims<V>) {
    fetcher.step();
    typename V::F x[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) x[v] = V::load(values + v * V::kLanes);
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
      const auto weight = V::set(weights[t][i]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[t][v] = V::fma(weight, x[v], sums[t][v]);
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) V::store(all_sums[t] + v * V::kLanes, sums[t][v]);
  }
}

// Up to kVectors vectors of positions.
template <class V, int kVectors>
void score_positions(const QueryRow* rows, int64_t head_dim, const float* keys, int64_t n_vectors,
                     typename V::F scale, float* scores, PacedFetcher fetcher) {
  if constexpr (kVectors > 1) {
    if (n_vectors < kVectors)
      return score_positions<V, kVectors - 1>(rows, head_dim, keys, n_vectors, scale, scores, fetcher);
  }
  score_tiles<V, PlainCache<V, CachedF32<V>>, V::kScoreRows, kVectors>(
      rows, head_dim, reinterpret_cast<const uint8_t*>(keys), scale, scores, fetcher);
}

// n rows, a multiple of kScoreRows. While keys are scored the chunk's values are asked for, and while those
// are added up, the keys that come next.
template <class V, class Cache>
void attend_many(const AttentionPart& p, QueryRow* rows, int64_t n, const CachedHead<Cache>& head,
                 int64_t chunk, WideWork<V>& w) {
  using Read = WhatIsRead<Cache>;
  constexpr int64_t kRows = V::kScoreRows;
  const int64_t head_dim = head.head_dim;
  const Seen all = seen_of_chunk(rows, n, chunk);
  if (all.begin >= all.end) return;
  Seen seen[kMaxQueryRows / kRows];  // by kRows rows each
  for (int64_t r = 0; r < n; r += kRows) seen[r / kRows] = seen_of_chunk(rows + r, kRows, chunk);
  const auto whole_vectors = [](int64_t i) { return (i + V::kLanes - 1) / V::kLanes; };
  const int64_t keys_end = tiles_end(all.end);
  const int64_t n_row_tiles = n / kRows;
  TileFetcher values;
  Read::add_values(values, head, chunk, all);
  const int64_t n_key_turns = (keys_end - tiles_begin(all.begin) + kWideKeys<V> - 1) / kWideKeys<V>;
  const int64_t key_steps = n_key_turns * n_row_tiles * head_dim;
  for (int64_t first = tiles_begin(all.begin); first < keys_end; first += kWideKeys<V>) {
    const int64_t last = first + kWideKeys<V> < keys_end ? first + kWideKeys<V> : keys_end;
    head.for_pieces(chunk, first, last, [&](int64_t i, int64_t n_keys) {
      const uint8_t* tile = head.key_tile(chunk + i);
      for (const int64_t end = i + n_keys; i < end; i += kKeyTile, tile += kKeyTile * head.row_bytes)
        unpack_keys<V, Cache>(tile, head_dim, w.unpacked + (i - first) * head_dim);
    });
    for (int64_t r = 0; r < n; r += kRows) {
      const auto [begin, end] = seen[r / kRows];
      if (begin >= end || begin >= last || end <= first) continue;
      score_positions<V, V::kScoreVectors>(rows + r, head_dim, w.unpacked, whole_vectors(end - first),
                                           V::set(p.all.scale), w.scores[r] + first,
                                           values.next_share(key_steps, head_dim));
    }
  }
  for (int64_t r = 0; r < n; ++r) {
    const auto [begin, end] = seen[r / kRows];
    if (begin >= end) continue;
    w.mixes[r] = weigh<V>(&rows[r], w.scores[r], chunk, tiles_begin(begin), whole_vectors(end) * V::kLanes);
  }
  TileFetcher next_keys;
  Read::with_next_keys(p, rows, n, head, chunk, [&](const auto& next, int64_t first, Seen some) {
    Read::add_keys(next_keys, next, first, some);
  });
  const int64_t n_slices = head_dim / kWideDims<V>;
  const int64_t value_steps = n_slices * n_row_tiles * (all.end - all.begin);
  for (int64_t d = 0; d < head_dim; d += kWideDims<V>) {
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t i = 0; i < kWideDims<V>; i += V::kLanes) V::store(w.sums[r] + i, V::zero());
    }
    for (int64_t i = all.begin; i < all.end; i += kWideValues<V>) {
      const int64_t i_end = i + kWideValues<V> < all.end ? i + kWideValues<V> : all.end;
      unpack_values<V, Cache>(head, chunk, i, i_end, d, w.unpacked);
      for (int64_t r = 0; r < n; r += kRows) {
        const int64_t begin = seen[r / kRows].begin > i ? seen[r / kRows].begin : i;
        const int64_t end = seen[r / kRows].end < i_end ? seen[r / kRows].end : i_end;
        if (begin < end)
          add_unpacked<V>(w.unpacked + (begin - i) * kWideDims<V>, end - begin, w.scores + r, begin,
                          w.sums + r, next_keys.next_share(value_steps, end - begin));
      }
    }
    for (int64_t r = 0; r < n; ++r) {
      if (seen[r / kRows].begin >= seen[r / kRows].end) continue;
      const auto keep = V::set(w.mixes[r].keep);
      const auto take = V::set(w.mixes[r].take);
      for (int64_t i = 0; i < kWideDims<V>; i += V::kLanes) {
        float* y = rows[r].y + d + i;
        V::store(y, V::fma(V::load(w.sums[r] + i), take, V::mul(V::load(y), keep)));
      }
    }
  }
}

template <class V, class Cache>
void attend(const AttentionPart& p) {
  QueryRow rows[kMaxQueryRows];
  const int64_t n = query_rows(p, rows);
  const auto head = cached_head<Cache>(p);
  if constexpr (Cache::kUnpackFrom != 0) {
    if (n >= Cache::kUnpackFrom * V::kScoreRows && head.head_dim % kWideDims<V> == 0 &&
        head.head_dim <= kMaxWideHeadDim) {
      WideWork<V> w;
      const int64_t n_wide = n / V::kScoreRows * V::kScoreRows;
      return attend_chunks<V>(p, rows, n, [&](int64_t chunk) {
        attend_many<V, Cache>(p, rows, n_wide, head, chunk, w);
        attend_chunk<V, Cache>(p, rows + n_wide, n - n_wide, head, chunk);
      });
    }
  }
  attend_chunks<V>(p, rows, n, [&](int64_t chunk) { attend_chunk<V, Cache>(p, rows, n, head, chunk); });
}

template <class V>
void attention_part(const AttentionPart& p) {
  with_cache<V>(p.all.kv.dtype, [&](auto cache) { attend<V, decltype(cache)>(p); });
}

}  // namespace
}  // namespace inferno::kernels
