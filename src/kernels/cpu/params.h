// What the CPU's kernels take beyond kernels/params.h: weights in panels, activations in 8 bits, and parts of
// an operation, since the caller shares an operation among its threads.
#pragma once

#include <cstdint>

#include "kernels/params.h"
#include "tensor/quant_blocks.h"

namespace inferno::kernels {

// Rows of activations in blocks of 32: x = scale * q. As llama.cpp's Q8_0, but with scales in float32.
struct QuantizedRows {
  int8_t* q;     // (n, k), -127 .. 127
  float* scale;  // (n, k / 32)
  int32_t* sum;  // (n, k / 32): -128 * sum of the block's q; it takes back what weights stored as q + 128
                 // add to a dot product
  float* total;  // (n, k / 32): scale * sum of the block's q, what a minimum of weights is multiplied by
  // (n, k / 16): the same of each half block; or nullptr, where no product takes XForm::kInt8Halves
  int32_t* half;
  float* half_total;
};

// Rows of activations as sums of three bfloat16, whose products with bfloat16 are exact: x = sum of the
// parts, but that what is left of x below 2^-126 may be missing. In tiles, (ceil(n / 16), ceil(k / 32), 3
// parts, 16 rows, 32 columns), with zeros after the last column; nothing is said of rows after the last.
constexpr int64_t kSplitRows = 16;
constexpr int64_t kSplitCols = 32;
constexpr int64_t kSplitParts = 3;
// Makes these rows and columns of them.
struct SplitParams {
  const float* x;  // the first one's; rows are k floats apart
  int64_t k;
  int64_t row, n_rows;
  int64_t col, n_cols;  // col is a multiple of 32, and so is n_cols unless it ends with the row
  uint16_t* tiles;      // of all rows
};

// Rows of activations rounded to bfloat16, to the nearest and halves to even; what is below 2^-126 is 0, what
// is above its largest number infinite. bf16_stride(k) numbers each, of which those after the last column are
// zeros. Makes these rows and columns of them.
constexpr int64_t bf16_stride(int64_t k) {
  return (k + 31) / 32 * 32;
}
struct Bf16Params {
  const float* x;  // the first one's; rows are k floats apart
  int64_t k;
  int64_t row, n_rows;
  int64_t col, n_cols;
  uint16_t* rows;  // all of them
};

// What a product takes x as. kInt8Halves: weights of which 16 share a scale.
enum class XForm : uint8_t { kFloat, kInt8, kInt8Halves, kBf16, kBf16Parts, kF16Parts };

// Rows of activations in float16: x = the row's scale, a power of two, times the sum of two parts, of which
// at most 2^-22 of x is missing or 2^-39 of the row's largest (more where that is below 2^-86). In tiles,
// (ceil(n / 16), ceil(k / 32), 2 parts, 16 rows, 32 columns), with zeros after the last column; nothing is
// said of rows after the last.
struct F16Rows {
  uint16_t* tiles;
  float* scales;  // (n)
};
constexpr int64_t kF16Rows = 16;
constexpr int64_t kF16Cols = 32;
constexpr int64_t kF16Parts = 2;
// Makes these rows of them.
struct F16Params {
  const float* x;  // (n_rows, k)
  int64_t k;
  int64_t row, n_rows;
  F16Rows to;  // of all rows
};

// Up to so many rows of activations a product is as fast as memory gives the weights, which it reads as one
// stream.
constexpr int64_t kStreamedRows = 3;
// Such a product is best asked for so many bytes of weights at a time, where a thread fetches those that come
// next: fewer lie too close together to be several streams, more drop out of a cache before their turn comes.
constexpr int64_t kFetchedBytes = 96 * 1024;

// Rows of activations in a tile of those ISAs that have registers for matrices.
constexpr int64_t kMatrixTileRows = 16;

// y[r, i] = sum over j of w[i, j] * x[r, j] (+ bias[i]) for the weight rows of some panels. Sums go through j
// in blocks of 32, in order, whatever n and the panels asked for are.
struct PanelMatmulParams {
  const uint8_t* panels;    // (ceil(m / panel rows), panel_bytes(k)); 64-byte aligned
  const float* bias;        // (m) or nullptr
  const float* x;           // (n, k): read by products that take XForm::kFloat
  QuantizedRows quantized;  // by those that take kInt8 or kInt8Halves
  const uint16_t* bf16;     // as Bf16Params has it: by those that take kBf16
  const uint16_t* split;    // as SplitParams has it: by those that take kBf16Parts
  F16Rows f16;              // by those that take kF16Parts
  float* y;                 // (n, m); what lies there meanwhile may be parts of sums
  int64_t n, m, k;
  int64_t panel_begin, panel_end;
  uint8_t* scratch;  // scratch_bytes(k) bytes of this thread alone; 64-byte aligned
  // Panels that this thread is likely to multiply next, or nullptr: they are fetched meanwhile
  // (loops/fetcher.h). With up to kStreamedRows rows of activations so many bytes of them, a kFetchedBytes or
  // so, and what is in the panels asked for themselves is taken to be fetched already; with more rows the
  // next panels asked for and then the first of these; all of them where they share what is prepared of the
  // rows (PanelMatmul::turn_panels). Of weights in two planes where one of the same matrix has its upper
  // part, and bytes of that.
  const uint8_t* next = nullptr;
  int64_t next_bytes = 0;
  // Or two runs of panels side by side, each a stream through memory that is asked for a little ahead
  // or not (runs_ask_ahead): besides those above the ones run_step further, as far as they lie before
  // run_end. Only where PanelMatmul::takes_two_runs(n); `next` is nullptr then. 0: one run.
  int64_t run_step = 0, run_end = 0;
  // Whether two runs ask for what lies ahead. With up to kStreamedRows rows they need not: the processor may
  // foresee as much by itself.
  bool runs_ask_ahead = true;
  // Whether `scratch` is as the same multiply() has left it, for the same rows of activations: what it has
  // prepared of them is still there.
  bool scratch_is_kept = false;
};

constexpr int kDTypeIds = 40;  // above every DType

// How weights lie in the panels of all ISAs. Whoever changes what a `pack` writes, or in which panels an
// ISA keeps a type, raises it, since panels are kept in files (backend/repack_cache.h);
// tests/ops/panel_layout_test.cpp notices who forgets.
constexpr int kPanelLayoutVersion = 7;

// Rows of activations, from `fewest` to `most`, that are multiplied by one panel at a time, in one run;
// `next` says nothing to them. most == 0: none.
struct WideRows {
  int64_t fewest = 1, most = 0;

