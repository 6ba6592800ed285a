// The loops that measure the machine's ceilings do what they are counted for, and what has no reference does
// what its comment says, on every ISA that is here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu_isa.h"
#include "base/cpu_features.h"
#include "kernels/cpu/kernels.h"
#include "kernels/reference/reference.h"
#include "support/canary.h"
#include "support/random.h"
#include "tensor/half.h"

namespace inferno::test {
namespace {

using kernels::CpuIsa;
using kernels::CpuKernels;
using kernels::PeakLoop;

// A peak loop of one ISA's own.
struct NamedLoop {
  std::string name;
  PeakLoop loop;
};

std::vector<NamedLoop> peak_loops() {
  std::vector<NamedLoop> loops;
  for (const CpuIsa* isa : backend::available_isas(cpu_features())) {
    const CpuKernels own = isa->table({});
    for (const auto& [arithmetic, loop] :
         {std::pair("fp32", own.fp32), std::pair("bf16", own.bf16), std::pair("fp16", own.fp16),
          std::pair("int8", own.int8), std::pair("int8_in_int16", own.int8_in_int16)}) {
      if (loop.run != nullptr) loops.push_back({std::string(isa->name) + "_" + arithmetic, loop});
    }
  }
  return loops;
}

class PeakLoopTest : public testing::TestWithParam<NamedLoop> {};

// Every product is 1 * 1: the sums are the number of multiply-adds, lane by lane.
TEST_P(PeakLoopTest, DoesTheWorkThatItCounts) {
  const PeakLoop& loop = GetParam().loop;
  EXPECT_GT(loop.multiply_adds, 0);
  for (const int64_t rounds : {0, 1, 2, 7, 999, 1000}) {
    EXPECT_EQ(loop.run(rounds), rounds * loop.multiply_adds) << rounds;
  }
}

INSTANTIATE_TEST_SUITE_P(On, PeakLoopTest, testing::ValuesIn(peak_loops()),
                         [](const testing::TestParamInfo<NamedLoop>& tested) { return tested.param.name; });

// What is not here is not tested, and the summary of a test run is to say so.
TEST(CpuIsas, ThoseOfThisBuildAreHere) {
  const std::vector<const CpuIsa*> here = backend::available_isas(cpu_features());
  std::string missing;
  for (const CpuIsa& isa : kernels::cpu_isas()) {
    if (isa.table != nullptr && std::find(here.begin(), here.end(), &isa) == here.end())
      missing += std::string(" ") + isa.name;
  }
  if (!missing.empty()) GTEST_SKIP() << "not tested, as this CPU lacks them:" << missing;
}

class CpuKernelsTest : public testing::TestWithParam<const CpuIsa*> {
 protected:
  CpuKernels kernels() const { return backend::kernels_of(*GetParam()); }
};

// Every array of some blocks of rows in 8 bits.
struct Quantized {
  explicit Quantized(int64_t n_blocks)
      : q(n_blocks * 32),
        scale(n_blocks),
        sum(n_blocks),
        half(n_blocks * 2),
        total(n_blocks),
        half_total(n_blocks * 2) {}
  kernels::QuantizedRows rows(int64_t block = 0) {
    return {q.data() + block * 32, scale.data() + block,    sum.data() + block,
            total.data() + block,  half.data() + block * 2, half_total.data() + block * 2};
  }
  Guarded<int8_t> q;
  Guarded<float> scale;
  Guarded<int32_t> sum, half;
  Guarded<float> total, half_total;
};

// As many blocks as a vector has lanes are quantized side by side.
TEST_P(CpuKernelsTest, BlocksAreQuantizedTogetherAsEachAlone) {
  const CpuKernels cpu = kernels();
  constexpr int64_t kBlocks = 53;  // three vectors of the widest and some left over
  Random random(1);
  std::vector<float> x = random.floats(kBlocks * 32, -5.0, 5.0);
  std::fill_n(x.begin() + 3 * 32, 32, 0.0f);
  std::fill_n(x.begin() + 5 * 32, 32, 9e-37f);  // too small for a scale
  x[7 * 32 + 31] = -1e30f;
  x[9 * 32 + 4] = std::numeric_limits<float>::quiet_NaN();
  x[11 * 32 + 17] = -std::numeric_limits<float>::infinity();
  std::fill_n(x.begin() + 20 * 32, 32, 0.0f);
  x[27 * 32 + 3] = std::numeric_limits<float>::infinity();
  x[40 * 32 + 31] = std::numeric_limits<float>::quiet_NaN();
  x[52 * 32 + 9] = std::numeric_limits<float>::quiet_NaN();  // in a block that is left over
  Quantized together(kBlocks);
  Quantized alone(kBlocks);
  cpu.quantize(x.data(), 1, kBlocks * 32, together.rows());
  for (int64_t block = 0; block < kBlocks; ++block)
    cpu.quantize(x.data() + block * 32, 1, 32, alone.rows(block));
  for (Quantized* y : {&together, &alone}) {
    y->q.expect_canaries_alive();
    y->scale.expect_canaries_alive();
    y->sum.expect_canaries_alive();
    y->half.expect_canaries_alive();
    y->total.expect_canaries_alive();
    y->half_total.expect_canaries_alive();
  }
  EXPECT_EQ(together.q.values(), alone.q.values());
  EXPECT_EQ(together.sum.values(), alone.sum.values());
  EXPECT_EQ(together.half.values(), alone.half.values());
  EXPECT_TRUE(same_bits(together.scale.values(), alone.scale.values()));
  EXPECT_TRUE(same_bits(together.total.values(), alone.total.values()));
  EXPECT_TRUE(same_bits(together.half_total.values(), alone.half_total.values()));

  // Without halves the rest is the same.
  Quantized whole(kBlocks);
  kernels::QuantizedRows rows = whole.rows();
  rows.half = nullptr;
  rows.half_total = nullptr;
  cpu.quantize(x.data(), 1, kBlocks * 32, rows);
  EXPECT_EQ(whole.q.values(), together.q.values());
  EXPECT_EQ(whole.sum.values(), together.sum.values());
  EXPECT_TRUE(same_bits(whole.scale.values(), together.scale.values()));
  EXPECT_TRUE(same_bits(whole.total.values(), together.total.values()));

  for (int64_t block = 0; block < kBlocks; ++block) {
    const float* first = x.data() + block * 32;
    if (std::any_of(first, first + 32, [](float value) { return !std::isfinite(value); })) {
      EXPECT_FALSE(std::isfinite(together.scale.data()[block])) << block;
      continue;
    }
    float largest = 0.0f;
    for (int64_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(first[i]));
    const bool is_zero = largest < 1e-36f;
    EXPECT_EQ(together.scale.data()[block], is_zero ? 0.0f : largest / 127.0f) << block;
    int32_t sums[2] = {0, 0};
    for (int64_t i = 0; i < 32; ++i) {
      const int32_t q = together.q.data()[block * 32 + i];
      EXPECT_NEAR(q, is_zero ? 0.0 : static_cast<double>(first[i]) * 127.0 / largest, 0.50001) << block;
      sums[i / 16] += q;
    }
    EXPECT_EQ(together.sum.data()[block], -128 * (sums[0] + sums[1])) << block;
    EXPECT_EQ(together.total.data()[block],
              together.scale.data()[block] * static_cast<float>(sums[0] + sums[1]))
        << block;
    for (int64_t h = 0; h < 2; ++h) {
      EXPECT_EQ(together.half.data()[block * 2 + h], -128 * sums[h]) << block;
      EXPECT_EQ(together.half_total.data()[block * 2 + h],
                together.scale.data()[block] * static_cast<float>(sums[h]))
          << block;
    }
  }
}

TEST_P(CpuKernelsTest, PartsOfBf16SumUpToTheirNumber) {
  const CpuKernels cpu = kernels();
  if (cpu.split == nullptr) return;
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f,        -0.0f,       1.0f,
                          -3.1415927f, 16777215.0f, std::numeric_limits<float>::max(),
                          infinity,    -infinity,   std::nanf("")};
  Random random(5);
  while (x.size() < 77 * 18) x.push_back(static_cast<float>(random.uniform(-1e3, 1e3)));
  // 18 rows of 77: two tiles of 16 rows, three of 32 columns.
  constexpr int64_t kRows = 18, kCols = 77, kPaddedCols = 96;
  Guarded<uint16_t> tiles(2 * 3 * 3 * 16 * 32);
  cpu.split({x.data(), kCols, 0, 17, 0, kCols, tiles.data()});
  cpu.split({x.data() + 17 * kCols + 32, kCols, 17, 1, 32, kCols - 32, tiles.data()});  // a row in two pieces
  cpu.split({x.data() + 17 * kCols, kCols, 17, 1, 0, 32, tiles.data()});
  tiles.expect_canaries_alive();
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t j = 0; j < kPaddedCols; ++j) {
      double sum = 0.0;
      for (int64_t part = 0; part < 3; ++part) {
        const int64_t tile = (r / 16 * 3 + j / 32) * 3 + part;
        sum += static_cast<double>(bf16_to_f32(tiles.data()[(tile * 16 + r % 16) * 32 + j % 32]));
      }
      const double number = j < kCols ? static_cast<double>(x[static_cast<size_t>(r * kCols + j)]) : 0.0;
      if (std::isnan(number)) {
        EXPECT_TRUE(std::isnan(sum));
      } else {
        EXPECT_EQ(sum, number) << r << ", " << j;
      }
    }
  }
}

