// The screen of the LM head never costs the highest logit: on every ISA, of every type of head that has one.
#include "backend/cpu/head_screen.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "backend/backend.h"
#include "backend/cpu/timed_choice.h"
#include "backend/cpu_isa.h"
#include "base/cpu_features.h"
#include "quantize/quantize_row.h"
#include "support/forced_isa.h"
#include "support/random.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace inferno::backend {
namespace {

constexpr int64_t kVocab = 310;  // whole panels of no ISA
constexpr int64_t kDim = 256;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Logits = std::vector<float>;

class HeadScreenTest : public testing::TestWithParam<std::tuple<const kernels::CpuIsa*, DType>> {
 protected:
  HeadScreenTest() { set_norm(std::vector<float>(kDim, 1.0f)); }
  void set_norm(std::vector<float> values) {
    norm_values_ = std::move(values);
    norm_ = backend_->load_weight(tensor(DType::kF32, norm_values_.data(), 1), WeightUse::kVector).value();
  }

  static Tensor tensor(DType dtype, const void* data, int64_t rows) {
    Tensor t;
    t.dtype = dtype;
    t.n_dims = 2;
    t.shape = {rows, kDim};
    t.data = const_cast<void*>(data);
    return t;
  }

  // (kVocab, kDim) in the tested type.
  void set_head(const std::vector<float>& values) {
    const DType dtype = std::get<1>(GetParam());
    head_bytes_.resize(row_bytes(dtype, values.size()));
    quantize::find_quantize(dtype)(values.data(), head_bytes_.data(), static_cast<int64_t>(values.size()));
    load_head();
  }
  void load_head() {
    head_ =
        backend_->load_weight(tensor(std::get<1>(GetParam()), head_bytes_.data(), kVocab), WeightUse::kHead)
            .value();
    ASSERT_TRUE(backend_->has_screen(head_));
  }
  // Makes an element of a row, or its block, NaN.
  void spoil(int64_t row) {
    const DType dtype = std::get<1>(GetParam());
    const size_t stride = row_bytes(dtype, kDim);
    uint8_t* bytes = head_bytes_.data() + static_cast<size_t>(row) * stride;
    const float nan = NAN;
    const uint16_t half = f32_to_f16(NAN), bf16 = f32_to_bf16(NAN);
    if (dtype == DType::kF32) {
      std::memcpy(bytes, &nan, sizeof nan);
    } else if (dtype == DType::kQ6_K) {
      std::memcpy(bytes + stride - sizeof half, &half, sizeof half);  // the last block's scale
    } else {
      std::memcpy(bytes, dtype == DType::kBF16 ? &bf16 : &half, sizeof half);
    }
    load_head();
  }

  // Logits of n rows of activations.
  Logits run(const std::vector<float>& x, bool highest_only) {
    const auto n = static_cast<int64_t>(x.size()) / kDim;
    std::vector<int32_t> rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), 0);
    BatchView batch;
    batch.n_tokens = batch.n_logits = n;
    batch.logits_indices = rows.data();
    std::vector<float> normed(x.size());
    Logits logits(static_cast<size_t>(n * kVocab));
    Tensor y = tensor(DType::kF32, logits.data(), n);
    y.shape = {n, kVocab};
    backend_->reset_counters();
    const BatchView view = backend_->begin_forward(batch);
    backend_->lm_head_step({tensor(DType::kF32, x.data(), n), view, norm_, 1e-6f, head_,
                            tensor(DType::kF32, normed.data(), n), y, highest_only});
    EXPECT_TRUE(backend_->end_forward().ok());
    return logits;
  }

  // What is there has the bits of a pass without the screen, and the highest is there. Returns how many are
  // not there.
  int64_t expect_highest(const std::vector<float>& x) {
    const Logits all = run(x, false);
    const Logits screened = run(x, true);
    int64_t n_dropped = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const bool is_there = std::memcmp(&all[i], &screened[i], sizeof(float)) == 0;
      EXPECT_TRUE(is_there || screened[i] == -kInfinity) << i << ": " << screened[i] << " not " << all[i];
      n_dropped += is_there ? 0 : 1;
    }
    for (auto row = all.begin(); row != all.end(); row += kVocab) {
      const auto beside = screened.begin() + (row - all.begin());
      EXPECT_EQ(std::max_element(beside, beside + kVocab) - beside,
                std::max_element(row, row + kVocab) - row);
    }
    return n_dropped;
  }

  static std::vector<float> row(const std::vector<float>& head, int64_t i) {
    return {head.begin() + i * kDim, head.begin() + (i + 1) * kDim};
  }

  const test::ForcedIsa forced_{std::get<0>(GetParam())->name};
  std::shared_ptr<Backend> backend_ =
      create_backend("parallel", {.threads = 3, .screened_heads = backend::ScreenedHeads::kAll}).value();
  std::vector<float> norm_values_;
  Weight norm_, head_;
  std::vector<uint8_t> head_bytes_;
};

