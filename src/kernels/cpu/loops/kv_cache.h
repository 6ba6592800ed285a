// How the cache of a CPU backend stores keys and values, a class for each type, and how it takes in new ones.
// A row is the value of one position and head; keys lie in tiles: see ../kernels.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

// Positions of a tile of keys: few, since whoever appends a key writes to each dimension's own place in it,
// and whoever reads the last tile reads the places of positions to come, too.
constexpr int64_t kKeyTile = 16;
template <class V>
constexpr int kTileVectors = static_cast<int>(kKeyTile / V::kLanes);

// From so many keys on they are transposed in registers, where an ISA can.
constexpr int64_t kTransposedKeys = 4;

// kUnpackFrom: from so many times kScoreRows query rows on, a tile that is brought into float32 once for all
// of them beats one that is converted for each kScoreRows; 0 = never.
template <class V>
struct CachedF32 {
  static constexpr int64_t kUnpackFrom = 0;
  using Stored = float;
  static typename V::F load(const float* p) { return V::load(p); }
  static typename V::F load(const float* p, int64_t n) { return V::load(p, n); }
  static void store(float* p, typename V::F x, int64_t n) { V::store(p, x, n); }
};

template <class V>
struct CachedF16 {
  static constexpr int64_t kUnpackFrom = 4;
  using Stored = uint16_t;
  static typename V::F load(const uint16_t* p) { return V::load_f16(p); }
  static typename V::F load(const uint16_t* p, int64_t n) { return V::load_f16(p, n); }
  static void store(uint16_t* p, typename V::F x, int64_t n) { V::store_f16(p, x, n); }
};

template <class V>
struct CachedBF16 {
  static constexpr int64_t kUnpackFrom = 4;
  using Stored = uint16_t;
  static typename V::F load(const uint16_t* p) { return V::load_bf16(p); }
  static typename V::F load(const uint16_t* p, int64_t n) { return V::load_bf16(p, n); }
  static void store(uint16_t* p, typename V::F x, int64_t n) { V::store_bf16(p, x, n); }
};

// Elements without a scale.
template <class V, class Element>
struct PlainCache {
  using F = typename V::F;
  using Stored = typename Element::Stored;
  static constexpr int64_t kUnpackFrom = Element::kUnpackFrom;
  // Of a key tile: so many dimensions share the scales that scale() reads, and take so many bytes.
  static constexpr int64_t kBlockDims = 1;
  static constexpr int64_t kKeyBlockBytes = kKeyTile * static_cast<int64_t>(sizeof(Stored));
  struct Scale {};

  static int64_t row_bytes(int64_t head_dim) { return head_dim * static_cast<int64_t>(sizeof(Stored)); }
  // Of the positions from number `first` of the tile on, one for each lane.
  static Scale scale(const uint8_t*, int64_t) { return {}; }
  static F key(const uint8_t* block, int64_t, int64_t first, Scale) {
    return Element::load(reinterpret_cast<const Stored*>(block) + first);
  }
  // kVectors vectors of dimensions from d on; a single one has n lanes.
  template <int kVectors>
  static void values(const uint8_t* row, int64_t d, int64_t n, F (&x)[kVectors]) {
    const Stored* p = reinterpret_cast<const Stored*>(row) + d;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      x[v] = kVectors == 1 ? Element::load(p, n) : Element::load(p + v * V::kLanes);
    }
  }

  // To a position of a block of values; keys: n_keys, `stride` elements apart, to positions of a tile in
  // order from `position` on.
  static void append_keys(const float* k, int64_t stride, int64_t n_keys, int64_t head_dim, uint8_t* tile,
                          int64_t position) {
    Stored* keys = reinterpret_cast<Stored*>(tile) + position;
    for (int64_t d = 0; d < head_dim; d += V::kLanes) {
      const int64_t n = head_dim - d < V::kLanes ? head_dim - d : V::kLanes;
      if constexpr (requires(F(&x)[V::kLanes]) { V::transpose(x); }) {
        if (n_keys >= kTransposedKeys && n == V::kLanes) {
          F dims[V::kLanes];
#pragma GCC unroll 16
          for (int64_t j = 0; j < V::kLanes; ++j)
            dims[j] = j < n_keys ? V::load(k + j * stride + d) : V::zero();
          V::transpose(dims);
#pragma GCC unroll 16
          for (int64_t i = 0; i < V::kLanes; ++i) Element::store(keys + (d + i) * kKeyTile, dims[i], n_keys);
          continue;
        }
      }
      Stored rounded[kKeyTile][V::kLanes];
      for (int64_t j = 0; j < n_keys; ++j) Element::store(rounded[j], V::load(k + j * stride + d, n), n);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n_keys; ++j) keys[(d + i) * kKeyTile + j] = rounded[j][i];
      }
    }
  }
  static void append_value(const float* v, int64_t head_dim, uint8_t* values, int64_t position) {
    auto* row = reinterpret_cast<Stored*>(values + position * row_bytes(head_dim));
    for (int64_t d = 0; d < head_dim; d += V::kLanes) {
      const int64_t n = head_dim - d < V::kLanes ? head_dim - d : V::kLanes;
      Element::store(row + d, V::load(v + d, n), n);
    }
  }
};

