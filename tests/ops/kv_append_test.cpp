#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ops/format_oracle.h"
#include "ops/op_case.h"
#include "support/canary.h"

namespace inferno::test {
namespace {

using kernels::KvLayerView;

// The nearest binary16, ties to even, as a value.
double nearest_f16(double x) {
  if (x == 0.0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), -14);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, 10 - exponent)), exponent - 10);
  return std::abs(rounded) >= 65536.0 ? std::copysign(INFINITY, x) : rounded;
}

double stored(DType dtype, const uint8_t* cache, int64_t element) {
  return dtype == DType::kF16 ? f16_at(cache + 2 * element, 0) : plain_at<float>(cache + 4 * element);
}

class KvAppendTest : public OpTest {};

TEST_P(KvAppendTest, RowsGoToTheirSlotsAndNowhereElse) {
  constexpr int64_t kHeads = 3;
  constexpr int64_t kHeadDim = 10;
  constexpr int64_t kSlots = 80;
  const std::vector<int64_t> slots = {7, 0, 39, 16, 15, 8};
  const int64_t n = static_cast<int64_t>(slots.size());
  const int64_t row = kHeads * kHeadDim;
  Random random(7);
  const std::vector<float> k = random.floats(n * row, -100.0, 100.0);
  const std::vector<float> v = random.floats(n * row, -0.01, 0.01);
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    for (const int64_t block_size : {1, 5, 8, 16, 40, 80}) {
      if (block_size % ops().key_tile != 0) continue;
      SCOPED_TRACE(std::string(name(dtype)) + " block_size=" + std::to_string(block_size));
      const int64_t bytes = static_cast<int64_t>(row_bytes(dtype, kSlots * kHeads * kHeadDim));
      Guarded<uint8_t> k_cache(bytes);
      Guarded<uint8_t> v_cache(bytes);
      const KvLayerView kv = {k_cache.data(), v_cache.data(), dtype, block_size, kHeads, kHeadDim};
      ops().kv_append({k.data(), v.data(), kv, slots.data(), n});
      k_cache.expect_canaries_alive();
      v_cache.expect_canaries_alive();

      std::vector<double> expected_k(static_cast<size_t>(kSlots * row), NAN);
      std::vector<double> expected_v = expected_k;
      for (int64_t i = 0; i < n * row; ++i) {
        const int64_t slot = slots[static_cast<size_t>(i / row)];
        const int64_t head = i % row / kHeadDim;
        const int64_t base = (slot / block_size * kHeads + head) * block_size * kHeadDim;
        const auto k_at =
            static_cast<size_t>(base + ops().key_offset(slot % block_size, i % kHeadDim, kHeadDim));
        const auto v_at = static_cast<size_t>(base + slot % block_size * kHeadDim + i % kHeadDim);
        const double k_value = k[static_cast<size_t>(i)];
        const double v_value = v[static_cast<size_t>(i)];
        expected_k[k_at] = dtype == DType::kF16 ? nearest_f16(k_value) : k_value;
        expected_v[v_at] = dtype == DType::kF16 ? nearest_f16(v_value) : v_value;
      }
      for (size_t at = 0; at < expected_k.size(); ++at) {
        const auto expect_stored = [&](const std::vector<double>& expected, const uint8_t* cache) {
          const double found = stored(dtype, cache, static_cast<int64_t>(at));
          if (std::isnan(expected[at])) {
            ASSERT_TRUE(std::isnan(found)) << "element " << at << " is in no slot";
          } else {
            ASSERT_EQ(found, expected[at]) << at;
          }
        };
        expect_stored(expected_k, k_cache.data());
        expect_stored(expected_v, v_cache.data());
      }
    }
  }
}

TEST_P(KvAppendTest, RoundsToNearestEvenHalf) {
  // Ties, the border of the subnormals, of zero and of infinity; then random values of every size.
  constexpr std::array kSpecials = {
      0.0f,     -0.0f,      0x1.002p0f, 0x1.006p0f, -0x1.002p0f, 0x1p-14f,     0x1p-24f,
      0x1p-25f, 0x1.8p-25f, 0x1p-26f,   65504.0f,   65519.0f,    65520.0f,     -65520.0f,
      INFINITY, -INFINITY,  0x1p-149f,  1e38f,      0x1.8p-24f,  0x1.ffep-15f, 0x1.ffffep-15f};
  Random random(8);
  std::vector<float> x(4000);
  for (float& value : x) {
    value =
        static_cast<float>(std::ldexp(random.uniform(-2.0, 2.0), static_cast<int>(random.below(48)) - 30));
  }
  std::copy(kSpecials.begin(), kSpecials.end(), x.begin());
  const int64_t n = static_cast<int64_t>(x.size());
  const int64_t tile = ops().key_tile;
  Guarded<uint16_t> k_cache(n * tile);
  Guarded<uint16_t> v_cache(n * tile);
  const int64_t slot = 0;
  ops().kv_append({x.data(), x.data(), {k_cache.data(), v_cache.data(), DType::kF16, tile, 1, n}, &slot, 1});
  for (int64_t i = 0; i < n; ++i) {
    const float value = x[static_cast<size_t>(i)];
    const uint16_t stored_key = k_cache.data()[i * tile];
    ASSERT_EQ(f16_value(stored_key), nearest_f16(value)) << value;
    ASSERT_EQ(stored_key >> 15, std::signbit(value) ? 1 : 0) << value;
    ASSERT_EQ(v_cache.data()[i], stored_key) << value;
  }
}

INFERNO_FOR_EACH_OP_SET(KvAppendTest);

}  // namespace
}  // namespace inferno::test
