// CpuKernels: the function table that one ISA fills, and the list of ISAs that this build knows.
//
// An ISA is a folder beside this file, a line in ../CMakeLists.txt (its flags and what a CPU must have) and
// one exported function, table(). Its files are compiled with flags that the machine may lack, so they
// include plain-data headers and intrinsics only and call nothing inline of anybody else: the linker might
// keep their copy for all. tools/check_isa_symbols.py holds the objects against that.
#pragma once

#include <cstdint>

#include "kernels/cpu/params.h"

namespace inferno::kernels {

// A loop that does nothing but multiply-add as fast as it can. Every product is 1 * 1, so the sum of its
// accumulators, which run() returns, is the number of multiply-adds that it has done: rounds *
// multiply_adds. Exact for up to 1000 rounds (an fp16 accumulator counts to 2048); later ones are as fast.
struct PeakLoop {
  int64_t multiply_adds;  // in a round
  int64_t (*run)(int64_t rounds);
};

// How keys and values get into a cache and are read there.
struct CacheKernels {
  // Of KV heads head_begin .. head_end - 1.
  void (*kv_append)(const KvAppendParams& p, int64_t head_begin, int64_t head_end);
  void (*attention)(const AttentionPart& p);
  int64_t query_rows;  // of a part: the most, and how many are the fastest
  bool in_pairs;       // of tiles of matrices: whether both numbers of a pair lie side by side
};

// What an ISA does not set is null, or what the ISA that it extends has set.
struct CpuKernels {
  // Operations, as kernels/params.h defines them, on a part of the rows or positions at the caller's choice.
  // Never null: `generic` sets all.
  void (*rms_norm)(const RmsNormParams& p);
  void (*rope)(const RopeParams& p);
  // In the cache keys lie in tiles of key_tile positions side by side: (n_blocks, n_kv_heads, block_size /
  // key_tile, head_dim, key_tile). In Q8_0 a tile is, for each 32 dimensions, key_tile scales in F16, then
  // (32, key_tile) bytes. Values lie as kernels/params.h has it.
  int64_t key_tile;
  int64_t block_multiple;  // what block_size is a multiple of
  CacheKernels cache;
  // But where these are not null, both lie in tiles of matrices (amx/tile_attention.h), if heads have so many
  // dimensions.
  CacheKernels tile_caches[kDTypeIds];  // by DType
  bool in_tiles(const KvLayerView& kv) const {
    return tile_caches[static_cast<int>(kv.dtype)].attention != nullptr && kv.head_dim % kTileHeadDims == 0 &&
           kv.head_dim <= kMaxTileHeadDim;
  }
  const CacheKernels& cache_of(const KvLayerView& kv) const {
    return in_tiles(kv) ? tile_caches[static_cast<int>(kv.dtype)] : cache;
  }
  // cache.attention() of parts, one at least, of the same `all`, one after the other: those of few rows as a
  // pipeline, in which the values of one chunk are read beside the keys of what comes next. Of the parts'
  // `next` the last one's counts alone, and the first one's fetched_streams. Null where an ISA has none; not
  // for a cache in tiles of matrices.
  void (*attention_pipeline)(const AttentionPart* parts, int64_t n_parts);
  int64_t fetched_query_rows;  // the most of a part for which AttentionPart::fetched_streams means something
  // p.partial: those of n_chunks chunks, in order, all that the rows see.
  void (*merge_attention)(const AttentionPart& p, int64_t n_chunks);
  void (*act_mul)(const ActMulParams& p);
  void (*add)(const AddParams& p);
  void (*quantize)(const float* x, int64_t n, int64_t k, const QuantizedRows& y);
  // For products that take XForm::kBf16; null where none does.
  void (*to_bf16)(const Bf16Params& p);
  // Likewise kBf16Parts.
  void (*split)(const SplitParams& p);
  // Likewise kF16Parts.
  void (*to_f16)(const F16Params& p);
  int64_t logit_group;
  void (*coarse_row[kDTypeIds])(const CoarseRowParams& p);  // by DType: F32, F16 and BF16
  void (*bound_logits)(const LogitBoundsParams& p);
  PanelMatmul matmul[kDTypeIds];   // by DType
  PlanesMatmul planes[kDTypeIds];  // likewise
  CompressedMatmul compressed[kDTypeIds];

  // What the machine can do at best.
  // As reference::read_all, as fast as memory gives. May ask for what lies `ahead` bytes further meanwhile;
  // where that is 0, it asks for nothing and may read several pieces side by side.
  uint64_t (*read_all)(const void* data, int64_t bytes, int64_t ahead);
  PeakLoop fp32;           // multiply-adds of float32
  PeakLoop bf16;           // dot products of bfloat16, summed in float32
  PeakLoop fp16;           // multiply-adds of float16, summed in float16; in tiles, in float32
  PeakLoop int8;           // dot products of 8-bit integers, summed in int32
  PeakLoop int8_in_int16;  // of such whose products are small, summed in int16: where that is faster
  // n * step modulo 2^64, by n additions of which each waits for the one before: a clock cycle each.
  uint64_t (*add_chain)(uint64_t step, int64_t n);
};

struct CpuIsa {
  const char* name;          // of the folder, as INFERNO_FORCE_ISA names it
  const CpuIsa* extends;     // or nullptr; what that one needs is needed, too
  const char* const* needs;  // further features, as CpuFeatures names them, up to a nullptr
  // `base` (the table of the ISA that this one extends) with what this ISA does better. nullptr where the
  // build is for another architecture or was made without it (cmake/isa.cmake). Call it only on a CPU that
  // has what the ISA needs.
  CpuKernels (*table)(CpuKernels base);
};

// Every ISA after the one that it extends, better ones later.
struct CpuIsaList {
  const CpuIsa* first;
  int64_t n;

  const CpuIsa* begin() const { return first; }
  const CpuIsa* end() const { return first + n; }
};
CpuIsaList cpu_isas();

}  // namespace inferno::kernels