TEST_P(HeadScreenTest, DropsMostOfAHeadThatIsSure) {
  std::vector<float> head = test::Random(1).floats(kVocab * kDim);
  // The same logit twice: the first one counts.
  std::copy_n(head.begin() + 100 * kDim, kDim, head.begin() + 300 * kDim);
  set_head(head);
  for (const int64_t likely : {0, 15, 16, 100, 300, 309}) {
    EXPECT_GT(expect_highest(row(head, likely)), kVocab / 2) << likely;
    const metrics::HeadScreenUse& use = backend_->head_screen_use();
    EXPECT_EQ(use.passes, 1u);
    EXPECT_EQ(use.screened, 1u);
    EXPECT_EQ(use.head_bytes, head_.read_bytes());
    EXPECT_LT(use.read_bytes, use.head_bytes);
    EXPECT_EQ(backend_->counters().weight_bytes, norm_.bytes() + use.read_bytes);
  }
}

TEST_P(HeadScreenTest, KeepsWhatRoundingMightHaveDecided) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    test::Random random(seed);
    // Rows that differ by less than the copy's rounding: nothing can be dropped, and nothing may.
    const std::vector<float> common = random.floats(kDim);
    std::vector<float> head = random.floats(kVocab * kDim, -1e-2, 1e-2);
    for (size_t i = 0; i < head.size(); ++i) head[i] += common[i % kDim];
    set_head(head);
    expect_highest(common);
    expect_highest(random.floats(kDim));
  }
}

// The copy loses 0.4 of almost all elements of one row, and the activations are in that direction: Cauchy and
// Schwarz's worst case. Of the row beside it, whose logit is 3 % of the loss lower, it loses nothing.
TEST_P(HeadScreenTest, KeepsARowOfWhichTheCopyLosesAllItCan) {
  test::Random random(6);
  std::vector<float> head(kVocab * kDim), x(kDim, 1.0f);
  float* losing = head.data() + 200 * kDim;
  float* whole = head.data() + 20 * kDim;
  for (int64_t i = 0, n = 0; i < kDim; ++i) {
    if (i % 32 == 0) {
      x[static_cast<size_t>(i)] = 0;
      losing[i] = whole[i] = -8;  // the copy's scale becomes 1
      continue;
    }
    const auto code = static_cast<float>(random.below(6));
    losing[i] = code + 0.4f;
    whole[i] = code + (n++ < 96 ? 1.0f : 0.0f);  // 248 * 0.4 = 99.2
  }
  head[100 * kDim + 1] = 50;
  set_head(head);
  expect_highest(x);
  // Beside a row of activations that needs neither.
  std::vector<float> beside(kDim);
  beside[1] = 1;
  beside.insert(beside.end(), x.begin(), x.end());
  expect_highest(beside);
}

