// Attention over a cache in float16 by products of float16: keys and values as they lie there, queries and
// weights, each the sum of two.
#include <immintrin.h>

#include "kernels/cpu/amx/tile_attention.h"
#include "kernels/cpu/amx_fp16/functions.h"

namespace inferno::kernels::amx_fp16 {
namespace {

struct F16Cache {
  using Stored = CachedF16<Avx512Vector>;
  static constexpr PairType kType = PairType::kF16;
  static constexpr int64_t kSecondParts = 1;
  static constexpr float kWeightFactor = 16384;
  static constexpr int kFewRows = 0;

  static float split_query(const float* q, int64_t head_dim, int64_t row, uint16_t* queries) {
    float scales[kTileQueryRows];
    to_f16({q, head_dim, row, 1, {queries, scales}});
    return scales[row];
  }
  static void split_weights(__m512 w0, __m512 w1, uint16_t* high, uint16_t* low) {
    store_parts(w0, high, low);
    store_parts(w1, high + 16, low + 16);
  }

 private:
  static void store_parts(__m512 weight, uint16_t* high, uint16_t* low) {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const __m256i upper = _mm512_cvtps_ph(weight, kNearest);
    const __m256i lower = _mm512_cvtps_ph(_mm512_sub_ps(weight, _mm512_cvtph_ps(upper)), kNearest);
    _mm256_store_si256(reinterpret_cast<__m256i*>(high), upper);
    _mm256_store_si256(reinterpret_cast<__m256i*>(low), lower);
  }
};

}  // namespace

void set_attention(CpuKernels* table) {
  table->tile_caches[static_cast<int>(DType::kF16)] = TileAttention<F16Cache>::kernels();
}

}  // namespace inferno::kernels::amx_fp16
