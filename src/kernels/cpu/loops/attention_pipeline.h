// Attention of parts of few query rows, one after the other, as a pipeline: the values of a chunk are added
// up while the keys of what comes next are scored. So memory is read as two streams, both asked for a tile
// ahead or left to the processor to foresee, and the sums of scores, each of which waits for the one before,
// have the sums of values beside them. Every output has the bits that attention.h gives it.
#pragma once

#include <cstdint>

#include "kernels/cpu/loops/attention.h"
#include "kernels/cpu/loops/kv_cache.h"
#include "kernels/cpu/loops/query_rows.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

// All parts have kRows rows and heads of the same dimensions, a multiple of kVectors vectors, up to
// kMostDims.
template <class V, class Cache, int kRows, int kVectors>
class AttentionPipeline {
 public:
  AttentionPipeline(const AttentionPart* parts, int64_t n_parts)
      : parts_(parts),
        n_parts_(n_parts),
        n_known_(parts[n_parts - 1].next == nullptr ? n_parts : n_parts + 1),
        head_dim_(parts[0].all.kv.head_dim),
        asks_ahead_(parts[0].fetched_streams != 0),
        scale_(V::set(parts[0].all.scale)) {}

  void run() {
    Place keys = place_of_part(0);
    Place values = keys;
    Place keys_ahead = after(keys);
    Place values_ahead = keys_ahead;
    zero_sums();
    while (values.part < n_parts_) {
      const bool is_weighed = values.chunk_number < keys.chunk_number;
      const bool has_room = keys.part < n_parts_ && keys.chunk_number < values.chunk_number + kChunks;
      const bool scores = has_room && (!is_weighed || values.n() == kKeyTile);
      if (scores && is_weighed) {
        read<true, true>(keys, values, keys_ahead, values_ahead);
      } else if (scores) {
        read<true, false>(keys, values, keys_ahead, values_ahead);
      } else {
        read<false, true>(keys, values, keys_ahead, values_ahead);
      }
      if (is_weighed) {
        if (values_ahead.chunk_number != values.chunk_number) finish_chunk(values, values_ahead);
        values = values_ahead;
        values_ahead = after(values);
      }
      if (scores) {
        if (keys_ahead.chunk_number != keys.chunk_number) weigh_chunk(keys);
        keys = keys_ahead;
        keys_ahead = after(keys);
      }
    }
  }

 private:
  using F = typename V::F;
  // Whose scores are kept: of the chunk whose values are added up and of those after it.
  static constexpr int64_t kChunks = 3;
  // Known at a time: a part may be a single chunk, and places look a tile ahead.
  static constexpr int64_t kParts = 8;
  static_assert(kParts >= kChunks + 2);
  static constexpr int kKeyVectors = kTileVectors<V>;
  // For each position of a tile's values so many dimensions of a tile's keys.
  static constexpr int kStepDims = kVectors / kKeyVectors;
  static_assert(kVectors % kKeyVectors == 0);

  struct Part {
    CachedHead<Cache> head;
    QueryRow rows[kRows];
  };
  // Positions of a tile that the rows see of a chunk of a part; part n_known_ is the end.
  struct Place {
    int64_t part;
    int64_t chunk;         // its first position
    int64_t chunk_number;  // of all chunks of all parts
    Seen seen;             // of the chunk
    int64_t tile;          // within the chunk

    int64_t begin() const { return seen.begin > tile ? seen.begin : tile; }
    int64_t n() const { return (seen.end < tile + kKeyTile ? seen.end : tile + kKeyTile) - begin(); }
  };

  Part& part_at(const Place& at) { return known_[at.part % kParts]; }
  float* scores_of(const Place& at) { return scores_[at.chunk_number % kChunks]; }
  Mix* mixes_of(const Place& at) { return mixes_[at.chunk_number % kChunks]; }
  const uint8_t* keys_at(const Place& at) { return part_at(at).head.key_tile(at.chunk + at.tile); }
  const uint8_t* values_at(const Place& at) { return part_at(at).head.value(at.chunk + at.begin()); }

  Place in_chunk(int64_t part, int64_t chunk, int64_t chunk_number) {
    const Seen seen = seen_of_chunk(known_[part % kParts].rows, kRows, chunk);
    return {part, chunk, chunk_number, seen, tiles_begin(seen.begin)};
  }
  Place place_of_part(int64_t part, int64_t chunk_number = 0) {
    if (part >= n_known_) return {part, 0, chunk_number, {0, 0}, 0};
    // Whoever comes first finds out; the others, which come later, read the same.
    if (part >= n_found_) {
      const AttentionPart& p = part < n_parts_ ? parts_[part] : *parts_[n_parts_ - 1].next;
      Part& found = known_[part % kParts];
      found.head = cached_head<Cache>(p);
      query_rows(p, found.rows);
      if (part < n_parts_) fill_rows<V>(found.rows, kRows, head_dim_, 0.0f);
      n_found_ = part + 1;
    }
    const int64_t first = known_[part % kParts].rows[0].begin / kAttentionChunk * kAttentionChunk;
    return in_chunk(part, first, chunk_number);
  }
  Place after(Place at) {
    if (at.part >= n_known_) return at;
    at.tile += kKeyTile;
    if (at.tile < at.seen.end) return at;
    const int64_t chunk = at.chunk + kAttentionChunk;
    if (chunk < part_at(at).rows[kRows - 1].end) return in_chunk(at.part, chunk, at.chunk_number + 1);
    return place_of_part(at.part + 1, at.chunk_number + 1);
  }

