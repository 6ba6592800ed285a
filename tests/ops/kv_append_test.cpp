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

// The nearest number with so many bits behind the first and exponents from `min_exponent` to `max_exponent`,
// ties to even.
double nearest(double x, int bits, int min_exponent, int max_exponent) {
  if (x == 0.0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), min_exponent);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, bits - exponent)), exponent - bits);
  return std::abs(rounded) >= std::ldexp(1.0, max_exponent + 1) ? std::copysign(INFINITY, x) : rounded;
}

double nearest_f16(double x) {
  return nearest(x, 10, -14, 15);
}
double nearest_bf16(double x) {
  return nearest(x, 7, -126, 127);
}

// The scale of 32 values and the values themselves as Q8_0 holds them.
double q8_0_scale(const float* x) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) largest = std::max(largest, std::abs(x[i]));
  return nearest_f16(largest / 127.0f);
}

// What is read of n values once they have been stored.
std::vector<double> rounded(DType dtype, const float* x, int64_t n) {
  std::vector<double> y(x, x + n);
  for (int64_t i = 0; i < n; ++i) {
    double& value = y[static_cast<size_t>(i)];
    if (dtype == DType::kF16) value = nearest_f16(value);
    if (dtype == DType::kBF16) value = nearest_bf16(value);
    if (dtype == DType::kQ8_0) {
      const double d = q8_0_scale(x + i / 32 * 32);
      value = d * std::nearbyint(value / d);
    }
  }
  return y;
}

// Element d of the key or value at a position of a block's head that begins at `head`.
double value_at(DType dtype, const uint8_t* head, int64_t position, int64_t d, int64_t head_dim) {
  return row_element(dtype, head + position * static_cast<int64_t>(row_bytes(dtype, head_dim)), d);
}
OpSet::CacheOrder order_of(const OpSet& ops, DType dtype, int64_t head_dim) {
  return ops.cache_order({nullptr, nullptr, dtype, 0, 1, head_dim});
}
double value_at(const OpSet& ops, DType dtype, const uint8_t* head, int64_t position, int64_t d,
                int64_t head_dim) {
  const int64_t tile = (position / 32 * head_dim + d / 16 * 16) * 32;
  switch (order_of(ops, dtype, head_dim)) {
    case OpSet::CacheOrder::kTilesOfPairs:
      return row_element(dtype, head, tile + position % 32 / 2 * 32 + d % 16 * 2 + position % 2);
    case OpSet::CacheOrder::kTilesOfLines:
      return row_element(dtype, head, tile + position % 32 * 16 + d % 16);
    default:
      return value_at(dtype, head, position, d, head_dim);
  }
}
double key_at(const OpSet& ops, DType dtype, const uint8_t* head, int64_t position, int64_t d,
              int64_t head_dim) {
  if (order_of(ops, dtype, head_dim) == OpSet::CacheOrder::kTilesOfPairs) {
    const int64_t line = position / 16 * (head_dim / 2) + d / 2;
    return row_element(dtype, head, (line * 16 + position % 16) * 2 + d % 2);
  }
  if (ops.key_tile == 1) return value_at(dtype, head, position, d, head_dim);
  const int64_t first = position / ops.key_tile * ops.key_tile;
  const int64_t in_tile = position % ops.key_tile;
  const uint8_t* tile = head + first * static_cast<int64_t>(row_bytes(dtype, head_dim));
  if (dtype != DType::kQ8_0) return row_element(dtype, tile, d * ops.key_tile + in_tile);
  const uint8_t* block = tile + d / 32 * 34 * ops.key_tile;
  const auto code = static_cast<int8_t>(block[(2 + d % 32) * ops.key_tile + in_tile]);
  return f16_at(block, static_cast<int>(2 * in_tile)) * code;
}

class KvAppendTest : public OpTest {
 protected:
  // One row of one head, appended to a cache that begins with all bits set.
  struct Appended {
    std::vector<uint8_t> k_cache, v_cache;
  };
  Appended append(DType dtype, const std::vector<float>& x, int64_t slot) const {
    const auto n = static_cast<int64_t>(x.size());
    const int64_t block = block_size();
    Appended a{std::vector<uint8_t>(row_bytes(dtype, static_cast<size_t>(n * block)), 0xff), {}};
    a.v_cache = a.k_cache;
    ops().kv_append({x.data(), x.data(), {a.k_cache.data(), a.v_cache.data(), dtype, block, 1, n}, &slot, 1});
    return a;
  }
  int64_t block_size() const { return ops().block_size(16); }
};

