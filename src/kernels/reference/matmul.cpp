#include <algorithm>

#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {
namespace {

constexpr int64_t kLanes = 8;     // weight rows at a time: one lane of the panel each
constexpr int64_t kTileRows = 8;  // activation rows that share a dequantized panel
constexpr int64_t kChunk = 256;   // elements of k at a time: a whole number of blocks of every format

struct WeightRows {
  const uint8_t* first;
  int64_t count;  // <= kLanes
  int64_t bytes;  // of one row
};

// panel[k][lane] = element k of row lane; lanes without a row are zero.
void load_panel(DequantizeFn dequantize_run, const WeightRows& rows, int64_t byte_offset, int64_t n,
                float (*panel)[kLanes]) {
  float row[kChunk];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    if (lane < rows.count) {
      dequantize_run(rows.first + lane * rows.bytes + byte_offset, row, n);
      for (int64_t k = 0; k < n; ++k) panel[k][lane] = row[k];
    } else {
      for (int64_t k = 0; k < n; ++k) panel[k][lane] = 0.0f;
    }
  }
}

// sums[lane] += panel[k][lane] * x[k], k in order. The lanes are outputs, so their number changes no result.
void accumulate(const float (*panel)[kLanes], const float* x, int64_t n, float* sums) {
  float local[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) local[lane] = sums[lane];
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t lane = 0; lane < kLanes; ++lane) local[lane] += panel[k][lane] * x[k];
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] = local[lane];
}

}  // namespace

void matmul(const MatmulParams& p) {
  const DequantizeFn dequantize_run = find_dequantize(p.dtype);
  const int64_t bytes_per_row = static_cast<int64_t>(row_bytes(p.dtype, static_cast<size_t>(p.k)));
  const int64_t bytes_per_chunk = static_cast<int64_t>(row_bytes(p.dtype, kChunk));
  for (int64_t m0 = 0; m0 < p.m; m0 += kLanes) {
    const WeightRows rows = {static_cast<const uint8_t*>(p.w) + m0 * bytes_per_row,
                             std::min(kLanes, p.m - m0), bytes_per_row};
    for (int64_t n0 = 0; n0 < p.n; n0 += kTileRows) {
      const int64_t n_rows = std::min(kTileRows, p.n - n0);
      float sums[kTileRows][kLanes] = {};
      for (int64_t k0 = 0; k0 < p.k; k0 += kChunk) {
        const int64_t n_k = std::min(kChunk, p.k - k0);
        float panel[kChunk][kLanes];
        load_panel(dequantize_run, rows, k0 / kChunk * bytes_per_chunk, n_k, panel);
        for (int64_t r = 0; r < n_rows; ++r) accumulate(panel, p.x + (n0 + r) * p.k + k0, n_k, sums[r]);
      }
      for (int64_t r = 0; r < n_rows; ++r) {
        for (int64_t lane = 0; lane < rows.count; ++lane) {
          const float bias = p.bias == nullptr ? 0.0f : p.bias[m0 + lane];
          p.y[(n0 + r) * p.m + m0 + lane] = sums[r][lane] + bias;
        }
      }
    }
  }
}

}  // namespace inferno::kernels::reference
