// The eight tile registers of AMX: matrices of up to 16 rows of 64 bytes (Intel SDM volume 1, chapter 18). A
// product adds to tile C (rows of 16 int32 or float32) what A (as many rows, of activations) times B (of
// weights) comes to. A row of B is 16 groups of 4 bytes, one for each column of C: four int8, two bfloat16 or
// two float16, which stand below each other in the matrix.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace inferno::kernels {
namespace {

constexpr int kTileRegisters = 8;
constexpr int64_t kTileLine = 64;  // bytes of a full row

// What has been written there is in memory when tiles are loaded from it: g++ 12 does not know that its
// intrinsics read.
inline void written_for_tiles(const void* memory) {
  asm volatile("" : : "r"(memory) : "memory");
}

// How many rows of how many bytes each register has.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void set(int tile, int64_t n_rows, int64_t bytes) {
    rows[tile] = static_cast<uint8_t>(n_rows);
    row_bytes[tile] = static_cast<uint16_t>(bytes);
  }
};
static_assert(sizeof(TileShapes) == 64);

// The registers are this thread's from here on, all zeros, until _tile_release(): a thread that leaves them
// in use pays for 8 KB more at each switch of threads. (No class with a destructor: its objects would name
// the C++ runtime, weakly, which tools/check_isa_symbols.py forbids.)
inline void use_tiles(const TileShapes& shapes) {
  written_for_tiles(&shapes);
  _tile_loadconfig(&shapes);
  written_for_tiles(&shapes);  // nor may anything else take its place before
}

// Tile C += A times B, of pairs of 16-bit numbers: TDPBF16PS, or TDPFP16PS for kF16 (Intel SDM volume 2).
// Sums that are subnormal are zeros, and so are subnormal bfloat16; subnormal float16 count. By its bytes,
// since g++ 12 wants its intrinsics' registers as literals and does not know the second.
enum class PairType { kBf16 = 2, kF16 = 3 };
template <PairType kType, int kC, int kA, int kB>
[[gnu::always_inline]] inline void add_pair_products() {
  constexpr int kThirdByte = (~kB & 15) << 3 | static_cast<int>(kType);
  constexpr int kLastByte = 0xc0 | kC << 3 | kA;
  asm volatile(".byte 0xc4, 0xe2, %c0, 0x5c, %c1" : : "i"(kThirdByte), "i"(kLastByte));
}

}  // namespace
}  // namespace inferno::kernels
