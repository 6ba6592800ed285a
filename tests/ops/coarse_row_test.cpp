// An LM head's rows in Q4_0, as each ISA rounds them, and what it says of them, against double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/cpu_isa.h"
#include "base/cpu_features.h"
#include "kernels/reference/reference.h"
#include "support/random.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace inferno::test {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

// A row in a type, and the values that are left of it.
struct Row {
  std::vector<uint8_t> bytes;
  std::vector<float> values;

  Row(DType dtype, const std::vector<float>& from) : values(from.size()) {
    const size_t size = row_bytes(dtype, 1);
    bytes.resize(from.size() * size);
    for (size_t i = 0; i < from.size(); ++i) {
      const uint16_t half = dtype == DType::kF16 ? f32_to_f16(from[i]) : f32_to_bf16(from[i]);
      std::memcpy(bytes.data() + i * size,
                  dtype == DType::kF32 ? static_cast<const void*>(&from[i]) : static_cast<const void*>(&half),
                  size);
    }
    kernels::reference::dequantize(dtype, bytes.data(), values.data(), static_cast<int64_t>(from.size()));
  }
};

struct Coarse {
  std::vector<BlockQ4_0> blocks;
  float lost = -1, norm = -1;

  Coarse(const kernels::CpuIsa& isa, DType dtype, const Row& row) : blocks(row.values.size() / 32 + 1) {
    blocks.back().d = 0x1234;  // a canary
    const kernels::CpuKernels cpu = backend::kernels_of(isa);
    cpu.coarse_row[static_cast<size_t>(dtype)](
        {row.bytes.data(), static_cast<int64_t>(row.values.size()), blocks.data(), &lost, &norm});
    EXPECT_EQ(blocks.back().d, 0x1234) << isa.name;
    blocks.pop_back();
  }
  std::vector<float> values() const {
    std::vector<float> floats(blocks.size() * 32);
    kernels::reference::dequantize(DType::kQ4_0, blocks.data(), floats.data(),
                                   static_cast<int64_t>(floats.size()));
    return floats;
  }
};

void expect_squares(const Coarse& coarse, const Row& row) {
  const std::vector<float> rounded = coarse.values();
  double lost = 0, norm = 0;
  for (size_t i = 0; i < rounded.size(); ++i) {
    const double value = row.values[i], off = value - rounded[i];
    lost += off * off;
    norm += value * value;
  }
  const double bound = static_cast<double>(rounded.size() + 16) * 0x1p-23;
  const double smallest = static_cast<double>(rounded.size()) * 0x1p-149;
  EXPECT_NEAR(coarse.lost, lost, bound * lost + smallest);
  EXPECT_NEAR(coarse.norm, norm, bound * norm + smallest);
}

TEST(CoarseRow, IsTheNearestThatItsScalesCanSay) {
  for (const kernels::CpuIsa* isa : backend::available_isas(cpu_features())) {
    for (const DType dtype : kTypes) {
      for (const size_t n_blocks : {1, 2, 5, 16, 19, 32}) {
        SCOPED_TRACE(std::string(isa->name) + " " + std::string(name(dtype)) + " " +
                     std::to_string(n_blocks));
        Random random(n_blocks);
        std::vector<float> floats = random.floats(n_blocks * 32);
        for (size_t i = 0; i < floats.size(); ++i) floats[i] *= static_cast<float>(1 + i / 32);
        const Row row(dtype, floats);
        const Coarse coarse(*isa, dtype, row);
        const std::vector<float> rounded = coarse.values();
        for (size_t b = 0; b < n_blocks; ++b) {
          const float d = f16_to_f32(coarse.blocks[b].d);
          const auto begin = row.values.begin() + static_cast<int64_t>(b * 32);
          const float largest = *std::max_element(
              begin, begin + 32, [](float x, float y) { return std::fabs(x) < std::fabs(y); });
          EXPECT_NEAR(std::fabs(d), std::fabs(largest) / 8, std::fabs(largest) / 8 * 0x1p-11f) << b;
          for (size_t i = b * 32; i < (b + 1) * 32; ++i) {
            const float code = rounded[i] / d, exact = row.values[i] / d;
            EXPECT_LE(std::fabs(code - std::clamp(exact, -8.0f, 7.0f)), 0.5f + 1e-5f) << i;
          }
        }
        expect_squares(coarse, row);
      }
    }
  }
}

// The largest by magnitude is -8 scales, whatever its sign and its place; of two the positive one.
TEST(CoarseRow, TakesTheSignOfTheLargest) {
  for (const kernels::CpuIsa* isa : backend::available_isas(cpu_features())) {
    for (const DType dtype : kTypes) {
      for (size_t place = 0; place < 32; ++place) {
        for (const float largest : {4.0f, -4.0f}) {
          std::vector<float> floats(32 * 16, 1.0f);
          for (size_t b = 0; b < 16; ++b) floats[b * 32 + (place + b) % 32] = b % 2 == 0 ? largest : -largest;
          const Coarse coarse(*isa, dtype, Row(dtype, floats));
          for (size_t b = 0; b < 16; ++b)
            EXPECT_EQ(f16_to_f32(coarse.blocks[b].d), (b % 2 == 0 ? largest : -largest) / -8) << isa->name;
          EXPECT_EQ(coarse.values(), floats) << isa->name;
          EXPECT_EQ(coarse.lost, 0) << isa->name;
        }
      }
      std::vector<float> both(32, 1.0f);
      both[3] = -4;
      both[20] = 4;
      EXPECT_EQ(f16_to_f32(Coarse(*isa, dtype, Row(dtype, both)).blocks[0].d), -0.5f) << isa->name;
    }
  }
}

TEST(CoarseRow, SaysWhatZerosAndTheSmallestAndLargestNumbersLack) {
  for (const kernels::CpuIsa* isa : backend::available_isas(cpu_features())) {
    for (const DType dtype : kTypes) {
      for (const double size : {0.0, 1e-44, 1e-38, 1e-30, 1e-20, 1e-7, 3e-7, 1e4, 1e5}) {
        if (dtype == DType::kF16 && size > 60000) continue;
        SCOPED_TRACE(std::string(isa->name) + " " + std::string(name(dtype)) + " " + std::to_string(size));
        const Row row(dtype, Random(3).floats(32 * 17, -size, size));
        expect_squares(Coarse(*isa, dtype, row), row);
      }
    }
  }
}

TEST(CoarseRow, SaysThatANumberIsNaNOrInfinite) {
  for (const kernels::CpuIsa* isa : backend::available_isas(cpu_features())) {
    for (const DType dtype : kTypes) {
      for (size_t place = 0; place < 32 * 17; place += 5) {
        for (const float x : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
          std::vector<float> floats(32 * 17, 1.0f);
          floats[place] = x;
          const Coarse coarse(*isa, dtype, Row(dtype, floats));
          EXPECT_FALSE(std::isfinite(coarse.lost)) << isa->name << " " << place << " " << x;
          EXPECT_FALSE(std::isfinite(coarse.norm)) << isa->name << " " << place << " " << x;
          EXPECT_TRUE(std::isnan(coarse.norm) || !std::isnan(x)) << isa->name << " " << place;
        }
      }
    }
  }
}

}  // namespace
}  // namespace inferno::test
