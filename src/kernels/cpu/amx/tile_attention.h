// Attention over a cache of 16 bits, its products by tiles: of queries and weights, each the sum of two
// numbers of 16 bits, with keys and values. What a row comes to depends on its own query and the positions
// that it sees, as in ../loops/attention.h, whose chunks these are.
//
// Keys lie in tiles of 16 positions, (head_dim / 2, 16 positions, 2), values in tiles of 32 positions and 16
// dimensions, (head_dim / 16, 16 pairs of positions, 16 dimensions, 2): as the second factor of a product has
// them. Where they are taken apart on their way there, both of a pair lie one after the other: keys
// (head_dim, 16 positions), values (head_dim / 16, 32 positions, 16 dimensions).
//
// A Kind is
//   Stored                   a class of loops/kv_cache.h: what an element of the cache is
//   kType                    what tiles multiply
//   kSecondParts             1: keys and values as they lie; 2: each is the sum of two
//   kWeightFactor            weights are at most 1: times this, small ones keep their bits
//   split_query(q, head_dim, row, queries)   both parts of a query row into (head_dim / 32, 2, 16 rows, 32);
//                            returns what its products are to be multiplied by
//   split_weights(w0, w1, high, low)         parts of 32 weights times kWeightFactor
//   split_line(line, high, low)              parts of a line of keys or values; only of two
//   kFewRows                 so many rows vectors multiply (bf16_rows.h); 0: none
//   pair<kOdd>(line, parts)  for those: the parts of a line's numbers that are the first of their pair or, of
//                            kOdd, the second, in float32
#pragma once

#include "kernels/cpu/amx/bf16_rows.h"
#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/avx512/vector.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops/attention.h"
#include "kernels/cpu/loops/tile_fetcher.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

template <class Kind>
class TileAttention {
 public:
  static void attention(const AttentionPart& p) {
    const AttentionParams& a = p.all;
    QueryRow rows[kMaxQueryRows];
    Work w;
    w.rows = rows;
    w.n = query_rows(p, rows);
    w.n_tiles = (w.n + kRows - 1) / kRows;
    const auto head = cached_head<CachedTiles>(p);
    for (int64_t r = 0; r < w.n; ++r)
      w.score_factors[r] = Kind::split_query(rows[r].q, a.kv.head_dim, r, w.queries) * a.scale;
    // Rows of outputs lie far apart, and together fit into few lines of the first-level cache.
    for (int64_t r = 0; r < w.n; ++r) rows[r].y = w.sums[r];
    const auto attend = [&](int64_t chunk) { attend_chunk(w, p, head, chunk); };
    if (is_few(w)) {
      widen_queries(w, a.kv.head_dim);
      return attend_chunks<V>(p, rows, w.n, attend);
    }
    written_for_tiles(w.queries);
    use_tiles(shapes_of(w.n));
    attend_chunks<V>(p, rows, w.n, attend);
    _tile_release();
  }

  static void kv_append(const KvAppendParams& p, int64_t head_begin, int64_t head_end) {
    append_rows<CachedTiles>(p, head_begin, head_end);
  }

  static constexpr CacheKernels kernels() {
    return {kv_append, attention, kTileQueryRows, kSecondParts == 1};
  }

 private:
  using V = Avx512Vector;

  static constexpr int64_t kRows = 16;   // of a tile
  static constexpr int64_t kDepth = 32;  // what a product sums: dimensions of keys, positions of values
  static constexpr int64_t kTileHalves = kRows * kDepth;
  static constexpr int64_t kKeys = 16;    // positions of a tile of keys
  static constexpr int64_t kValues = 16;  // dimensions of a tile of values
  static constexpr int64_t kMaxTiles = kTileQueryRows / kRows;
  static constexpr int64_t kParts = 2;  // of a first factor
  static constexpr int64_t kSecondParts = Kind::kSecondParts;
  static constexpr int64_t kFewRoom = Kind::kFewRows > 0 ? Kind::kFewRows : 1;
  static constexpr int64_t kFetchSteps = kSecondParts == 1 ? 1 : 4;  // while a second factor is made ready
  static constexpr int64_t kFewFetchSteps = 4;                       // while few rows are multiplied by it
  static constexpr int64_t kStreams = 8;                             // in which keys and values are fetched
  static constexpr int64_t kDepths = kAttentionChunk / kDepth;
  static constexpr int64_t kMaxDepths = kMaxTileHeadDim / kDepth;
  static constexpr int64_t kBlockMultiple = kTileBlockMultiple;
  static_assert(kKeyTile == kKeys && kBlockMultiple % kDepth == 0 && kAttentionChunk % kBlockMultiple == 0);
  static_assert(kMaxTiles == 4 && kTileQueryRows <= kMaxQueryRows && kTileHeadDims == kDepth);