TEST_P(CpuKernelsTest, ReadAllReadsEveryByteAsTheReferenceDoes) {
  Random random(11);
  std::vector<uint8_t> data(5000);
  for (uint8_t& byte : data) byte = random.byte();
  for (const size_t begin : {0, 1, 3}) {
    for (size_t bytes = 0; begin + bytes <= data.size(); bytes += bytes < 1100 ? 1 : 97) {
      // An exact copy, so that a read behind the end is one behind an allocation.
      const auto first = data.begin() + static_cast<std::ptrdiff_t>(begin);
      const std::vector<uint8_t> exact(first, first + static_cast<std::ptrdiff_t>(bytes));
      const auto n = static_cast<int64_t>(bytes);
      for (const int64_t ahead : {0, 1088}) {
        ASSERT_EQ(kernels().read_all(exact.data(), n, ahead), kernels::reference::read_all(exact.data(), n))
            << bytes;
      }
    }
  }
}

TEST_P(CpuKernelsTest, AddChainMakesEveryAddition) {
  EXPECT_EQ(kernels().add_chain(3, 0), 0u);
  EXPECT_EQ(kernels().add_chain(3, 1001), 3003u);
  EXPECT_EQ(kernels().add_chain(uint64_t{1} << 63, 3), uint64_t{1} << 63);
}