// The same of a head's own upper bits: all bits below are set in one row. Of the row beside it, whose logit
// is 5 % of the loss lower, the coarse logit is the true one.
TEST_P(HeadScreenTest, KeepsARowOfWhichTheUpperBitsLackAllTheyCan) {
  const DType dtype = std::get<1>(GetParam());
  if (dtype != DType::kQ8_0 && dtype != DType::kQ6_K) return;
  constexpr int64_t kLosing = 200, kExact = 20;
  head_bytes_.assign(row_bytes(dtype, kVocab * kDim), 0);
  uint8_t* losing = head_bytes_.data() + row_bytes(dtype, kLosing * kDim);
  uint8_t* exact = head_bytes_.data() + row_bytes(dtype, kExact * kDim);
  if (dtype == DType::kQ8_0) {
    for (int64_t i = 0; i < kDim / 32; ++i) {
      BlockQ8_0 all = {f32_to_f16(1), {}}, middle = all;
      std::fill_n(all.qs, 32, static_cast<int8_t>(15));             // 7 more than what is assumed of it
      std::fill_n(middle.qs, 32, static_cast<int8_t>(8));           // as assumed
      std::fill_n(middle.qs, 13 + i % 2, static_cast<int8_t>(24));  // 13.5 of 32 times 16 for 7
      std::memcpy(losing + i * sizeof all, &all, sizeof all);
      std::memcpy(exact + i * sizeof middle, &middle, sizeof middle);
    }
  } else {
    // Of 32 + q four bits in ql, two in qh.
    BlockQ6_K all = {}, middle = {};
    all.d = middle.d = f32_to_f16(1);
    std::fill_n(all.scales, 16, static_cast<int8_t>(1));
    std::fill_n(middle.scales, 16, static_cast<int8_t>(1));
    std::fill_n(all.qh, 64, static_cast<uint8_t>(0xaa));  // 32
    std::fill_n(middle.qh, 64, static_cast<uint8_t>(0xaa));
    std::fill_n(all.ql, 128, static_cast<uint8_t>(0x33));     // 3, where 1.5 is assumed
    std::fill_n(middle.ql, 128, static_cast<uint8_t>(0x21));  // 1 and 2
    std::fill_n(middle.ql, 45, static_cast<uint8_t>(0x65));   // 45 of 128 times 4 for 1.5
    std::memcpy(losing, &all, sizeof all);
    std::memcpy(exact, &middle, sizeof middle);
  }
  load_head();
  const std::vector<float> x(kDim, 1.0f);
  const Logits all = run(x, false);
  ASSERT_EQ(std::max_element(all.begin(), all.end()) - all.begin(), kLosing);
  ASSERT_GT(all[kExact], 0.9f * all[kLosing]);
  expect_highest(x);
}

// The same of activations: the copy takes them rounded, a head in floating point does not.
TEST_P(HeadScreenTest, KeepsARowThatNeedsWhatRoundingActivationsLoses) {
  std::vector<float> head(kVocab * kDim, -8.0f), x(kDim);
  for (int64_t i = 0; i < kDim; ++i) {
    const bool is_first = i % 32 == 0;
    x[static_cast<size_t>(i)] = is_first ? 127.0f : 1.4f;  // rounded to 127 and 1
    head[static_cast<size_t>(200 * kDim + i)] = is_first ? 0.0f : 8.0f;
    head[static_cast<size_t>(20 * kDim + i)] = is_first ? 8.0f * 31 * 1.385f / 127 : 0.0f;
  }
  set_head(head);
  expect_highest(x);
}