  // What is asked for while a tile is read: as many bytes from there on.
  struct Ahead {
    const uint8_t* keys;
    const uint8_t* values;
    int64_t pace;  // bytes of either at each step
    int64_t due = 0, done = 0;

    template <bool kScores, bool kAdds>
    [[gnu::always_inline]] void step() {
      for (due += pace; done < due; done += 64) {
        if constexpr (kScores) __builtin_prefetch(keys + done, 0, 3);
        if constexpr (kAdds) __builtin_prefetch(values + done, 0, 3);
      }
    }
  };

  // Scores a tile of keys, or adds up to as many values, or both, where there are as many.
  template <bool kScores, bool kAdds>
  void read(const Place& keys, const Place& values, const Place& keys_ahead, const Place& values_ahead) {
    const int64_t n_pieces = head_dim_ / (kVectors * V::kLanes);
    const QueryRow* rows = nullptr;
    const uint8_t* tile = nullptr;
    Ahead ahead = {nullptr, nullptr, 0};
    F scores[kRows][kKeyVectors];
    if constexpr (kScores) {
      rows = part_at(keys).rows;
      tile = keys_at(keys);
      ahead.keys = keys_ahead.part < n_known_ ? keys_at(keys_ahead) : tile;
#pragma GCC unroll 8
      for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 4
        for (int v = 0; v < kKeyVectors; ++v) scores[t][v] = V::zero();
      }
    }
    const uint8_t* first = nullptr;
    const float* weights = nullptr;
    int64_t row_bytes = 0;
    int64_t n_steps = kKeyTile;
    if constexpr (kAdds) {
      first = values_at(values);
      weights = scores_of(values) + values.begin();
      row_bytes = part_at(values).head.row_bytes;
      if constexpr (!kScores) n_steps = values.n();
      ahead.values = values_ahead.part < n_known_ ? values_at(values_ahead) : first;
    }
    if (asks_ahead_) ahead.pace = Cache::row_bytes(head_dim_) / n_pieces;
    for (int64_t piece = 0; piece < n_pieces; ++piece) {
      float* sums = sums_ + piece * kVectors * V::kLanes;
      F y[kRows][kVectors];
      if constexpr (kAdds) {
#pragma GCC unroll 8
        for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) y[t][v] = V::load(sums + t * kMostDims + v * V::kLanes);
        }
      }
      const uint8_t* value = first;
      for (int64_t i = 0; i < n_steps; ++i) {
        ahead.template step<kScores, kAdds>();
        if constexpr (kScores) {
          const int64_t d = (piece * kKeyTile + i) * kStepDims;
          const uint8_t* block = tile + d / Cache::kBlockDims * Cache::kKeyBlockBytes;
#pragma GCC unroll 8
          for (int j = 0; j < kStepDims; ++j) {
            F keys_of[kKeyVectors];
#pragma GCC unroll 4
            for (int v = 0; v < kKeyVectors; ++v) {
              const int64_t position = v * V::kLanes;
              if constexpr (Cache::kBlockDims == 1) {
                keys_of[v] = Cache::key(block + j * Cache::kKeyBlockBytes, 0, position, {});
              } else {
                keys_of[v] =
                    Cache::key(block, d % Cache::kBlockDims + j, position, Cache::scale(block, position));
              }
            }
#pragma GCC unroll 8
            for (int t = 0; t < kRows; ++t) {
              const F q = V::set(rows[t].q[d + j]);
#pragma GCC unroll 4
              for (int v = 0; v < kKeyVectors; ++v) scores[t][v] = V::fma(q, keys_of[v], scores[t][v]);
            }
          }
        }
        if constexpr (kAdds) {
          F x[kVectors];
          Cache::values(value, piece * kVectors * V::kLanes, V::kLanes, x);
          value += row_bytes;
#pragma GCC unroll 8
          for (int t = 0; t < kRows; ++t) {
            const F weight = V::set(weights[t * kAttentionChunk + i]);
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) y[t][v] = V::fma(weight, x[v], y[t][v]);
          }
        }
      }
      if constexpr (kAdds) {
#pragma GCC unroll 8
        for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) V::store(sums + t * kMostDims + v * V::kLanes, y[t][v]);
        }
      }
    }
    if constexpr (kScores) {
      float* to = scores_of(keys) + keys.tile;
#pragma GCC unroll 8
      for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 4
        for (int v = 0; v < kKeyVectors; ++v)
          V::store(to + t * kAttentionChunk + v * V::kLanes, V::mul(scores[t][v], scale_));
      }
    }
  }

  void weigh_chunk(const Place& keys) {
    QueryRow* rows = part_at(keys).rows;
    for (int t = 0; t < kRows; ++t) {
      mixes_of(keys)[t] = weigh<V>(&rows[t], scores_of(keys) + t * kAttentionChunk, keys.chunk,
                                   tiles_begin(keys.seen.begin), tiles_end(keys.seen.end));
    }
  }

  // Of the values; the part as well, if its next chunk is another part's.
  void finish_chunk(const Place& values, const Place& next) {
    QueryRow* rows = part_at(values).rows;
    for (int t = 0; t < kRows; ++t) {
      const F keep = V::set(mixes_of(values)[t].keep);
      const F take = V::set(mixes_of(values)[t].take);
      for (int64_t d = 0; d < head_dim_; d += V::kLanes) {
        float* y = rows[t].y + d;
        V::store(y, V::fma(V::load(sums_ + t * kMostDims + d), take, V::mul(V::load(y), keep)));
      }
    }
    zero_sums();
    if (next.part != values.part) divide_by_sums<V>(rows, kRows, head_dim_);
  }

  void zero_sums() {
    for (int t = 0; t < kRows; ++t) {
      for (int64_t d = 0; d < head_dim_; d += V::kLanes) V::store(sums_ + t * kMostDims + d, V::zero());
    }
  }

 public:
  static constexpr int64_t kMostDims = 256;

 private:
  const AttentionPart* parts_;
  int64_t n_parts_;
  int64_t n_known_;  // parts: those, and the one that the thread does next
  int64_t n_found_ = 0;
  int64_t head_dim_;
  bool asks_ahead_;
  F scale_;
  alignas(64) float scores_[kChunks][kRows * kAttentionChunk];  // weights, once a chunk is weighed
  alignas(64) float sums_[kRows * kMostDims];                   // of the chunk's values
  Mix mixes_[kChunks][kRows];
  Part known_[kParts];
};