TEST_P(CpuKernelsTest, BoundLogitsGroupByGroup) {
  const CpuKernels cpu = kernels();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const int64_t n : {1, 3, 4, 15, 16, 17, 100, 128}) {
    Random random(static_cast<uint64_t>(n));
    const std::vector<float> logits = random.floats(n, -20.0, 20.0);
    const std::vector<float> lost = random.floats(n, 0.0, 1.0), norm = random.floats(n, 0.0, 10.0);
    const int64_t n_groups = (n + cpu.logit_group - 1) / cpu.logit_group;
    for (const bool spoilt : {false, true}) {
      Guarded<float> in_place(logits);
      if (spoilt) in_place.data()[n - 1] = NAN;
      Guarded<float> coarse(n_groups), most(n_groups);
      cpu.bound_logits(
          {in_place.data(), lost.data(), norm.data(), 3.0f, 0.01f, n, coarse.data(), most.data()});
      for (Guarded<float>* written : {&in_place, &coarse, &most}) written->expect_canaries_alive();
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(in_place.data()[i], -kInfinity);
      for (int64_t group = 0; group < n_groups; ++group) {
        float highest = -kInfinity;
        double at_most = -kInfinity;
        const int64_t end = std::min(n, (group + 1) * cpu.logit_group);
        for (auto i = static_cast<size_t>(group * cpu.logit_group); i < static_cast<size_t>(end); ++i) {
          highest = std::max(highest, logits[i]);
          at_most = std::max(at_most, static_cast<double>(logits[i]) + 3.0 * lost[i] + 0.01 * norm[i]);
        }
        const bool has_nan = spoilt && end == n;
        EXPECT_EQ(coarse.data()[group], has_nan ? kInfinity : highest);
        if (has_nan) {
          EXPECT_EQ(most.data()[group], kInfinity);
        } else {
          EXPECT_NEAR(most.data()[group], at_most, 1e-5);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, CpuKernelsTest, testing::ValuesIn(backend::available_isas(cpu_features())),
                         [](const testing::TestParamInfo<const CpuIsa*>& tested) {
                           return std::string(tested.param->name);
                         });

}  // namespace
}  // namespace inferno::test