// One row's sum overflows on the way, which the copy's, of whole blocks, does not.
// x is 1 and then the next bfloat16 once it is rounded to that: a row over the one half would win by what x
// was, one over the other half does by what it is then. Nothing else is rounded.
TEST_P(HeadScreenTest, KeepsARowThatNeedsWhatRoundingToBf16Gains) {
  std::vector<float> head(kVocab * kDim), x(kDim);
  double squares = 0;
  for (int64_t i = 0; i < kDim; ++i) {
    const bool is_first = i < kDim / 2;
    const float value = is_first ? 1.0f + 0x1p-8f : 1.0f + 0x1p-8f + 0x1p-20f;
    x[static_cast<size_t>(i)] = value;
    squares += static_cast<double>(value) * value;
    head[static_cast<size_t>(200 * kDim + i)] = is_first ? 8.0f : 0.0f;
    head[static_cast<size_t>(20 * kDim + i)] = is_first ? 0.0f : i < kDim * 3 / 4 ? 7.96875f : 7.9375f;
  }
  // So that the norm leaves x as it is.
  set_norm(std::vector<float>(kDim, static_cast<float>(std::sqrt(squares / kDim + 1e-6))));
  set_head(head);
  expect_highest(x);
}

// One number of x is finite, but infinite in bfloat16.
TEST_P(HeadScreenTest, KeepsARowThatRoundingToBf16MakesInfinite) {
  constexpr float kLarge = 3.4e38f;
  std::vector<float> head(kVocab * kDim), x(kDim, 0.0f);
  x[3] = 1;
  for (int64_t i = 0; i < kVocab; ++i) {
    head[static_cast<size_t>(i * kDim + 3)] = i == 77 ? 2e-3f : i == 200 ? 1e-3f : i % 2 ? -1e-3f : 1e-4f;
  }
  set_norm(std::vector<float>(kDim, kLarge / 16));  // of which the root of kDim makes that
  set_head(head);
  expect_highest(x);
}

TEST_P(HeadScreenTest, KeepsARowThatOverflows) {
  const std::vector<float> large(kDim, 1e32f);
  norm_ = backend_->load_weight(tensor(DType::kF32, large.data(), 1), WeightUse::kVector).value();
  std::vector<float> head(kVocab * kDim), x(kDim);
  head[5 * kDim] = 8 * 62464.0f;
  head[5 * kDim + 1] = -7 * 62464.0f;
  head[200 * kDim] = 124928.0f;
  x[0] = x[1] = 1;
  set_head(head);
  expect_highest(x);
}

TEST_P(HeadScreenTest, TheSmallestAndTheLargestNumbers) {
  for (const double weights : {1e-37, 1e-30, 1e-23, 1e-15, 1.0, 1e18, 1e30, 3e38}) {
    for (const double activations : {1e-36, 1e-30, 1e-10, 1.0, 1e10, 1e30}) {
      SCOPED_TRACE(fmt::format("{} {}", weights, activations));
      test::Random random(8);
      set_head(random.floats(kVocab * kDim, -weights, weights));
      std::vector<float> x = random.floats(kDim, -activations, activations);
      expect_highest(x);
    }
  }
}

TEST_P(HeadScreenTest, RowsAndActivationsOfAllSizes) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    test::Random random(seed);
    std::vector<float> head = random.floats(kVocab * kDim);
    for (int64_t i = 0; i < kVocab; ++i) {
      const double size = std::pow(10.0, random.uniform(-3, 1));
      for (int64_t j = 0; j < kDim; ++j) head[static_cast<size_t>(i * kDim + j)] *= static_cast<float>(size);
    }
    set_head(head);
    std::vector<float> x = random.floats(kDim);
    for (int64_t outlier = 0; outlier < 5; ++outlier) x[static_cast<size_t>(random.below(kDim))] *= 300;
    expect_highest(x);
  }
}

TEST_P(HeadScreenTest, SeveralRowsShareTheirPass) {
  const std::vector<float> head = test::Random(3).floats(kVocab * kDim);
  set_head(head);
  std::vector<float> x;
  for (const int64_t likely : {5, 77, 205, 306, 1}) {
    const std::vector<float> next = row(head, likely);
    x.insert(x.end(), next.begin(), next.end());
    const auto n = static_cast<int64_t>(x.size()) / kDim;
    const bool is_screened = n <= 4;
    EXPECT_EQ(expect_highest(x) > n * kVocab / 2, is_screened) << n;
    EXPECT_EQ(backend_->head_screen_use().screened, is_screened ? 1u : 0u) << n;
    EXPECT_EQ(backend_->head_screen_use().passes, 1u);
  }
}