// Up to so many rows of a part, whose sums of some vectors of dimensions fit into the registers, or nearly
// (AVX2: four rows').
constexpr int64_t kPipelinedRows = 4;
// Where a tile of keys is more vectors, its sums leave too few registers for those of values.
constexpr int kMostPipelinedTileVectors = 2;

template <class V, class Cache, int kRows>
bool pipeline_rows(const AttentionPart* parts, int64_t n_parts) {
  constexpr int kMost = (kRows <= 2 ? 8 : 4) / kTileVectors<V>;
  const int64_t head_dim = parts[0].all.kv.head_dim;
  const auto run = [&]<int kVectors>() {
    if (head_dim % (kVectors * V::kLanes) != 0 ||
        head_dim > AttentionPipeline<V, Cache, kRows, kVectors>::kMostDims)
      return false;
    AttentionPipeline<V, Cache, kRows, kVectors>(parts, n_parts).run();
    return true;
  };
  constexpr int kFewer = 4 / kTileVectors<V>;
  return run.template operator()<kMost>() || (kMost != kFewer && run.template operator()<kFewer>());
}

// n rows, up to kRows.
template <class V, class Cache, int kRows>
bool pipeline_up_to(const AttentionPart* parts, int64_t n_parts, int64_t n) {
  if constexpr (kRows > 0) {
    if (n == kRows) return pipeline_rows<V, Cache, kRows>(parts, n_parts);
    return pipeline_up_to<V, Cache, kRows - 1>(parts, n_parts, n);
  } else {
    return false;
  }
}

// The shapes that are left, one part after the other.
template <class V>
void attention_pipeline(const AttentionPart* parts, int64_t n_parts) {
  const int64_t n_rows = parts[0].row_end - parts[0].row_begin;
  bool are_alike = true;
  for (int64_t i = 0; i < n_parts; ++i)
    are_alike = are_alike && parts[i].row_end - parts[i].row_begin == n_rows && parts[i].partial == nullptr;
  const AttentionPart* next = parts[n_parts - 1].next;
  are_alike = are_alike && (next == nullptr || next->row_end - next->row_begin == n_rows);
  bool is_done = false;
  if (are_alike && n_rows <= kPipelinedRows) {
    with_cache<V>(parts[0].all.kv.dtype, [&](auto cache) {
      is_done = pipeline_up_to<V, decltype(cache), kPipelinedRows>(parts, n_parts, n_rows);
    });
  }
  for (int64_t i = 0; !is_done && i < n_parts; ++i) {
    AttentionPart part = parts[i];
    part.fetched_streams = parts[0].fetched_streams;
    if (i + 1 < n_parts) part.next = &parts[i + 1];
    attention_part<V>(part);
  }
}

}  // namespace
}  // namespace inferno::kernels
