// Attention over a cache in float16, its products by tiles: of queries and weights, each the sum of two
// float16, with keys and values. What a row comes to depends on its own query and the positions that it sees,
// as in
// ../loops/attention.h, whose chunks these are. Other caches, and heads of other than whole tiles, are left
// to vectors.
//
// Keys lie in tiles of 16 positions, (head_dim / 2, 16 positions, 2), values in tiles of 32 positions and 16
// dimensions, (head_dim / 16, 16 pairs of positions, 16 dimensions, 2): as the second factor of a product has
// them.
#include "kernels/cpu/loops/attention.h"

#include <cstring>

#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/amx_fp16/functions.h"
#include "kernels/cpu/avx512/vector.h"
#include "kernels/cpu/loops/tile_fetcher.h"

namespace inferno::kernels::amx_fp16 {
namespace {

using V = Avx512Vector;

constexpr int64_t kRows = 16;   // of a tile
constexpr int64_t kDepth = 32;  // what a product sums: dimensions of keys, positions of values
constexpr int64_t kTileHalves = kRows * kDepth;
constexpr int64_t kKeys = 16;    // positions of a tile of keys
constexpr int64_t kValues = 16;  // dimensions of a tile of values
constexpr int64_t kMaxTiles = 3;
constexpr int64_t kTileRows = kMaxTiles * kRows;  // query rows of a part
constexpr int64_t kMaxHeadDim = 256;
constexpr int64_t kParts = kF16Parts;
constexpr int64_t kDepths = kAttentionChunk / kDepth;
// What a block's positions are a multiple of, so that as many keys lie side by side.
constexpr int64_t kBlockMultiple = 4 * kKeys;
static_assert(kTileRows <= kMaxQueryRows && kKeyTile == kKeys && kBlockMultiple % kDepth == 0 &&
              kAttentionChunk % kBlockMultiple == 0);

// Weights are at most 1: times this, small ones keep their bits.
constexpr float kWeightFactor = 16384;

bool takes_tiles(const KvLayerView& kv) {
  return kv.dtype == DType::kF16 && kv.head_dim % kDepth == 0 && kv.head_dim <= kMaxHeadDim;
}

// How rows get into such a cache.
struct CachedTiles {
  static int64_t row_bytes(int64_t head_dim) { return head_dim * static_cast<int64_t>(sizeof(uint16_t)); }

