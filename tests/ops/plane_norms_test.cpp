// What each ISA says of the rows of a head in two planes, against double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "backend/cpu_isa.h"
#include "base/cpu_features.h"
#include "kernels/reference/reference.h"
#include "support/random.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace inferno::test {
namespace {

void set_lower(BlockQ8_0& block, int lower) {
  for (int8_t& q : block.qs) q = static_cast<int8_t>((q & 0xf0) | lower);
}
void set_lower(BlockQ6_K& block, int lower) {
  for (uint8_t& q : block.ql) q = static_cast<uint8_t>((q & 0xcc) | lower << 4 | lower);
}

template <class Block>
std::vector<double> values(DType dtype, const std::vector<Block>& blocks, size_t n) {
  std::vector<float> floats(n);
  kernels::reference::dequantize(dtype, blocks.data(), floats.data(), static_cast<int64_t>(n));
  return {floats.begin(), floats.end()};
}

// The upper plane reckons with a lower number between these two.
template <class Block>
void expect_norms(DType dtype, int lower_below, int lower_above) {
  const int64_t elements = static_cast<int64_t>(traits(dtype).block_elems);
  for (const kernels::CpuIsa* isa : backend::available_isas(cpu_features())) {
    const kernels::CpuKernels cpu = backend::kernels_of(*isa);
    const kernels::PlanesMatmul& planes = cpu.planes[static_cast<size_t>(dtype)];
    if (planes.whole.rows == 0) continue;
    ASSERT_NE(planes.square_norms, nullptr) << isa->name;
    for (const int64_t n_blocks : {1, 5, 8}) {
      const int64_t k = n_blocks * elements, rows = planes.whole.rows;
      Random random(static_cast<uint64_t>(n_blocks));
      std::vector<Block> blocks(static_cast<size_t>(rows * n_blocks));
      for (Block& block : blocks) {
        uint8_t bytes[sizeof block];
        for (uint8_t& byte : bytes) byte = random.byte();
        std::memcpy(&block, bytes, sizeof block);
        block.d = f32_to_f16(static_cast<float>(random.uniform(-1, 1)));
      }
      std::vector<uint8_t> panel(static_cast<size_t>(planes.whole.panel_bytes(k)));
      planes.whole.pack(reinterpret_cast<const uint8_t*>(blocks.data()),
                        n_blocks * static_cast<int64_t>(sizeof(Block)), rows, k, panel.data());
      std::vector<float> lost(static_cast<size_t>(rows)), norm(lost.size());
      planes.square_norms(
          {panel.data(), panel.data() + planes.upper.panel_bytes(k), k, lost.data(), norm.data()});

      const auto n = static_cast<size_t>(rows * k);
      const std::vector<double> all = values(dtype, blocks, n);
      for (Block& block : blocks) set_lower(block, lower_below);
      const std::vector<double> below = values(dtype, blocks, n);
      for (Block& block : blocks) set_lower(block, lower_above);
      const std::vector<double> above = values(dtype, blocks, n);
      for (int64_t row = 0; row < rows; ++row) {
        double squares_lost = 0, squares = 0;
        for (int64_t j = row * k; j < (row + 1) * k; ++j) {
          const auto i = static_cast<size_t>(j);
          const double upper = (below[i] + above[i]) / 2;
          squares_lost += (all[i] - upper) * (all[i] - upper);
          squares += upper * upper;
        }
        const double bound = static_cast<double>(k / 16 + 4) * 0x1p-23;
        EXPECT_NEAR(lost[static_cast<size_t>(row)], squares_lost, bound * squares_lost)
            << isa->name << ", row " << row << ", k " << k;
        EXPECT_NEAR(norm[static_cast<size_t>(row)], squares, bound * squares)
            << isa->name << ", row " << row << ", k " << k;
      }
    }
  }
}

TEST(PlaneNorms, AreThoseOfTheRowsOfQ8_0) {
  expect_norms<BlockQ8_0>(DType::kQ8_0, 8, 8);
}

TEST(PlaneNorms, AreThoseOfTheRowsOfQ6_K) {
  expect_norms<BlockQ6_K>(DType::kQ6_K, 1, 2);
}

}  // namespace
}  // namespace inferno::test