TEST_P(KvAppendTest, RowsGoToTheirSlotsAndNowhereElse) {
  constexpr int64_t kHeads = 3;
  constexpr int64_t kSlots = 320;
  std::vector<int64_t> slots = {7, 0, 39, 16, 15, 8, 63, 64, 319};
  for (int64_t slot = 100; slot < 150; ++slot) slots.push_back(slot);  // in order, over tiles and blocks
  const int64_t n = static_cast<int64_t>(slots.size());
  Random random(7);
  struct Case {
    DType dtype;
    int64_t head_dim;
  };
  std::vector<Case> cases;
  for (const DType dtype : cache_types()) cases.push_back({dtype, dtype == DType::kQ8_0 ? 64 : 10});
  // Of whole tiles, of more than there may be, and of none.
  for (const int64_t head_dim : {96, 288, 48}) {
    for (const DType dtype : {DType::kF16, DType::kBF16}) cases.push_back({dtype, head_dim});
  }
  // Of whole vectors.
  cases.push_back({DType::kF32, 48});
  for (const auto [dtype, head_dim] : cases) {
    const std::vector<float> k = random.floats(n * kHeads * head_dim, -100.0, 100.0);
    const std::vector<float> v = random.floats(n * kHeads * head_dim, -0.01, 0.01);
    const std::vector<double> expected_k = rounded(dtype, k.data(), n * kHeads * head_dim);
    const std::vector<double> expected_v = rounded(dtype, v.data(), n * kHeads * head_dim);
    for (const int64_t block_size : {1, 5, 8, 16, 40, 64, 80, 320}) {
      if (block_size % ops().block_multiple != 0) continue;
      SCOPED_TRACE(std::string(name(dtype)) + " block_size=" + std::to_string(block_size));
      const auto head_bytes =
          static_cast<int64_t>(row_bytes(dtype, static_cast<size_t>(head_dim))) * block_size;
      Guarded<uint8_t> k_cache(kSlots / block_size * kHeads * head_bytes);
      Guarded<uint8_t> v_cache(kSlots / block_size * kHeads * head_bytes);
      const KvLayerView kv = {k_cache.data(), v_cache.data(), dtype, block_size, kHeads, head_dim};
      ops().kv_append({k.data(), v.data(), kv, slots.data(), n});
      k_cache.expect_canaries_alive();
      v_cache.expect_canaries_alive();
      for (int64_t i = 0; i < kSlots * kHeads * head_dim; ++i) {
        const int64_t slot = i / (kHeads * head_dim);
        const int64_t head = i / head_dim % kHeads;
        const int64_t d = i % head_dim;
        const int64_t base = (slot / block_size * kHeads + head) * head_bytes;
        const double key = key_at(ops(), dtype, k_cache.data() + base, slot % block_size, d, head_dim);
        const double value = value_at(ops(), dtype, v_cache.data() + base, slot % block_size, d, head_dim);
        const auto row = std::find(slots.begin(), slots.end(), slot) - slots.begin();
        if (row == n) {
          ASSERT_TRUE(std::isnan(key) && std::isnan(value)) << "slot " << slot << " has no row";
          continue;
        }
        const auto from = static_cast<size_t>((row * kHeads + head) * head_dim + d);
        ASSERT_EQ(key, expected_k[from]) << "slot " << slot << " head " << head << " element " << d;
        ASSERT_EQ(value, expected_v[from]) << "slot " << slot << " head " << head << " element " << d;
      }
    }
  }
}