  static void append_keys(const float* k, int64_t stride, int64_t n_keys, int64_t head_dim, uint8_t* tile,
                          int64_t position) {
    alignas(64) uint32_t pairs[kKeyTile][kMaxHeadDim / 2];
    for (int64_t j = 0; j < n_keys; ++j) {
      for (int64_t d = 0; d < head_dim; d += V::kLanes) {
        V::store_f16(reinterpret_cast<uint16_t*>(pairs[j]) + d, V::load(k + j * stride + d), V::kLanes);
      }
    }
    auto* keys = reinterpret_cast<uint32_t*>(tile);
    for (int64_t i = 0; i < head_dim / 2; ++i) {
      for (int64_t j = 0; j < n_keys; ++j) keys[i * kKeys + position + j] = pairs[j][i];
    }
  }
  static void append_value(const float* v, int64_t head_dim, uint8_t* block, int64_t position) {
    auto* values = reinterpret_cast<uint16_t*>(block) + position / kDepth * kDepth * head_dim;
    const bool is_second = position % 2 != 0;
    for (int64_t d = 0; d < head_dim; d += kValues) {
      const __m256i halves = _mm512_cvtps_ph(_mm512_loadu_ps(v + d), _MM_FROUND_TO_NEAREST_INT);
      const __m512i wide = _mm512_cvtepu16_epi32(halves);
      uint16_t* line = values + d * kDepth + position % kDepth / 2 * kDepth;
      _mm512_mask_storeu_epi16(line, is_second ? 0xaaaaaaaau : 0x55555555u,
                               is_second ? _mm512_slli_epi32(wide, 16) : wide);
    }
  }
};

using Head = CachedHead<CachedTiles>;

// Both are multiples of tiles.
const uint16_t* keys_of(const Head& head, int64_t position) {
  return reinterpret_cast<const uint16_t*>(head.key_tile(position));
}
const uint16_t* values_of(const Head& head, int64_t position) {
  return reinterpret_cast<const uint16_t*>(head.value(position));
}

// One part of attention, as long as it lasts.
struct Work {
  int64_t n;  // rows
  int64_t n_tiles;
  QueryRow* rows;
  float score_factors[kTileRows];  // what the product of a query and a key is multiplied by
  alignas(64) uint16_t queries[kMaxTiles * kMaxHeadDim / kDepth * kParts * kTileHalves];
  alignas(64) float scores[kTileRows][kAttentionChunk];
  // (tiles, depths, parts, 16 rows, 32 positions)
  alignas(64) uint16_t weights[kMaxTiles][kDepths][kParts][kRows][kDepth];
  // Of the first and the last 32 positions of a chunk, where some are not seen.
  alignas(64) uint16_t seen_values[2][kDepth * kMaxHeadDim];
};

// Registers: sums in 0 to 3, of three tiles of rows or of one with four columns of tiles; the first factor's
// parts in 4 and 5, the second factor in 6 and 7.
TileShapes shapes_of(int64_t n) {
  TileShapes shapes;
  const int64_t first_rows = n < kRows ? n : kRows;
  for (int tile = 0; tile < 6; ++tile) shapes.set(tile, first_rows, kTileLine);
  for (const int tile : {6, 7}) shapes.set(tile, kRows, kTileLine);
  return shapes;
}

template <int kSum, int kSecond>
[[gnu::always_inline]] inline void add_both_parts() {
  add_pair_products<PairType::kF16, kSum, 4, kSecond>();
  add_pair_products<PairType::kF16, kSum, 5, kSecond>();
}

[[gnu::always_inline]] inline void load_first(const uint16_t* parts) {
  _tile_loadd(4, parts, kTileLine);
  _tile_loadd(5, parts + kTileHalves, kTileLine);
}

void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

// Of one tile of rows with four tiles beside each other, `step` halves apart.
[[gnu::always_inline]] inline void multiply_four(const uint16_t* first, const uint16_t* second, int64_t step,
                                                 TileFetcher& fetcher) {
  load_first(first);
  _tile_loadd(6, second, kTileLine);
  add_both_parts<0, 6>();
  fetcher.step();
  _tile_loadd(7, second + step, kTileLine);
  add_both_parts<1, 7>();
  fetcher.step();
  _tile_loadd(6, second + 2 * step, kTileLine);
  add_both_parts<2, 6>();
  fetcher.step();
  _tile_loadd(7, second + 3 * step, kTileLine);
  fetcher.step();
  add_both_parts<3, 7>();
}

// Of up to three tiles of rows, `step` halves apart, with one tile.
[[gnu::always_inline]] inline void multiply_column(const uint16_t* first, int64_t step, int64_t n_tiles,
                                                   const uint16_t* second) {
  _tile_loadd(6, second, kTileLine);
  load_first(first);
  add_both_parts<0, 6>();
  if (n_tiles > 1) {
    load_first(first + step);
    add_both_parts<1, 6>();
  }
  if (n_tiles > 2) {
    load_first(first + 2 * step);
    add_both_parts<2, 6>();
  }
}

// Products of the queries with the keys of the chunk's positions begin .. end - 1, where begin is a
// multiple of kBlockMultiple, and maybe of more.
void score(Work& w, const Head& head, int64_t chunk, int64_t begin, int64_t end, TileFetcher& fetcher) {
  const int64_t depths = head.head_dim / kDepth;
  const int64_t row_tile = depths * kParts * kTileHalves;
  constexpr int64_t kStride = kAttentionChunk * static_cast<int64_t>(sizeof(float));
  const int64_t key_tile = kKeys * head.head_dim;
  for (int64_t i = begin; i < end; i += kBlockMultiple) {
    const uint16_t* keys = keys_of(head, chunk + i);
    if (w.n_tiles == 1 && i + kBlockMultiple <= end) {
      zero_sums();
      for (int64_t d = 0; d < depths; ++d)
        multiply_four(w.queries + d * kParts * kTileHalves, keys + d * kTileHalves, key_tile, fetcher);
      float* scores = w.scores[0] + i;
      _tile_stored(0, scores, kStride);
      _tile_stored(1, scores + kKeys, kStride);
      _tile_stored(2, scores + 2 * kKeys, kStride);
      _tile_stored(3, scores + 3 * kKeys, kStride);
      continue;
    }
    for (int64_t column = 0; column < kBlockMultiple && i + column < end; column += kKeys, keys += key_tile) {
      zero_sums();
      for (int64_t d = 0; d < depths; ++d) {
        fetcher.step();
        multiply_column(w.queries + d * kParts * kTileHalves, row_tile, w.n_tiles, keys + d * kTileHalves);
      }
      float* scores = w.scores[0] + i + column;
      _tile_stored(0, scores, kStride);
      if (w.n_tiles > 1) _tile_stored(1, scores + kRows * kAttentionChunk, kStride);
      if (w.n_tiles > 2) _tile_stored(2, scores + 2 * kRows * kAttentionChunk, kStride);
    }
  }
  written_for_tiles(w.scores);
}

// Turns a row's products of positions begin .. end - 1, both multiples of kDepth, into weights in two parts.
Mix weigh_row(Work& w, int64_t r, int64_t chunk, int64_t begin, int64_t end) {
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
  __m512i position = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(begin)),
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
  const __m512 weight_factor = _mm512_set1_ps(kWeightFactor);
  __m512 sums = _mm512_setzero_ps();
  for (int64_t i = begin; i < end; i += V::kLanes) {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const __m512 weight = exp<V>(_mm512_sub_ps(_mm512_load_ps(scores + i), max_lanes));
    sums = _mm512_add_ps(sums, weight);
    const __m512 large = _mm512_mul_ps(weight, weight_factor);
    const __m256i high = _mm512_cvtps_ph(large, kNearest);
    const __m256i low = _mm512_cvtps_ph(_mm512_sub_ps(large, _mm512_cvtph_ps(high)), kNearest);
    auto* to = parts(i);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to[0][r % kRows] + i % kDepth), high);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to[1][r % kRows] + i % kDepth), low);
  }
  return add_chunk<V>(&row, max, V::sum(sums));
}