TEST_P(HeadScreenTest, ANaNIsThereAsWithoutIt) {
  const std::vector<float> head = test::Random(4).floats(kVocab * kDim);
  set_head(head);
  spoil(33);
  const Logits all = run(row(head, 100), false), screened = run(row(head, 100), true);
  EXPECT_TRUE(std::isnan(all[33]));
  EXPECT_TRUE(std::isnan(screened[33]));
  EXPECT_EQ(screened[100], all[100]);
  std::vector<float> x = row(head, 100);
  x[7] = kInfinity;
  const Logits of_infinity = run(x, true);
  EXPECT_TRUE(std::all_of(of_infinity.begin(), of_infinity.end(), [](float l) { return std::isnan(l); }));
}

TEST_P(HeadScreenTest, RestsWhereItGainsNothing) {
  const std::vector<float> common = test::Random(5).floats(kDim);
  std::vector<float> head;
  for (int64_t i = 0; i < kVocab; ++i) head.insert(head.end(), common.begin(), common.end());
  set_head(head);
  std::vector<int> rests;  // passes between those that are screened
  for (int pass = 0, last = -1; pass < 300; ++pass) {
    run(common, true);
    if (backend_->head_screen_use().screened == 0) continue;
    rests.push_back(pass - last - 1);
    last = pass;
  }
  EXPECT_EQ(rests, (std::vector<int>{0, 1, 2, 4, 8, 16, 32, 64, 64, 64}));
}

std::vector<const kernels::CpuIsa*> isas() {
  return available_isas(cpu_features());
}

INSTANTIATE_TEST_SUITE_P(On, HeadScreenTest,
                         testing::Combine(testing::ValuesIn(isas()),
                                          testing::Values(DType::kF32, DType::kF16, DType::kBF16,
                                                          DType::kQ8_0, DType::kQ6_K)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)->name) + "_" +
                                  std::string(name(std::get<1>(tested.param)));
                         });

TEST(HeadScreens, OnlyWhereOneWasAskedForAndCanGain) {
  const std::vector<uint8_t> zeros(256 * 256 * 4);
  const auto has_screen = [&](const std::string& backend_name, ScreenedHeads asked, DType dtype,
                              WeightUse use) {
    const auto backend = create_backend(backend_name, {.screened_heads = asked}).value();
    Tensor t;
    t.dtype = dtype;
    t.n_dims = 2;
    t.shape = {256, 256};
    t.data = const_cast<uint8_t*>(zeros.data());
    return backend->has_screen(backend->load_weight(t, use).value());
  };
  constexpr auto kAll = ScreenedHeads::kAll;
  EXPECT_TRUE(has_screen("simd", kAll, DType::kQ8_0, WeightUse::kHead));
  EXPECT_TRUE(has_screen("parallel", kAll, DType::kQ8_0, WeightUse::kEmbeddingAndHead));
  EXPECT_FALSE(has_screen("simd", ScreenedHeads::kNone, DType::kQ8_0, WeightUse::kHead));
  EXPECT_FALSE(has_screen("simd", ScreenedHeads::kLarge, DType::kQ8_0, WeightUse::kHead));
  EXPECT_FALSE(has_screen("simd", ScreenedHeads::kLarge, DType::kF16, WeightUse::kHead));
  EXPECT_FALSE(has_screen("simd", kAll, DType::kQ8_0, WeightUse::kMatmul));
  EXPECT_FALSE(has_screen("simd", kAll, DType::kQ8_0, WeightUse::kEmbedding));
  EXPECT_FALSE(has_screen("scalar", kAll, DType::kQ8_0, WeightUse::kHead));
  for (const DType dtype : {DType::kQ4_0, DType::kQ4_K, DType::kQ5_K, DType::kQ8_K})
    EXPECT_FALSE(has_screen("simd", kAll, dtype, WeightUse::kHead)) << name(dtype);
}