// 32 dimensions of a tile of keys in Q8_0; the tile has head_dim / 32 of them.
struct KeyTileQ8_0 {
  uint16_t d[kKeyTile];  // scales, in F16
  int8_t qs[kBlock32][kKeyTile];
};

// Products of codes and scales are exact, so that what is read is what kernels/reference reads.
template <class V>
struct Q8_0Cache {
  using F = typename V::F;
  using I = typename V::I;
  static constexpr int64_t kUnpackFrom = 2;
  static constexpr int64_t kBlockDims = kBlock32;
  using KeyTile = KeyTileQ8_0;
  static constexpr int64_t kKeyBlockBytes = sizeof(KeyTile);
  static_assert(kKeyBlockBytes == kKeyTile * sizeof(BlockQ8_0));
  static constexpr int kVectorsPerBlock = kBlock32 / static_cast<int>(V::kLanes);
  using Scale = F;

  static int64_t row_bytes(int64_t head_dim) {
    return head_dim / kBlock32 * static_cast<int64_t>(sizeof(BlockQ8_0));
  }
  static Scale scale(const uint8_t* block, int64_t first) {
    return V::load_f16(reinterpret_cast<const KeyTile*>(block)->d + first);
  }
  static F key(const uint8_t* block, int64_t d, int64_t first, Scale scale) {
    return V::mul(codes(reinterpret_cast<const KeyTile*>(block)->qs[d] + first), scale);
  }
  template <int kVectors>
  static void values(const uint8_t* row, int64_t d, int64_t, F (&x)[kVectors]) {
    // Dimensions come in parts of a block or in whole ones.
    static_assert(kVectorsPerBlock % kVectors == 0 || kVectors % kVectorsPerBlock == 0);
    const BlockQ8_0* blocks = reinterpret_cast<const BlockQ8_0*>(row) + d / kBlock32;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const BlockQ8_0& block = blocks[v / kVectorsPerBlock];
      x[v] = V::mul(codes(block.qs + d % kBlock32 + v % kVectorsPerBlock * V::kLanes), V::set_f16(block.d));
    }
  }

  static void append_keys(const float* k, int64_t stride, int64_t n_keys, int64_t head_dim, uint8_t* tile,
                          int64_t position) {
    for (int64_t b = 0; b < head_dim / kBlock32; ++b) {
      BlockQ8_0 blocks[kKeyTile];
      for (int64_t j = 0; j < n_keys; ++j) blocks[j] = quantize(k + j * stride + b * kBlock32);
      KeyTile& keys = reinterpret_cast<KeyTile*>(tile)[b];
      for (int64_t j = 0; j < n_keys; ++j) keys.d[position + j] = blocks[j].d;
      for (int i = 0; i < kBlock32; ++i) {
        for (int64_t j = 0; j < n_keys; ++j) keys.qs[i][position + j] = blocks[j].qs[i];
      }
    }
  }
  static void append_value(const float* v, int64_t head_dim, uint8_t* values, int64_t position) {
    auto* row = reinterpret_cast<BlockQ8_0*>(values + position * row_bytes(head_dim));
    for (int64_t b = 0; b < head_dim / kBlock32; ++b) row[b] = quantize(v + b * kBlock32);
  }

 private:
  static F codes(const int8_t* p) {
    return V::to_float(V::load_i8(reinterpret_cast<const uint8_t*>(p)));
  }

  // As kernels/reference/kv_append.cpp, bit by bit.
  static BlockQ8_0 quantize(const float* x) {
    F values[kVectorsPerBlock];
    I bits = V::zero_i32();
    for (int i = 0; i < kVectorsPerBlock; ++i) {
      values[i] = V::load(x + i * V::kLanes);
      bits = V::max_i32(bits, V::magnitude_bits(values[i]));
    }
    const int32_t largest_bits = V::largest_i32(bits);
    float largest;
    __builtin_memcpy(&largest, &largest_bits, sizeof largest);
    BlockQ8_0 block = {};
    V::store_f16(&block.d, V::set(largest / 127.0f), 1);
    const F d = V::set_f16(block.d);
    if (!(V::first(d) > 0.0f && V::first(d) < __builtin_inff())) return block;
    for (int i = 0; i < kVectorsPerBlock; ++i) {
      const F q = V::max(V::min(V::div(values[i], d), V::set(127.0f)), V::set(-127.0f));
      V::store_i8(block.qs + i * V::kLanes, V::to_int(q));
    }
    return block;
  }
};