// Values of 32 positions from `position` on; as zeros, whatever lies there, those that are not seen.
const uint16_t* seen_values(const Head& head, int64_t position, Seen seen, uint16_t* room) {
  const uint16_t* values = values_of(head, position);
  if (seen.begin <= position && position + kDepth <= seen.end) return values;
  for (int64_t line = 0; line < head.head_dim; ++line) {  // of a pair of positions
    const int64_t at = position + line % (kDepth / 2) * 2;
    const __mmask32 even = seen.begin <= at && at < seen.end ? 0x55555555u : 0;
    const __mmask32 odd = seen.begin <= at + 1 && at + 1 < seen.end ? 0xaaaaaaaau : 0;
    _mm512_store_si512(room + line * kDepth, _mm512_maskz_loadu_epi16(even | odd, values + line * kDepth));
  }
  written_for_tiles(room);
  return room;
}

// y = y * keep + sums * take, of up to 16 rows and 16 dimensions from d on. Sums are brought back from the
// factor of their weights first: `take` can be so small that it would lose bits, and be 1 where chunks are
// merged later.
void add_sums(const Work& w, const Mix* mixes, const float (&sums)[kRows][kValues], int64_t tile, int64_t d) {
  const int64_t n = w.n - tile * kRows < kRows ? w.n - tile * kRows : kRows;
  for (int64_t t = 0; t < n; ++t) {
    const int64_t r = tile * kRows + t;
    float* y = w.rows[r].y + d;
    const __m512 kept = _mm512_mul_ps(_mm512_loadu_ps(y), _mm512_set1_ps(mixes[r].keep));
    const __m512 sum = _mm512_mul_ps(_mm512_load_ps(sums[t]), _mm512_set1_ps(1 / kWeightFactor));
    _mm512_storeu_ps(y, _mm512_fmadd_ps(sum, _mm512_set1_ps(mixes[r].take), kept));
  }
}

// The values of positions begin .. end - 1 of the chunk, both multiples of kDepth, weighted.
void add_values(Work& w, const Mix* mixes, const Head& head, int64_t chunk, int64_t begin, int64_t end,
                Seen seen, TileFetcher& fetcher) {
  const uint16_t* values[kDepths];
  for (int64_t i = begin; i < end; i += kDepth)
    values[i / kDepth] = seen_values(head, chunk + i, seen, w.seen_values[i == begin ? 0 : 1]);
  constexpr int64_t kValueTile = kDepth * kValues;
  const int64_t row_tile = static_cast<int64_t>(sizeof w.weights[0] / sizeof(uint16_t));
  alignas(64) float sums[4][kRows][kValues];
  if (w.n_tiles == 1 && head.head_dim % (4 * kValues) == 0) {
    for (int64_t d = 0; d < head.head_dim; d += 4 * kValues) {
      zero_sums();
      for (int64_t i = begin / kDepth; i < end / kDepth; ++i)
        multiply_four(w.weights[0][i][0][0], values[i] + d / kValues * kValueTile, kValueTile, fetcher);
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
      fetcher.step();
      multiply_column(w.weights[0][i][0][0], row_tile, w.n_tiles, values[i] + d / kValues * kValueTile);
    }
    _tile_stored(0, sums[0], kTileLine);
    if (w.n_tiles > 1) _tile_stored(1, sums[1], kTileLine);
    if (w.n_tiles > 2) _tile_stored(2, sums[2], kTileLine);
    written_for_tiles(sums);
    for (int64_t t = 0; t < w.n_tiles; ++t) add_sums(w, mixes, sums[t], t, d);
  }
}

