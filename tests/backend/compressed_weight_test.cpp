// Weights that fit lie in fewer bytes than in the file; others as they always did.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "backend/backend.h"
#include "backend/cost.h"
#include "backend/cpu_isa.h"
#include "support/random.h"
#include "tensor/half.h"

namespace inferno::backend {
namespace {

constexpr int64_t kHeight = 80, kWidth = 256;

Tensor tensor(const std::vector<uint16_t>& values) {
  Tensor t;
  t.dtype = DType::kBF16;
  t.n_dims = 2;
  t.shape = {kHeight, kWidth};
  t.data = const_cast<uint16_t*>(values.data());
  return t;
}

Weight load(const std::vector<uint16_t>& values, WeightUse use = WeightUse::kMatmul) {
  return create_backend("parallel", {.threads = 3}).value()->load_weight(tensor(values), use).value();
}

TEST(CompressedWeight, IsCountedAsItIsRead) {
  const bool compresses =
      kernels_of(*chosen_isa().value()).compressed[static_cast<size_t>(DType::kBF16)].product.rows != 0;
  std::vector<uint16_t> values;
  for (const float x : test::Random(1).floats(kHeight * kWidth)) values.push_back(f32_to_bf16(x));
  constexpr size_t kBytes = kHeight * kWidth * 2;
  for (const WeightUse use : {WeightUse::kMatmul, WeightUse::kHead, WeightUse::kEmbeddingAndHead}) {
    const Weight weight = load(values, use);
    EXPECT_EQ(weight.bytes(), kBytes);
    EXPECT_EQ(weight.read_bytes(), compresses ? kBytes * 3 / 4 : kBytes);
    const metrics::Cost cost = product_cost(weight, 2);
    EXPECT_EQ(cost.weight_bytes, weight.read_bytes());
    EXPECT_EQ(cost.weight_bytes + cost.spared_bytes, kBytes);
    EXPECT_EQ(cost.as_in_file().weight_bytes, kBytes);
    EXPECT_EQ(cost.as_in_file().spared_bytes, 0u);
  }
  EXPECT_EQ(load(values, WeightUse::kEmbedding).read_bytes(), kBytes) << "it is only looked up";
  // Of all sizes: no table has them, whichever panel has the first that does not fit.
  test::Random random(2);
  for (int64_t i = 70 * kWidth; i < kHeight * kWidth; ++i)
    values[static_cast<size_t>(i)] = static_cast<uint16_t>(random.bits() & 0xbfff);
  EXPECT_EQ(load(values).read_bytes(), kBytes);
}

// Whoever copies rows for it is told when they are copied again, and has them whole once after that.
TEST(CompressedWeight, BeginsAgainWhereItDoesNotFit) {
  const bool compresses =
      kernels_of(*chosen_isa().value()).compressed[static_cast<size_t>(DType::kBF16)].product.rows != 0;
  test::Random random(3);
  std::vector<uint16_t> values(kHeight * kWidth);
  for (uint16_t& value : values) value = static_cast<uint16_t>(random.bits() & 0xbfff);
  WeightSource source = tensor(values);
  std::atomic<int64_t> n_copied = 0, n_begun_again = 0;
  source.copy_rows = [&](int64_t first, int64_t n, std::byte* to) -> Status {
    n_copied += n;
    std::memcpy(to, values.data() + first * kWidth, static_cast<size_t>(n * kWidth * 2));
    return {};
  };
  source.start_over = [&] {
    n_copied = 0;
    ++n_begun_again;
  };
  const auto backend = create_backend("parallel", {.threads = 3}).value();
  const Weight weight = backend->load_weight(source, WeightUse::kMatmul).value();
  EXPECT_EQ(n_begun_again, compresses ? 1 : 0);
  EXPECT_EQ(n_copied, kHeight);
  EXPECT_EQ(weight.read_bytes(), weight.bytes());
  // The memory of the first attempt was given back as it was: what comes next is whole.
  for (uint16_t& value : values) value = f32_to_bf16(static_cast<float>(random.uniform(-1, 1)));
  EXPECT_EQ(backend->load_weight(source, WeightUse::kMatmul).value().read_bytes(),
            compresses ? weight.bytes() * 3 / 4 : weight.bytes());
  EXPECT_EQ(n_begun_again, compresses ? 1 : 0);
}

}  // namespace
}  // namespace inferno::backend
