// Products that are large enough to be timed give the same bits whichever way their weights are read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/timed_choice.h"
#include "backend/cpu_isa.h"
#include "base/cpu_features.h"
#include "quantize/quantize_row.h"
#include "support/forced_isa.h"
#include "support/random.h"

namespace inferno::backend {
namespace {

constexpr int64_t kColumns = 512;

Tensor tensor(DType dtype, const void* data, int64_t rows, int64_t cols) {
  Tensor t;
  t.dtype = dtype;
  t.n_dims = 2;
  t.shape = {rows, cols};
  t.data = const_cast<void*>(data);
  return t;
}

class MatrixProductsTest : public testing::TestWithParam<const kernels::CpuIsa*> {};

TEST_P(MatrixProductsTest, EveryWayOfReadingGivesTheSameBits) {
  const test::ForcedIsa forced(GetParam()->name);
  constexpr int64_t kRows = 1043;  // neither whole panels nor as many for each thread
  test::Random random(17);
  const std::vector<float> w = random.floats(kRows * kColumns);
  constexpr int64_t kMany = 112;  // read in one way only
  const std::vector<float> x = random.floats(kMany * kColumns);
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_K, DType::kF16}) {
    const size_t stride = row_bytes(dtype, kColumns);
    std::vector<uint8_t> bytes(kRows * stride);
    for (int64_t i = 0; i < kRows; ++i)
      quantize::find_quantize(dtype)(w.data() + i * kColumns, &bytes[static_cast<size_t>(i) * stride],
                                     kColumns);
    for (const int64_t n : {int64_t{1}, int64_t{3}, int64_t{5}, int64_t{16}, kMany}) {
      std::vector<float> first;
      for (const unsigned threads : {1u, 3u, n == kMany ? 33u : 9u}) {
        const auto backend = create_backend("parallel", {.threads = threads}).value();
        const Weight weight =
            backend->load_weight(tensor(dtype, bytes.data(), kRows, kColumns), WeightUse::kMatmul).value();
        std::vector<float> y(static_cast<size_t>(n * kRows));
        for (int turn = 0; turn <= (n == kMany ? 1 : TimedChoice::kMostTries); ++turn) {
          std::fill(y.begin(), y.end(), -1.0f);
          backend->matmul({weight,
                           {},
                           tensor(DType::kF32, x.data(), n, kColumns),
                           tensor(DType::kF32, y.data(), n, kRows)});
          if (first.empty()) first = y;
          ASSERT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(float)), 0)
              << name(dtype) << ", " << n << " rows of activations, " << threads << " threads, turn " << turn;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, MatrixProductsTest, testing::ValuesIn(available_isas(cpu_features())),
                         [](const auto& tested) { return std::string(tested.param->name); });

}  // namespace
}  // namespace inferno::backend
