// What loops have in common that multiply tiles as fast as can be.
#pragma once

#include "kernels/cpu/amx/tiles.h"

namespace inferno::kernels {
namespace {

// Multiply-adds of two full tiles: of each of 16 x 16 sums, 64 bytes' worth.
constexpr int64_t kInt8Product = 16 * 16 * 64;
constexpr int64_t kPairProduct = 16 * 16 * 32;

constexpr int kSums = 6;

inline TileShapes full_tiles() {
  TileShapes shapes;
  for (int tile = 0; tile < kTileRegisters; ++tile) shapes.set(tile, 16, kTileLine);
  return shapes;
}

// Register 6 is A, 7 is B.
inline void load_factors(const void* ones) {
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

// Of numbers of 16 bits, of which kOne is 1.
template <PairType kType, uint16_t kOne>
int64_t pair_loop(int64_t rounds) {
  alignas(64) uint16_t ones[32];
  for (uint16_t& one : ones) one = kOne;
  use_tiles(full_tiles());
  load_factors(ones);
  for (int64_t i = 0; i < rounds; ++i) {
    add_pair_products<kType, 0, 6, 7>();
    add_pair_products<kType, 1, 6, 7>();
    add_pair_products<kType, 2, 6, 7>();
    add_pair_products<kType, 3, 6, 7>();
    add_pair_products<kType, 4, 6, 7>();
    add_pair_products<kType, 5, 6, 7>();
  }
  const int64_t sum = total<float>();
  _tile_release();
  return sum;
}

}  // namespace
}  // namespace inferno::kernels