  constexpr bool includes(int64_t n) const { return fewest <= n && n <= most; }
};

// How an ISA multiplies with weights of one type: in panels of several rows side by side, so that each lane
// of a vector is an output. The layout is the ISA's own.
struct PanelMatmul {
  int64_t rows = 0;  // of a panel; 0: the type is left to kernels/reference
  XForm x_form = XForm::kFloat;
  int64_t (*panel_bytes)(int64_t k) = nullptr;    // a multiple of 64
  int64_t (*scratch_bytes)(int64_t k) = nullptr;  // may be 0
  // One panel of n_rows rows of weights as they lie in a file, `stride` bytes apart; rows that are missing
  // are zeros.
  void (*pack)(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) = nullptr;
  void (*multiply)(const PanelMatmulParams& p) = nullptr;
  // Of 8-bit activations, or nullptr: the same, bit for bit, but faster, where n is a multiple of
  // kMatrixTileRows. For no other n.
  void (*multiply_tiles)(const PanelMatmulParams& p) = nullptr;
  // Up to so many rows of activations, unless they are wide, it takes two runs of panels:
  // PanelMatmulParams::run_step. 0: never.
  int64_t two_run_rows = 0;
  WideRows wide_rows;
  bool takes_two_runs(int64_t n) const { return n <= two_run_rows && !wide_rows.includes(n); }
  // From shared_rows rows of activations on it prepares them for all panels of a call, which pays from
  // turn_panels / 2 on; turn_panels, if there are enough for every thread, are better. 0: it does not.
  int64_t shared_rows = 0, turn_panels = 0;
};

// How an ISA multiplies with weights of one type that lie in fewer bytes than in the file, without loss.
// product.rows == 0: not at all.
struct CompressedMatmul {
  int64_t bits = 0;  // a weight
  // Its sums may have another order than those of the type's other panels: one that depends on k and the
  // weights alone. It has no pack().
  PanelMatmul product;
  // As PanelMatmul::pack. False where a panel's weights do not fit; nothing is said of the panel then.
  bool (*pack)(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) = nullptr;
};

// Of each row of a panel in two planes, sums of squares, of which each float32 operation may have lost half a
// unit in the last place, two for every 16 of the k elements: of what the upper plane lacks of the weights,
// and of the weights that it holds.
struct PlaneNormsParams {
  const uint8_t* upper;  // the panel's part of either plane
  const uint8_t* lower;
  int64_t k;
  float* lost;  // (panel rows)
  float* norm;  // (panel rows)
};

// How an ISA multiplies with weights of one type in two planes: the upper bits of all panels, one after the
// other, and then the bits below. whole.rows == 0: not at all.
struct PlanesMatmul {
  // With the same bits as the product with the type's other panels. panel_bytes() and pack() are of a panel's
  // part of either plane, of which the upper one has upper.panel_bytes(); PanelMatmulParams::next points into
  // that.
  PanelMatmul whole;
  // Of the upper plane alone, as if what is below were in the middle of what it can be. It has no pack().
  PanelMatmul upper;
  void (*square_norms)(const PlaneNormsParams& p) = nullptr;
};

// A row of an LM head in Q4_0, each weight rounded to the nearest multiple of its block's scale. And sums of
// squares, of which each float32 operation may have lost half a unit in the last place: two for each of the k
// elements and one for each lane of a vector; of squares below 2^-126 up to 2^-149 each.
struct CoarseRowParams {
  const uint8_t* w;   // (k) of a type in floating point
  int64_t k;          // a multiple of 32
  BlockQ4_0* blocks;  // (k / 32)
  // Of what the blocks lack of the weights, and of the weights. NaN where a weight is; NaN or infinite where
  // one is infinite.
  float* lost;
  float* norm;
};

// Of each group of an LM head's rows, CpuKernels::logit_group of them, the last one maybe fewer:
//   coarse = max logits[i],  most = max (logits[i] + lost[i] * length + norm[i] * off)
// and infinity where one of them is a NaN. -inf takes the logits' place.
struct LogitBoundsParams {
  float* logits;      // (n)
  const float* lost;  // (n)
  const float* norm;  // (n)
  float length, off;
  int64_t n;
  float* coarse;  // (ceil(n / logit_group))
  float* most;    // likewise
};

// Some of the work of attention: of one sequence and one KV head, some query rows. A query row is a (query,
// head) pair of the heads that share the KV head: number i is query i / heads_per_kv_head, head i %
// heads_per_kv_head of them.
constexpr int64_t kMaxQueryRows = 96;
// Of a cache that lies in tiles of matrices: the most rows of a part, what head_dim is a multiple of and the
// most that it is, and what the positions of a block are a multiple of.
constexpr int64_t kTileQueryRows = 64;
constexpr int64_t kTileHeadDims = 32;
constexpr int64_t kMaxTileHeadDim = 256;
constexpr int64_t kTileBlockMultiple = 64;
struct AttentionPart {
  AttentionParams all;
  int64_t seq, kv_head;
  int64_t row_begin, row_end;  // at most CacheKernels::query_rows
  // A part may be cut into its chunks of positions: then it leaves here what chunk number `chunk` comes to,
  // for each row (head_dim + 2): the weighted sum of its values, its largest score and the sum of its
  // weights. What merge_attention() makes of them has the same bits as y without.
  float* partial = nullptr;
  int64_t chunk = 0;
  // What this thread is likely to do next, or nullptr: what it begins with may be fetched meanwhile.
  const AttentionPart* next = nullptr;
  bool is_fetched = false;  // whether it is likely to have been the `next` of what this thread did before
  // In how many streams side by side keys and values of few rows are fetched ahead; 0: what comes is left to
  // the processor to foresee. A pipeline, which has two, fetches in any number.
  int fetched_streams = 0;
};

}  // namespace inferno::kernels