constexpr int64_t up(int64_t i, int64_t multiple) {
  return (i + multiple - 1) / multiple * multiple;
}

// What is read of the keys (values) of positions `seen` of the chunk.
void add_keys(TileFetcher& fetcher, const Head& head, int64_t chunk, Seen seen) {
  for (int64_t i = seen.begin / kBlockMultiple * kBlockMultiple; i < seen.end; i += kBlockMultiple) {
    const int64_t n = seen.end - i < kBlockMultiple ? up(seen.end - i, kKeys) : kBlockMultiple;
    fetcher.add(keys_of(head, chunk + i), n * head.row_bytes);
  }
}
void add_values(TileFetcher& fetcher, const Head& head, int64_t chunk, Seen seen) {
  for (int64_t i = seen.begin / kDepth * kDepth; i < seen.end; i += kDepth)
    fetcher.add(values_of(head, chunk + i), kDepth * head.row_bytes);
}

// Keys that are read after the chunk's: those of the next one, or of the next part.
void add_next_keys(TileFetcher& fetcher, const Work& w, const AttentionPart& p, const Head& head,
                   int64_t chunk) {
  const int64_t next_chunk = chunk + kAttentionChunk;
  if (p.partial == nullptr && next_chunk < w.rows[w.n - 1].end)
    return add_keys(fetcher, head, next_chunk, seen_of_chunk(w.rows, w.n, next_chunk));
  if (p.next == nullptr) return;
  QueryRow rows[kMaxQueryRows];
  const int64_t n = query_rows(*p.next, rows);
  const int64_t first = p.next->partial == nullptr ? rows[0].begin / kAttentionChunk : p.next->chunk;
  add_keys(fetcher, cached_head<CachedTiles>(*p.next), first * kAttentionChunk,
           seen_of_chunk(rows, n, first * kAttentionChunk));
}

void attend_chunk(Work& w, const AttentionPart& p, const Head& head, int64_t chunk) {
  const Seen seen = seen_of_chunk(w.rows, w.n, chunk);
  if (seen.begin >= seen.end) return;
  const int64_t key_begin = seen.begin / kBlockMultiple * kBlockMultiple;
  const int64_t depth_begin = seen.begin / kDepth * kDepth;
  const int64_t depth_end = up(seen.end, kDepth);
  TileFetcher values;
  add_values(values, head, chunk, seen);
  values.begin(up(seen.end - key_begin, kKeys) / kKeys * (head.head_dim / kDepth), kStreamsOfTurn);
  score(w, head, chunk, key_begin, seen.end, values);
  Mix mixes[kTileRows];
  for (int64_t r = 0; r < w.n; ++r) mixes[r] = weigh_row(w, r, chunk, depth_begin, depth_end);
  written_for_tiles(w.weights);
  TileFetcher next_keys;
  add_next_keys(next_keys, w, p, head, chunk);
  next_keys.begin((depth_end - depth_begin) / kDepth * (head.head_dim / kValues), kStreamsOfTurn);
  add_values(w, mixes, head, chunk, depth_begin, depth_end, {chunk + seen.begin, chunk + seen.end},
             next_keys);
}

void attend(const AttentionPart& p) {
  const AttentionParams& a = p.all;
  QueryRow rows[kMaxQueryRows];
  Work w;
  w.rows = rows;
  w.n = query_rows(p, rows);
  w.n_tiles = (w.n + kRows - 1) / kRows;
  const auto head = cached_head<CachedTiles>(p);
  for (int64_t r = 0; r < w.n; ++r) to_f16({rows[r].q, a.kv.head_dim, r, 1, {w.queries, w.score_factors}});
  for (int64_t r = 0; r < w.n; ++r) w.score_factors[r] *= a.scale;
  written_for_tiles(w.queries);
  use_tiles(shapes_of(w.n));
  attend_chunks(p, rows, w.n, [&](int64_t chunk) { attend_chunk(w, p, head, chunk); });
  _tile_release();
}

void attention(const AttentionPart& p) {
  takes_tiles(p.all.kv) ? attend(p) : attention_part<V>(p);
}

void kv_append(const KvAppendParams& p, int64_t head_begin, int64_t head_end) {
  if (!takes_tiles(p.kv)) return kv_append_rows<V>(p, head_begin, head_end);
  append_rows<CachedTiles>(p, head_begin, head_end);
}

}  // namespace

void set_attention(CpuKernels* table) {
  table->f16_in_tiles = true;
  table->block_multiple = kBlockMultiple;
  table->kv_append = kv_append;
  table->attention = attention;
  table->query_rows = kTileRows;
}

}  // namespace inferno::kernels::amx_fp16