Tensor tensor(DType dtype, const void* data, std::array<int64_t, 2> shape) {
  Tensor t;
  t.dtype = dtype;
  t.n_dims = 2;
  t.shape = {shape[0], shape[1]};
  t.data = const_cast<void*>(data);
  return t;
}

// The highest logit of one row of activations.
void run_head(Backend& backend, const Weight& norm, const Weight& head, const std::vector<float>& x) {
  const int32_t row = 0;
  BatchView batch;
  batch.n_tokens = batch.n_logits = 1;
  batch.logits_indices = &row;
  std::vector<float> normed(static_cast<size_t>(head.cols)), logits(static_cast<size_t>(head.rows));
  const BatchView view = backend.begin_forward(batch);
  backend.lm_head_step({tensor(DType::kF32, x.data(), {1, head.cols}), view, norm, 1e-6f, head,
                        tensor(DType::kF32, normed.data(), {1, head.cols}),
                        tensor(DType::kF32, logits.data(), {1, head.rows}), true});
  EXPECT_TRUE(backend.end_forward().ok());
}

// Without being asked: of heads that no cache keeps, where the screen is the head's own upper bits or small
// beside it.
TEST(HeadScreens, LargeHeadsHaveOneThatIsTimed) {
  constexpr int64_t kRows = 20000, kCols = 1024;
  static_assert(kRows * kCols > int64_t{16} << 20);
  const bool has_planes =
      kernels_of(*chosen_isa().value()).planes[static_cast<size_t>(DType::kQ8_0)].whole.rows != 0;
  test::Random random(9);
  const std::vector<float> some = random.floats(64 * kCols);
  const auto load = [&](Backend& backend, DType dtype, std::vector<uint8_t>& bytes) {
    // The same rows over and over, but for their scales.
    const size_t stride = row_bytes(dtype, kCols);
    bytes.resize(kRows * stride);
    std::vector<float> row(kCols);
    for (int64_t i = 0; i < kRows; ++i) {
      if (i >= 64) {
        std::memcpy(bytes.data() + static_cast<size_t>(i) * stride,
                    bytes.data() + static_cast<size_t>(i % 64) * stride, stride);
        continue;
      }
      std::copy_n(some.begin() + i * kCols, kCols, row.begin());
      quantize::find_quantize(dtype)(row.data(), bytes.data() + static_cast<size_t>(i) * stride, kCols);
    }
    const Tensor t = tensor(dtype, bytes.data(), {kRows, kCols});
    const bool is_copy = dtype == DType::kF16;
    EXPECT_EQ(backend.screen_bytes(t) != 0, !is_copy && has_planes) << "a copy is left out without memory";
    EXPECT_LE(backend.screen_bytes(t), static_cast<uint64_t>(kRows) * 8);
    return backend.load_weight(t, WeightUse::kHead).value();
  };
  for (const DType dtype : {DType::kQ8_0, DType::kQ6_K, DType::kF16}) {
    const auto backend = create_backend("simd", {}).value();
    std::vector<uint8_t> bytes;
    const Weight head = load(*backend, dtype, bytes);
    EXPECT_EQ(backend->has_screen(head), dtype == DType::kF16 || has_planes) << name(dtype);
    if (dtype != DType::kQ8_0 || !has_planes) continue;
    // After a first pass, and once it is known how the head is read and, by passes that have the screen, how
    // that is, half of 16 passes have it.
    constexpr int kTriesToRead = 12;
    const Weight norm =
        backend->load_weight(tensor(DType::kF32, some.data(), {1, kCols}), WeightUse::kVector).value();
    uint64_t screened = 0;
    for (int pass = 0; pass < 1 + 2 * kTriesToRead + 16; ++pass) {
      backend->reset_counters();
      run_head(*backend, norm, head, some);
      screened += backend->head_screen_use().screened;
    }
    EXPECT_EQ(screened, kTriesToRead + 8u);
  }
}

}  // namespace
}  // namespace inferno::backend
