// AVX-512 with products of matrices in tile registers (Intel since Sapphire Rapids).
#include "kernels/cpu/amx/functions.h"
#include "kernels/cpu/amx/peak_loops.h"
#include "kernels/cpu/kernels.h"

namespace inferno::kernels::amx {
namespace {

int64_t int8_loop(int64_t rounds) {
  alignas(64) int8_t ones[64];
  for (int8_t& one : ones) one = 1;
  use_tiles(full_tiles());
  load_factors(ones);
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbssd(0, 6, 7);
    _tile_dpbssd(1, 6, 7);
    _tile_dpbssd(2, 6, 7);
    _tile_dpbssd(3, 6, 7);
    _tile_dpbssd(4, 6, 7);
    _tile_dpbssd(5, 6, 7);
  }
  const int64_t sum = total<int32_t>();
  _tile_release();
  return sum;
}

}  // namespace

CpuKernels table(CpuKernels base) {
  set_simple_quants(&base);
  set_k_quants(&base);
  set_bf16_products(&base);
  set_attention(&base);
  base.int8 = {kSums * kInt8Product, int8_loop};
  base.bf16 = {kSums * kPairProduct, pair_loop<PairType::kBf16, 0x3f80>};
  return base;
}

}  // namespace inferno::kernels::amx