  // How rows get into such a cache.
  struct CachedTiles {
    static int64_t row_bytes(int64_t head_dim) { return head_dim * static_cast<int64_t>(sizeof(uint16_t)); }

    static void append_keys(const float* k, int64_t stride, int64_t n_keys, int64_t head_dim, uint8_t* tile,
                            int64_t position) {
      if constexpr (kSecondParts == 2) {
        PlainCache<V, typename Kind::Stored>::append_keys(k, stride, n_keys, head_dim, tile, position);
      } else {
        alignas(64) uint32_t pairs[kKeyTile][kMaxTileHeadDim / 2];
        for (int64_t j = 0; j < n_keys; ++j) {
          for (int64_t d = 0; d < head_dim; d += V::kLanes) {
            Kind::Stored::store(reinterpret_cast<uint16_t*>(pairs[j]) + d, V::load(k + j * stride + d),
                                V::kLanes);
          }
        }
        auto* keys = reinterpret_cast<uint32_t*>(tile);
        for (int64_t i = 0; i < head_dim / 2; ++i) {
          for (int64_t j = 0; j < n_keys; ++j) keys[i * kKeys + position + j] = pairs[j][i];
        }
      }
    }
    static void append_value(const float* v, int64_t head_dim, uint8_t* block, int64_t position) {
      auto* values = reinterpret_cast<uint16_t*>(block) + position / kDepth * kDepth * head_dim;
      for (int64_t d = 0; d < head_dim; d += kValues) {
        if constexpr (kSecondParts == 2) {
          Kind::Stored::store(values + d * kDepth + position % kDepth * kValues, V::load(v + d), kValues);
        } else {
          alignas(32) uint16_t halves[kValues];
          Kind::Stored::store(halves, V::load(v + d), kValues);
          const __m512i wide =
              _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(halves)));
          uint16_t* line = values + d * kDepth + position % kDepth / 2 * kDepth;
          const bool is_second = position % 2 != 0;
          _mm512_mask_storeu_epi16(line, mask_of_pair(!is_second, is_second),
                                   is_second ? _mm512_slli_epi32(wide, 16) : wide);
        }
      }
    }
  };

  // The numbers in a line of either position of a pair.
  static __mmask32 mask_of_pair(bool first, bool second) {
    constexpr uint32_t kOfFirst = kSecondParts == 2 ? 0xffffu : 0x55555555u;
    return (first ? kOfFirst : 0) | (second ? ~kOfFirst : 0);
  }

  using Head = CachedHead<CachedTiles>;

  // Both are multiples of tiles.
  static const uint16_t* keys_of(const Head& head, int64_t position) {
    return reinterpret_cast<const uint16_t*>(head.key_tile(position));
  }
  static const uint16_t* values_of(const Head& head, int64_t position) {
    return reinterpret_cast<const uint16_t*>(head.value(position));
  }

  // One part of attention, as long as it lasts.
  struct Work {
    int64_t n;  // rows
    int64_t n_tiles;
    QueryRow* rows;
    float score_factors[kTileQueryRows];  // what the product of a query and a key is multiplied by
    alignas(64) uint16_t queries[kMaxTiles * kMaxDepths * kParts * kTileHalves];
    alignas(64) float scores[kTileQueryRows][kAttentionChunk];
    // (tiles, depths, parts, 16 rows, 32 positions)
    alignas(64) uint16_t weights[kMaxTiles][kDepths][kParts][kRows][kDepth];
    alignas(64) float sums[kTileQueryRows][kMaxTileHeadDim];  // QueryRow::y
    // Of few rows, in float32, the upper and the lower parts of queries and of weights.
    alignas(64) float few_queries[kFewRoom][kParts][kMaxTileHeadDim];
    alignas(64) float few_weights[kFewRoom][kParts][kAttentionChunk];
    alignas(64) float few_sums[kFewRoom][kMaxTileHeadDim];
    // Of the first and the last 32 positions of a chunk, where some are not seen.
    alignas(64) uint16_t seen_values[2][kDepth * kMaxTileHeadDim];
    // Parts of second factors, one after the other: of two are those that are multiplied now and the next
    // ones.
    alignas(64) uint16_t seconds[kSecondParts == 1 ? 1 : 2 * 4][kSecondParts][kTileHalves];
  };

  // Registers: sums in 0 to 3, of four tiles of rows or of one with four columns of tiles; the first
  // factor's parts in 4 and 5, the second factor in 6 and 7.
  static TileShapes shapes_of(int64_t n) {
    TileShapes shapes;
    const int64_t first_rows = n < kRows ? n : kRows;
    for (int tile = 0; tile < 6; ++tile) shapes.set(tile, first_rows, kTileLine);
    for (const int tile : {6, 7}) shapes.set(tile, kRows, kTileLine);
    return shapes;
  }

  [[gnu::always_inline]] static void load_first(const uint16_t* parts) {
    _tile_loadd(4, parts, kTileLine);
    _tile_loadd(5, parts + kTileHalves, kTileLine);
  }

  static void zero_sums() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }

  // A tile of keys or values as products take it: where it lies, or its parts in room number `place`.
  [[gnu::always_inline]] static const uint16_t* second_of(Work& w, const uint16_t* tile, int64_t place,
                                                          TileFetcher& fetcher) {
    if constexpr (kSecondParts == 1) {
      fetcher.step();
      return tile;
    } else {
      auto& parts = w.seconds[place];
      for (int64_t line = 0; line < kRows; line += kRows / kFetchSteps) {
        fetcher.step();
#pragma GCC unroll 4
        for (int64_t i = line; i < line + kRows / kFetchSteps; ++i) {
          __m512i high, low;
          Kind::split_line(tile + i * kDepth, &high, &low);
          _mm512_store_si512(parts[0] + i * kDepth, high);
          _mm512_store_si512(parts[1] + i * kDepth, low);
        }
      }
      written_for_tiles(parts);
      return parts[0];
    }
  }

  // Sums += the first factor's parts with the second one's: both with the upper one, the upper one with the
  // lower one.
  template <int kSum>
  [[gnu::always_inline]] static void add_products() {
    add_pair_products<Kind::kType, kSum, 4, 6>();
    add_pair_products<Kind::kType, kSum, 5, 6>();
    if constexpr (kSecondParts == 2) add_pair_products<Kind::kType, kSum, 4, 7>();
  }
  [[gnu::always_inline]] static void load_second(const uint16_t* parts) {
    _tile_loadd(6, parts, kTileLine);
    if constexpr (kSecondParts == 2) _tile_loadd(7, parts + kTileHalves, kTileLine);
  }

  // Of one tile of rows with four tiles beside each other, `step` halves apart.
  [[gnu::always_inline]] static void multiply_four(Work& w, const uint16_t* first, const uint16_t* second,
                                                   int64_t step, int64_t turn, TileFetcher& fetcher) {
    const uint16_t* seconds[4];
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; ++i) seconds[i] = second_of(w, second + i * step, turn % 2 * 4 + i, fetcher);
    load_first(first);
    load_second(seconds[0]);
    add_products<0>();
    load_second(seconds[1]);
    add_products<1>();
    load_second(seconds[2]);
    add_products<2>();
    load_second(seconds[3]);
    add_products<3>();
  }

  // Of up to four tiles of rows, `step` halves apart, with one tile.
  [[gnu::always_inline]] static void multiply_column(Work& w, const uint16_t* first, int64_t step,
                                                     const uint16_t* second, int64_t turn,
                                                     TileFetcher& fetcher) {
    load_second(second_of(w, second, turn % 8, fetcher));
    load_first(first);
    add_products<0>();
    if (w.n_tiles > 1) {
      load_first(first + step);
      add_products<1>();
    }
    if (w.n_tiles > 2) {
      load_first(first + 2 * step);
      add_products<2>();
    }
    if (w.n_tiles > 3) {
      load_first(first + 3 * step);
      add_products<3>();
    }
  }

  static bool is_few(const Work& w) {
    return w.n <= Kind::kFewRows;
  }

  // n of 16 bits in float32.
  static void widen(const uint16_t* from, float* to) {
    for (int64_t i = 0; i < kDepth; i += V::kLanes) V::store(to + i, V::load_bf16(from + i));
  }

  static void widen_queries(Work& w, int64_t head_dim) {
    for (int64_t r = 0; r < w.n; ++r) {
      for (int64_t d = 0; d < head_dim; d += kDepth) {
        for (int64_t part = 0; part < kParts; ++part)
          widen(w.queries + (d / kDepth * kParts + part) * kTileHalves + r * kDepth,
                w.few_queries[r][part] + d);
      }
    }
  }
  static void widen_weights(Work& w, int64_t begin, int64_t end) {
    for (int64_t r = 0; r < w.n; ++r) {
      for (int64_t i = begin; i < end; i += kDepth) {
        for (int64_t part = 0; part < kParts; ++part)
          widen(w.weights[0][i / kDepth][part][r], w.few_weights[r][part] + i);
      }
    }
  }

  // The sums of `rows` += the products of 32 elements of the rows' parts with a tile.
  template <int kFew>
  [[gnu::always_inline]] static void multiply_few(Bf16Rows<kFew, kSecondParts>& rows, const float* first,
                                                  int64_t part_size, const uint16_t* tile,
                                                  TileFetcher& fetcher) {
    rows.begin_block();
    for (int64_t line = 0; line < kRows; line += kRows / kFewFetchSteps) {
      fetcher.step();
#pragma GCC unroll 4
      for (int64_t i = line; i < line + kRows / kFewFetchSteps; ++i) {
        __m512 parts[kSecondParts];
        Kind::template pair<0>(tile + i * kDepth, parts);
        rows.template add<0>(first + 2 * i, kParts * part_size, part_size, parts);
        Kind::template pair<1>(tile + i * kDepth, parts);
        rows.template add<1>(first + 2 * i + 1, kParts * part_size, part_size, parts);
      }
    }
    rows.end_block();
  }

  template <int kFew>
  [[gnu::noinline]] static void score_few(Work& w, const Head& head, int64_t chunk, int64_t begin,
                                          int64_t end, TileFetcher& fetcher) {
    for (int64_t i = begin; i < end; i += kBlockMultiple) {
      const uint16_t* keys = keys_of(head, chunk + i);
      for (int64_t column = i; column < i + kBlockMultiple && column < end; column += kKeys) {
        Bf16Rows<kFew, kSecondParts> rows = {};
        for (int64_t d = 0; d < head.head_dim; d += kDepth, keys += kTileHalves)
          multiply_few(rows, w.few_queries[0][0] + d, kMaxTileHeadDim, keys, fetcher);
#pragma GCC unroll 4
        for (int64_t r = 0; r < kFew; ++r) _mm512_store_ps(w.scores[r] + column, rows.sums[r]);
      }
    }
  }

  template <int kFew>
  [[gnu::noinline]] static void sum_few_values(Work& w, const uint16_t* const* values, int64_t head_dim,
                                               int64_t begin, int64_t end, TileFetcher& fetcher) {
    for (int64_t r = 0; r < kFew; ++r) {
      for (int64_t d = 0; d < head_dim; d += kValues) _mm512_store_ps(w.few_sums[r] + d, _mm512_setzero_ps());
    }
    for (int64_t i = begin; i < end; i += kDepth) {
      for (int64_t d = 0; d < head_dim; d += kValues) {
        Bf16Rows<kFew, kSecondParts> rows;
#pragma GCC unroll 4
        for (int64_t r = 0; r < kFew; ++r) rows.sums[r] = _mm512_load_ps(w.few_sums[r] + d);
        multiply_few(rows, w.few_weights[0][0] + i, kAttentionChunk, values[i / kDepth] + d * kDepth,
                     fetcher);
#pragma GCC unroll 4
        for (int64_t r = 0; r < kFew; ++r) _mm512_store_ps(w.few_sums[r] + d, rows.sums[r]);
      }
    }
  }

  // fn<number of rows>()
  template <int kMost, class Fn>
  static void with_few(int64_t n, const Fn& fn) {
    if constexpr (kMost > 0) {
      if (n == kMost) return fn.template operator()<kMost>();
      with_few<kMost - 1>(n, fn);
    }
  }

  // Products of the queries with the keys of the chunk's positions begin .. end - 1, where begin is a
  // multiple of kBlockMultiple, and maybe of more.
  static void score(Work& w, const Head& head, int64_t chunk, int64_t begin, int64_t end,
                    TileFetcher& fetcher) {
    if (is_few(w)) {
      const SubnormalsAreZeros mode;
      with_few<Kind::kFewRows>(w.n,
                               [&]<int kFew>() { score_few<kFew>(w, head, chunk, begin, end, fetcher); });
      return mode.done();
    }
    const int64_t depths = head.head_dim / kDepth;
    const int64_t row_tile = depths * kParts * kTileHalves;
    constexpr int64_t kStride = kAttentionChunk * static_cast<int64_t>(sizeof(float));
    const int64_t key_tile = kKeys * head.head_dim;
    for (int64_t i = begin; i < end; i += kBlockMultiple) {
      const uint16_t* keys = keys_of(head, chunk + i);
      if (w.n_tiles == 1 && i + kBlockMultiple <= end) {
        zero_sums();
        for (int64_t d = 0; d < depths; ++d)
          multiply_four(w, w.queries + d * kParts * kTileHalves, keys + d * kTileHalves, key_tile, d,
                        fetcher);
        float* scores = w.scores[0] + i;
        _tile_stored(0, scores, kStride);
        _tile_stored(1, scores + kKeys, kStride);
        _tile_stored(2, scores + 2 * kKeys, kStride);
        _tile_stored(3, scores + 3 * kKeys, kStride);
        continue;
      }
      for (int64_t column = 0; column < kBlockMultiple && i + column < end;
           column += kKeys, keys += key_tile) {
        zero_sums();
        for (int64_t d = 0; d < depths; ++d) {
          multiply_column(w, w.queries + d * kParts * kTileHalves, row_tile, keys + d * kTileHalves, d,
                          fetcher);
        }
        float* scores = w.scores[0] + i + column;
        _tile_stored(0, scores, kStride);
        if (w.n_tiles > 1) _tile_stored(1, scores + kRows * kAttentionChunk, kStride);
        if (w.n_tiles > 2) _tile_stored(2, scores + 2 * kRows * kAttentionChunk, kStride);
        if (w.n_tiles > 3) _tile_stored(3, scores + 3 * kRows * kAttentionChunk, kStride);
      }
    }
    written_for_tiles(w.scores);
  }

  // Turns a row's products of positions begin .. end - 1, both multiples of kDepth, into weights in two
  // parts.
  static Mix weigh_row(Work& w, int64_t r, int64_t chunk, int64_t begin, int64_t end, TileFetcher& fetcher) {
    QueryRow& row = w.rows[r];
    float* scores = w.scores[r];
    const auto parts = [&](int64_t i) { return w.weights[r / kRows][i / kDepth]; };
    if (row.begin >= chunk + end || row.end <= chunk + begin) {
      for (int64_t i = begin; i < end; i += kDepth) {
        for (int64_t part = 0; part < kParts; ++part)
          _mm512_store_si512(parts(i)[part][r % kRows], _mm512_setzero_si512());
      }
      return {1.0f, 0.0f};
    }
    const __m512 factor = _mm512_set1_ps(w.score_factors[r]);
    const __m512 minus_infinity = _mm512_set1_ps(-__builtin_inff());
    const __m512i first = _mm512_set1_epi32(static_cast<int>(row.begin - chunk));
    const __m512i last = _mm512_set1_epi32(static_cast<int>(row.end - chunk));
    __m512i position =
        _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(begin)),
                         _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    __m512 largest = minus_infinity;
    for (int64_t i = begin; i < end; i += V::kLanes) {
      const __mmask16 seen =
          _kand_mask16(_mm512_cmpge_epi32_mask(position, first), _mm512_cmplt_epi32_mask(position, last));
      const __m512 products = _mm512_load_ps(scores + i);
      const __m512 score = _mm512_mask_mul_ps(minus_infinity, seen, products, factor);
      _mm512_store_ps(scores + i, score);
      largest = V::max(score, largest);
      position = _mm512_add_epi32(position, _mm512_set1_epi32(V::kLanes));
    }
    const float max = V::largest(largest);
    const __m512 max_lanes = _mm512_set1_ps(max);
    const __m512 weight_factor = _mm512_set1_ps(Kind::kWeightFactor);
    __m512 sums = _mm512_setzero_ps();
    const auto weight_of = [&](int64_t i) {
      const __m512 weight = exp<V>(_mm512_sub_ps(_mm512_load_ps(scores + i), max_lanes));
      sums = _mm512_add_ps(sums, weight);
      return Kind::kWeightFactor == 1 ? weight : _mm512_mul_ps(weight, weight_factor);
    };
    for (int64_t i = begin; i < end; i += kDepth) {
      fetcher.step();
      const __m512 first_half = weight_of(i);
      const __m512 second_half = weight_of(i + V::kLanes);
      auto* to = parts(i);
      Kind::split_weights(first_half, second_half, to[0][r % kRows], to[1][r % kRows]);
    }
    return add_chunk<V>(&row, max, V::sum(sums));
  }

  // Values of 32 positions from `position` on; as zeros, whatever lies there, those that are not seen.
  static const uint16_t* seen_values(const Head& head, int64_t position, Seen seen, uint16_t* room) {
    const uint16_t* values = values_of(head, position);
    if (seen.begin <= position && position + kDepth <= seen.end) return values;
    for (int64_t line = 0; line < head.head_dim; ++line) {  // of a pair of positions
      const int64_t at = position + line % (kDepth / 2) * 2;
      const __mmask32 mask =
          mask_of_pair(seen.begin <= at && at < seen.end, seen.begin <= at + 1 && at + 1 < seen.end);
      _mm512_store_si512(room + line * kDepth, _mm512_maskz_loadu_epi16(mask, values + line * kDepth));
    }
    written_for_tiles(room);
    return room;
  }

  // y = y * keep + sums * take, of 16 dimensions from d on. Sums are brought back from the factor of their
  // weights first: `take` can be so small that it would lose bits, and be 1 where chunks are merged later.
  static void add_sum(const Work& w, const Mix* mixes, int64_t r, int64_t d, __m512 sums) {
    float* y = w.rows[r].y + d;
    const __m512 kept = _mm512_mul_ps(_mm512_loadu_ps(y), _mm512_set1_ps(mixes[r].keep));
    const __m512 sum = _mm512_mul_ps(sums, _mm512_set1_ps(1 / Kind::kWeightFactor));
    _mm512_storeu_ps(y, _mm512_fmadd_ps(sum, _mm512_set1_ps(mixes[r].take), kept));
  }
  static void add_sums(const Work& w, const Mix* mixes, const float (&sums)[kRows][kValues], int64_t tile,
                       int64_t d) {
    const int64_t n = w.n - tile * kRows < kRows ? w.n - tile * kRows : kRows;
    for (int64_t t = 0; t < n; ++t) add_sum(w, mixes, tile * kRows + t, d, _mm512_load_ps(sums[t]));
  }

  // The values of positions begin .. end - 1 of the chunk, both multiples of kDepth, weighted.
  static void add_values(Work& w, const Mix* mixes, const Head& head, int64_t chunk, int64_t begin,
                         int64_t end, Seen seen, TileFetcher& fetcher) {
    const uint16_t* values[kDepths];
    for (int64_t i = begin; i < end; i += kDepth)
      values[i / kDepth] = seen_values(head, chunk + i, seen, w.seen_values[i == begin ? 0 : 1]);
    if (is_few(w)) {
      widen_weights(w, begin, end);
      const SubnormalsAreZeros mode;
      with_few<Kind::kFewRows>(
          w.n, [&]<int kFew>() { sum_few_values<kFew>(w, values, head.head_dim, begin, end, fetcher); });
      mode.done();
      for (int64_t r = 0; r < w.n; ++r) {
        for (int64_t d = 0; d < head.head_dim; d += kValues)
          add_sum(w, mixes, r, d, _mm512_load_ps(w.few_sums[r] + d));
      }
      return;
    }
    constexpr int64_t kValueTile = kDepth * kValues;
    const int64_t row_tile = static_cast<int64_t>(sizeof w.weights[0] / sizeof(uint16_t));
    alignas(64) float sums[4][kRows][kValues];
    if (w.n_tiles == 1 && head.head_dim % (4 * kValues) == 0) {
      for (int64_t d = 0; d < head.head_dim; d += 4 * kValues) {
        zero_sums();
        for (int64_t i = begin / kDepth; i < end / kDepth; ++i)
          multiply_four(w, w.weights[0][i][0][0], values[i] + d / kValues * kValueTile, kValueTile, i,
                        fetcher);
        _tile_stored(0, sums[0], kTileLine);
        _tile_stored(1, sums[1], kTileLine);
        _tile_stored(2, sums[2], kTileLine);
        _tile_stored(3, sums[3], kTileLine);
        written_for_tiles(sums);
        for (int64_t i = 0; i < 4; ++i) add_sums(w, mixes, sums[i], 0, d + i * kValues);
      }
      return;
    }
    for (int64_t d = 0; d < head.head_dim; d += kValues) {
      zero_sums();
      for (int64_t i = begin / kDepth; i < end / kDepth; ++i) {
        multiply_column(w, w.weights[0][i][0][0], row_tile, values[i] + d / kValues * kValueTile, i, fetcher);
      }
      _tile_stored(0, sums[0], kTileLine);
      if (w.n_tiles > 1) _tile_stored(1, sums[1], kTileLine);
      if (w.n_tiles > 2) _tile_stored(2, sums[2], kTileLine);
      if (w.n_tiles > 3) _tile_stored(3, sums[3], kTileLine);
      written_for_tiles(sums);
      for (int64_t t = 0; t < w.n_tiles; ++t) add_sums(w, mixes, sums[t], t, d);
    }
  }

  static constexpr int64_t up(int64_t i, int64_t multiple) {
    return (i + multiple - 1) / multiple * multiple;
  }

  // What is read of the keys (values) of positions `seen` of the chunk.
  static void add_keys(TileFetcher& fetcher, const Head& head, int64_t chunk, Seen seen) {
    for (int64_t i = seen.begin / kBlockMultiple * kBlockMultiple; i < seen.end; i += kBlockMultiple) {
      const int64_t n = seen.end - i < kBlockMultiple ? up(seen.end - i, kKeys) : kBlockMultiple;
      fetcher.add(keys_of(head, chunk + i), n * head.row_bytes);
    }
  }
  static void add_values(TileFetcher& fetcher, const Head& head, int64_t chunk, Seen seen) {
    for (int64_t i = seen.begin / kDepth * kDepth; i < seen.end; i += kDepth)
      fetcher.add(values_of(head, chunk + i), kDepth * head.row_bytes);
  }

  // What is read after the chunk: the next one, or the first one of the next part.
  static void add_next(TileFetcher& fetcher, const Work& w, const AttentionPart& p, const Head& head,
                       int64_t chunk) {
    WhatIsRead<CachedTiles>::with_next_keys(p, w.rows, w.n, head, chunk,
                                            [&](const Head& next, int64_t first, Seen seen) {
                                              add_keys(fetcher, next, first, seen);
                                              add_values(fetcher, next, first, seen);
                                            });
  }

  static void attend_chunk(Work& w, const AttentionPart& p, const Head& head, int64_t chunk) {
    const Seen seen = seen_of_chunk(w.rows, w.n, chunk);
    if (seen.begin >= seen.end) return;
    const int64_t key_begin = seen.begin / kBlockMultiple * kBlockMultiple;
    const int64_t depth_begin = seen.begin / kDepth * kDepth;
    const int64_t depth_end = up(seen.end, kDepth);
    const int64_t tile_steps = is_few(w) ? kFewFetchSteps : kFetchSteps;
    const int64_t key_steps = up(seen.end - key_begin, kKeys) / kKeys * (head.head_dim / kDepth) * tile_steps;
    const int64_t weight_steps = w.n * (depth_end - depth_begin) / kDepth;
    const int64_t value_steps = (depth_end - depth_begin) / kDepth * (head.head_dim / kValues) * tile_steps;
    TileFetcher next;
    add_next(next, w, p, head, chunk);
    const bool is_fetched = p.is_fetched || (p.partial == nullptr && chunk > w.rows[0].begin);
    if (is_fetched) {
      next.begin(key_steps + weight_steps + value_steps, kStreams);
      score(w, head, chunk, key_begin, seen.end, next);
    } else {
      TileFetcher values;
      add_values(values, head, chunk, seen);
      values.begin(key_steps, kStreams);
      score(w, head, chunk, key_begin, seen.end, values);
      next.begin(weight_steps + value_steps, kStreams);
    }
    Mix mixes[kTileQueryRows];
    for (int64_t r = 0; r < w.n; ++r) mixes[r] = weigh_row(w, r, chunk, depth_begin, depth_end, next);
    written_for_tiles(w.weights);
    add_values(w, mixes, head, chunk, depth_begin, depth_end, {chunk + seen.begin, chunk + seen.end}, next);
  }
};

}  // namespace
}  // namespace inferno::kernels