// fn(cache) with the class of this type.
template <class V, class Fn>
inline void with_cache(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kF16:
      return fn(PlainCache<V, CachedF16<V>>());
    case DType::kBF16:
      return fn(PlainCache<V, CachedBF16<V>>());
    case DType::kQ8_0:
      return fn(Q8_0Cache<V>());
    default:
      return fn(PlainCache<V, CachedF32<V>>());
  }
}

template <class Cache>
void append_rows(const KvAppendParams& p, int64_t head_begin, int64_t head_end) {
  const KvLayerView& kv = p.kv;
  const int64_t bytes = Cache::row_bytes(kv.head_dim);
  const int64_t stride = kv.n_kv_heads * kv.head_dim;
  int64_t n = 0;  // rows that go to positions in order, within a tile
  for (int64_t r = 0; r < p.n; r += n) {
    const int64_t block = p.slot_mapping[r] / kv.block_size;
    const int64_t position = p.slot_mapping[r] % kv.block_size;
    const int64_t left_in_tile = kKeyTile - position % kKeyTile;
    n = 1;
    while (n < left_in_tile && r + n < p.n && p.slot_mapping[r + n] == p.slot_mapping[r] + n) ++n;
    for (int64_t h = head_begin; h < head_end; ++h) {
      const int64_t source = (r * kv.n_kv_heads + h) * kv.head_dim;
      const int64_t first = (block * kv.n_kv_heads + h) * kv.block_size;
      const int64_t tile = first + position / kKeyTile * kKeyTile;
      Cache::append_keys(p.k + source, stride, n, kv.head_dim, static_cast<uint8_t*>(kv.k) + tile * bytes,
                         position % kKeyTile);
      for (int64_t j = 0; j < n; ++j) {
        Cache::append_value(p.v + source + j * stride, kv.head_dim,
                            static_cast<uint8_t*>(kv.v) + first * bytes, position + j);
      }
    }
  }
}

template <class V>
void kv_append_rows(const KvAppendParams& p, int64_t head_begin, int64_t head_end) {
  with_cache<V>(p.kv.dtype, [&](auto cache) { append_rows<decltype(cache)>(p, head_begin, head_end); });
}

}  // namespace
}  // namespace inferno::kernels
