// AVX-512 with products of matrices in tile registers (Intel since Sapphire Rapids).
#include "kernels/cpu/amx/functions.h"
#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/kernels.h"

namespace inferno::kernels::amx {
namespace {

// Multiply-adds of two full tiles: of each of 16 x 16 sums, 64 bytes' worth.
constexpr int64_t kInt8Product = 16 * 16 * 64;
constexpr int64_t kBf16Product = 16 * 16 * 32;

constexpr int kSums = 6;

TileShapes full_tiles() {
  TileShapes shapes;
  for (int tile = 0; tile < kTileRegisters; ++tile) shapes.set(tile, 16, kTileLine);
  return shapes;
}

// Register 6 is A, 7 is B.
void load_factors(const void* ones) {
  written_for_tiles(ones);
  _tile_loadd(6, ones, 0);
  _tile_loadd(7, ones, 0);
}

// Of all sums in the registers 0 to 5, of int32 or float32; whole numbers, so exact.
template <class Sum>
int64_t total() {
  alignas(64) Sum sums[256];
  double total = 0;
  const auto add = [&] {
    for (const Sum sum : sums) total += static_cast<double>(sum);
  };
  _tile_stored(0, sums, kTileLine);
  add();
  _tile_stored(1, sums, kTileLine);
  add();
  _tile_stored(2, sums, kTileLine);
  add();
  _tile_stored(3, sums, kTileLine);
  add();
  _tile_stored(4, sums, kTileLine);
  add();
  _tile_stored(5, sums, kTileLine);
  add();
  return static_cast<int64_t>(total);
}

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

int64_t bf16_loop(int64_t rounds) {
  alignas(64) uint16_t ones[32];
  for (uint16_t& one : ones) one = 0x3f80;
  use_tiles(full_tiles());
  load_factors(ones);
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  const int64_t sum = total<float>();
  _tile_release();
  return sum;
}

}  // namespace

CpuKernels table(CpuKernels base) {
  set_simple_quants(&base);
  set_k_quants(&base);
  set_bf16_products(&base);
  base.int8 = {kSums * kInt8Product, int8_loop};
  base.bf16 = {kSums * kBf16Product, bf16_loop};
  return base;
}

}  // namespace inferno::kernels::amx