TEST_P(KvAppendTest, SixteenBitsAreTheNearestTiesToEven) {
  // Ties, the borders of the subnormals, of zero and of infinity of both types; then random values of every
  // size.
  constexpr std::array kSpecials = {
      0.0f,       -0.0f,     0x1.002p0f, 0x1.006p0f,   -0x1.002p0f,    0x1p-14f,   0x1p-24f,  0x1p-25f,
      0x1.8p-25f, 0x1p-26f,  65504.0f,   65519.0f,     65520.0f,       -65520.0f,  INFINITY,  -INFINITY,
      0x1p-149f,  1e38f,     0x1.8p-24f, 0x1.ffep-15f, 0x1.ffffep-15f, 0x1.01p0f,  0x1.03p0f, -0x1.01p0f,
      0x1p-126f,  0x1p-133f, 0x1p-134f,  0x1.8p-134f,  0x1.fep127f,    0x1.ffp127f};
  Random random(8);
  std::vector<float> x(4000);
  for (float& value : x) {
    value =
        static_cast<float>(std::ldexp(random.uniform(-2.0, 2.0), static_cast<int>(random.below(48)) - 30));
  }
  std::copy(kSpecials.begin(), kSpecials.end(), x.begin());
  x.push_back(NAN);
  const auto n = static_cast<int64_t>(x.size());
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Appended a = append(dtype, x, 5);
    const std::vector<double> expected = rounded(dtype, x.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const double wanted = expected[static_cast<size_t>(i)];
      for (const double found :
           {key_at(ops(), dtype, a.k_cache.data(), 5, i, n), value_at(dtype, a.v_cache.data(), 5, i, n)}) {
        ASSERT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted)))
            << name(dtype) << " " << x[static_cast<size_t>(i)] << ": " << found;
        ASSERT_TRUE(std::isnan(wanted) || std::signbit(found) == std::signbit(wanted)) << found;
      }
    }
  }
}

// Blocks of every size, from those whose scale is 0 to those whose scale is infinite.
std::vector<float> blocks_of_all_sizes() {
  Random random(9);
  std::vector<float> x;
  for (int exponent = -50; exponent <= 40; ++exponent) {
    for (int i = 0; i < 32; ++i)
      x.push_back(static_cast<float>(std::ldexp(random.uniform(-1.0, 1.0), exponent)));
  }
  return x;
}

TEST_P(KvAppendTest, Q8_0HasTheNearestCodesOfItsScale) {
  const std::vector<float> x = blocks_of_all_sizes();
  const auto n = static_cast<int64_t>(x.size());
  const Appended a = append(DType::kQ8_0, x, 3);
  for (int64_t i = 0; i < n; ++i) {
    const float value = x[static_cast<size_t>(i)];
    const double d = q8_0_scale(x.data() + i / 32 * 32);
    const double stored = value_at(DType::kQ8_0, a.v_cache.data(), 3, i, n);
    if (!std::isfinite(d)) {
      ASSERT_FALSE(std::isfinite(stored)) << value;
      continue;
    }
    // Below 2^-14 a scale has fewer bits: the largest values may be beyond 127 of it.
    const double most = std::max(d * 0.500001, std::abs(value) - 127 * d);
    ASSERT_LE(std::abs(stored - value), d == 0 ? std::abs(value) : most) << value << " by " << d;
    ASSERT_EQ(key_at(ops(), DType::kQ8_0, a.k_cache.data(), 3, i, n), stored);
  }
}

// All have the definition's bytes: what a backend computes must not depend on its ISA more than it has to.
TEST_P(KvAppendTest, Q8_0IsTheReferencesByteForByte) {
  std::vector<float> x = blocks_of_all_sizes();
  x.resize(x.size() + 64);  // and two blocks of zeros
  const Appended a = append(DType::kQ8_0, x, 3);
  std::vector<uint8_t> k_cache(a.k_cache.size(), 0xff);
  std::vector<uint8_t> v_cache = k_cache;
  const int64_t slot = 3;
  const auto n = static_cast<int64_t>(x.size());
  kernels::reference::kv_append(
      {x.data(), x.data(), {k_cache.data(), v_cache.data(), DType::kQ8_0, block_size(), 1, n}, &slot, 1});
  EXPECT_TRUE(same_bits(a.v_cache, v_cache));
}

TEST_P(KvAppendTest, ABlockOfQ8_0WithANanOrAnInfinityIsNanAndNoOther) {
  for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
    std::vector<float> x(96, 1.0f);
    x[40] = bad;
    const Appended a = append(DType::kQ8_0, x, 0);
    for (int64_t i = 0; i < 96; ++i) {
      const double value = value_at(DType::kQ8_0, a.v_cache.data(), 0, i, 96);
      EXPECT_EQ(std::isnan(value), i / 32 == 1) << bad << " " << i;
      EXPECT_EQ(std::isnan(key_at(ops(), DType::kQ8_0, a.k_cache.data(), 0, i, 96)), i / 32 == 1);
    }
  }
}

INFERNO_FOR_EACH_OP_SET(KvAppendTest);

}  // namespace
}  // namespace inferno::test
