// Weights in fewer bytes than the file has: nothing is lost, and a row's sums do not depend on the rows of
// activations around it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "backend/cpu_isa.h"
#include "base/cpu_features.h"
#include "support/canary.h"
#include "support/random.h"
#include "tensor/half.h"

namespace inferno::test {
namespace {

float widened(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float x;
  std::memcpy(&x, &wide, sizeof x);
  return x;
}

struct Kernel : kernels::CompressedMatmul {
  void (*to_bf16)(const kernels::Bf16Params& p);
  void (*split)(const kernels::SplitParams& p);
  kernels::PanelMatmul whole;  // in 16 bits

  // What an activation is multiplied as.
  float taken_as(float x) const {
    return product.x_form == kernels::XForm::kBf16 ? widened(f32_to_bf16(x)) : x;
  }
  // In tiles, which take what is below 2^-126 for 0, and where escapes stand among the others.
  bool has_tiles() const { return product.x_form == kernels::XForm::kBf16Parts; }
};

// A matrix of bfloat16 and its panels.
struct Matrix {
  const Kernel& kernel;
  int64_t m, k, n_panels;
  std::vector<uint16_t> w;
  std::vector<uint8_t> bytes;
  uint8_t* panels;
  bool fits = true;

  Matrix(const Kernel& compressed, int64_t m_, int64_t k_, std::vector<uint16_t> weights)
      : kernel(compressed),
        m(m_),
        k(k_),
        n_panels((m_ + compressed.product.rows - 1) / compressed.product.rows),
        w(std::move(weights)) {
    const int64_t panel_bytes = kernel.product.panel_bytes(k);
    EXPECT_EQ(panel_bytes % 64, 0);
    bytes.assign(static_cast<size_t>(n_panels * panel_bytes + 64), 0xa5);
    panels = bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
    for (int64_t i = 0; i < n_panels; ++i) {
      const int64_t row = i * kernel.product.rows;
      fits = fits && kernel.pack(reinterpret_cast<const uint8_t*>(w.data() + row * k), 2 * k,
                                 std::min(kernel.product.rows, m - row), k, panels + i * panel_bytes);
    }
  }

  // How the kernel is asked for what it multiplies.
  enum class Way { kAtOnce, kFetching, kByPanel, kTwoRuns, kTwoRunsAhead };
  std::vector<float> times(const std::vector<float>& x, int64_t n, const float* bias = nullptr,
                           Way way = Way::kAtOnce) const {
    Guarded<float> y(n * m);
    constexpr uint8_t kCanary = 0x5a;
    const int64_t scratch_bytes = kernel.product.scratch_bytes(k);
    std::vector<uint8_t> scratch(static_cast<size_t>(scratch_bytes + 128), kCanary);
    kernels::PanelMatmulParams p = {};
    p.panels = panels;
    p.bias = bias;
    p.x = x.data();
    p.y = y.data();
    p.n = n;
    p.m = m;
    p.k = k;
    p.panel_end = n_panels;
    std::vector<uint16_t> bf16;
    if (kernel.product.x_form == kernels::XForm::kBf16) {
      bf16.resize(static_cast<size_t>(n * kernels::bf16_stride(k)), 0xffff);
      kernel.to_bf16({x.data(), k, 0, n, 0, k, bf16.data()});
      p.x = nullptr;
      p.bf16 = bf16.data();
    }
    std::vector<uint16_t> split;
    if (kernel.has_tiles()) {
      split.resize(static_cast<size_t>((n + 15) / 16 * 16 * ((k + 31) / 32 * 32) * kernels::kSplitParts),
                   0xffff);
      kernel.split({x.data(), k, 0, n, 0, k, split.data()});
      p.x = nullptr;
      p.split = split.data();
    }
    p.scratch = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    if (way == Way::kFetching) {
      p.next = panels;
      p.next_bytes = n_panels * kernel.product.panel_bytes(k);
    }
    if (way == Way::kTwoRuns || way == Way::kTwoRunsAhead) {
      p.run_step = (n_panels + 1) / 2;
      p.run_end = n_panels;
      p.panel_end = p.run_step;
      p.runs_ask_ahead = way == Way::kTwoRunsAhead;
    }
    if (way == Way::kByPanel) {
      for (; p.panel_begin < n_panels; ++p.panel_begin) {
        p.panel_end = p.panel_begin + 1;
        kernel.product.multiply(p);
      }
    } else {
      kernel.product.multiply(p);
    }
    y.expect_canaries_alive();
    EXPECT_EQ(std::count(p.scratch + scratch_bytes, p.scratch + scratch_bytes + 64, kCanary), 64)
        << "scratch";
    return y.values();
  }
};

// On each ISA that compresses bfloat16.
void on_each_isa(const std::function<void(const Kernel&)>& test) {
  bool is_there = false;
  for (const kernels::CpuIsa* isa : backend::available_isas(cpu_features())) {
    const kernels::CpuKernels cpu = backend::kernels_of(*isa);
    const Kernel bf16 = {cpu.compressed[static_cast<size_t>(DType::kBF16)], cpu.to_bf16, cpu.split,
                         cpu.matmul[static_cast<size_t>(DType::kBF16)]};
    if (bf16.product.rows == 0) continue;
    SCOPED_TRACE(isa->name);
    EXPECT_EQ(bf16.bits, 12);
    is_there = true;
    test(bf16);
  }
  if (!is_there) GTEST_SKIP() << "no ISA of this CPU keeps bfloat16 in fewer bytes";
}

// As weights are distributed, or nearly.
std::vector<uint16_t> bell(int64_t n, uint64_t seed) {
  Random random(seed);
  std::vector<uint16_t> w(static_cast<size_t>(n));
  for (uint16_t& weight : w) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += random.uniform(-0.02, 0.02);
    weight = f32_to_bf16(static_cast<float>(sum));
  }
  return w;
}

void expect_lossless(const Kernel& kernel, int64_t m, int64_t k, const std::vector<uint16_t>& w) {
  const Matrix matrix(kernel, m, k, w);
  ASSERT_TRUE(matrix.fits);
  // An element alone is itself; in batches that go all ways.
  for (const int64_t n : {1, 4, 30}) {
    for (int64_t first = 0; first < k; first += n) {
      std::vector<float> x(static_cast<size_t>(n * k));
      for (int64_t r = 0; r < n && first + r < k; ++r) x[static_cast<size_t>(r * k + first + r)] = 1;
      const std::vector<float> y = matrix.times(x, n);
      for (int64_t r = 0; r < n && first + r < k; ++r) {
        for (int64_t i = 0; i < m; ++i) {
          const float weight = widened(w[static_cast<size_t>(i * k + first + r)]);
          const bool is_zero = kernel.has_tiles() && std::fpclassify(weight) == FP_SUBNORMAL;
          ASSERT_EQ(y[static_cast<size_t>(r * m + i)], is_zero ? 0 : weight)
              << "row " << i << ", element " << first + r << ", n " << n;
        }
      }
    }
  }
}

TEST(CompressedMatmul, LosesNothing) {
  on_each_isa([](const Kernel& kernel) {
    for (const int64_t k : {1, 7, 8, 12, 16, 17, 77, 128}) {
      for (const int64_t m : {16, 37}) expect_lossless(kernel, m, k, bell(m * k, static_cast<uint64_t>(k)));
    }
  });
}

TEST(CompressedMatmul, LosesNoZerosAndNoneOfTheSmallestAndLargest) {
  on_each_isa([](const Kernel& kernel) {
    constexpr int64_t kRows = 33, kCols = 150;
    std::vector<uint16_t> w = bell(kRows * kCols, 5);
    w[0] = 0x0000;
    w[1] = 0x8000;           // -0, whose sign no sum shows
    w[2] = 0x0001;           // the smallest
    w[17 * kCols] = 0x807f;  // a negative one that is no normal number
    w[18 * kCols] = 0x7f7f;  // the largest
    w[kCols - 1] = 0xff7f;
    w.back() = 0x0080;
    expect_lossless(kernel, kRows, kCols, w);
    std::fill(w.begin(), w.end(), uint16_t{0});
    expect_lossless(kernel, kRows, kCols, w);
    std::fill(w.begin(), w.end(), uint16_t{0x0103});
    expect_lossless(kernel, kRows, kCols, w);
    std::fill(w.begin(), w.end(), uint16_t{0x7e80});
    expect_lossless(kernel, kRows, kCols, w);
  });
}

// Far more of a panel's exponents than a table has, but few weights have them.
TEST(CompressedMatmul, TakesWeightsFarOutIntoItsList) {
  on_each_isa([](const Kernel& kernel) {
    constexpr int64_t kRows = 16, kCols = 1024;
    std::vector<uint16_t> w = bell(kRows * kCols, 6);
    for (size_t i = 0; i < 40; ++i) w[i * 401] = f32_to_bf16(i % 2 == 0 ? 1e20f : -1e-20f);
    const Matrix matrix(kernel, kRows, kCols, w);
    EXPECT_TRUE(matrix.fits);
    expect_lossless(kernel, kRows, 64, {w.begin(), w.begin() + kRows * 64});
  });
}

// As of tokens that nobody trained, beside others: each row has its own power of four.
std::vector<uint16_t> rows_of_all_sizes(int64_t m, int64_t k) {
  std::vector<uint16_t> w = bell(m * k, 14);
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t j = 0; j < k; ++j) {
      uint16_t& weight = w[static_cast<size_t>(row * k + j)];
      const float times = row % 7 == 3 ? 0.0f : std::ldexp(1.0f, static_cast<int>(-11 * (row % 10)));
      weight = f32_to_bf16(widened(weight) * times);
    }
  }
  return w;
}

TEST(CompressedMatmul, TakesRowsFarSmallerThanOthers) {
  on_each_isa([](const Kernel& kernel) {
    for (const int64_t k : {1, 64, 203}) expect_lossless(kernel, 37, k, rows_of_all_sizes(37, k));
    // Smaller than what a power of four can say: those rows alone would fit, these do not.
    constexpr int64_t kCols = 512;
    std::vector<uint16_t> w = bell(16 * kCols, 15);
    for (int64_t j = 0; j < kCols; ++j) w[static_cast<size_t>(j)] = 0x0001;
    EXPECT_FALSE(Matrix(kernel, 16, kCols, w).fits);
  });
}

// What one row has, even what is no number, changes nothing in those beside it.
TEST(CompressedMatmul, RowsFarLargerThanOthersStayTheirOwn) {
  on_each_isa([](const Kernel& kernel) {
    constexpr int64_t kRows = 16, kCols = 512;
    for (const float large : {1e10f, 1e38f, 2e38f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
      SCOPED_TRACE(large);
      std::vector<uint16_t> w = bell(kRows * kCols, 16);
      for (uint16_t& weight : w) weight = f32_to_bf16(1000 * widened(weight));
      std::fill(w.begin() + 3 * kCols, w.begin() + 4 * kCols, f32_to_bf16(large));
      const Matrix matrix(kernel, kRows, kCols, w);
      EXPECT_EQ(matrix.fits, large < 1.5e38f);
      if (!matrix.fits) continue;
      const std::vector<float> y = matrix.times(std::vector<float>(kCols, 1.0f), 1);
      for (int64_t i = 0; i < kRows; ++i) {
        if (i == 3) continue;
        double sum = 0, magnitude = 0;
        for (int64_t j = 0; j < kCols; ++j) {
          sum += widened(w[static_cast<size_t>(i * kCols + j)]);
          magnitude += std::fabs(widened(w[static_cast<size_t>(i * kCols + j)]));
        }
        EXPECT_NEAR(y[static_cast<size_t>(i)], sum, magnitude * kCols * 0x1p-24) << i;
      }
      expect_lossless(kernel, kRows, kCols, w);
    }
  });
}

TEST(CompressedMatmul, SaysWhereWeightsDoNotFit) {
  on_each_isa([](const Kernel& kernel) {
    constexpr int64_t kCols = 512;
    const int64_t rows = kernel.product.rows;
    Random random(7);
    std::vector<uint16_t> w(static_cast<size_t>(rows * kCols));
    for (uint16_t& weight : w)
      weight = static_cast<uint16_t>(random.bits() & 0xbfff);  // finite, of all sizes
    EXPECT_FALSE(Matrix(kernel, rows, kCols, w).fits);
    // One too many. As many as there is room for are none too many.
    w.assign(w.size(), f32_to_bf16(1.0f));
    const int64_t room = rows * kCols / 256 + 8;
    for (int64_t i = 0; i < room; ++i) w[static_cast<size_t>(i * 31)] = f32_to_bf16(1e30f);
    EXPECT_TRUE(Matrix(kernel, rows, kCols, w).fits);
    w[static_cast<size_t>(room * 31)] = f32_to_bf16(1e30f);
    EXPECT_FALSE(Matrix(kernel, rows, kCols, w).fits);
  });
}

TEST(CompressedMatmul, ANaNAndAnInfinityStayInTheirRow) {
  on_each_isa([](const Kernel& kernel) {
    constexpr int64_t kRows = 20, kCols = 40;
    std::vector<uint16_t> w = bell(kRows * kCols, 8);
    w[3 * kCols + 5] = 0x7fc0;
    w[18 * kCols + 39] = 0xff80;
    const Matrix matrix(kernel, kRows, kCols, w);
    ASSERT_TRUE(matrix.fits);
    for (const int64_t n : {1, 5, 30}) {
      const std::vector<float> y = matrix.times(std::vector<float>(static_cast<size_t>(n * kCols), 1.0f), n);
      for (int64_t i = 0; i < n * kRows; ++i) {
        const float value = y[static_cast<size_t>(i)];
        const bool is_infinite = i % kRows == 18;
        // Of three parts of an activation two are 0, times which an infinity is no number.
        const bool is_nan = i % kRows == 3 || (is_infinite && kernel.has_tiles());
        EXPECT_EQ(std::isnan(value), is_nan) << i;
        EXPECT_EQ(value == -std::numeric_limits<float>::infinity(), is_infinite && !is_nan) << i;
      }
    }
  });
}

// An infinite activation times an escape is nobody else's.
TEST(CompressedMatmul, AnInfiniteActivationOfAnEscapeStaysInItsRow) {
  on_each_isa([](const Kernel& kernel) {
    constexpr int64_t kRows = 16, kCols = 40;
    std::vector<uint16_t> w(kRows * kCols, f32_to_bf16(1.0f));
    w[5 * kCols + 7] = f32_to_bf16(1e20f);
    const Matrix matrix(kernel, kRows, kCols, w);
    ASSERT_TRUE(matrix.fits);
    for (const int64_t n : {1, 5, 30}) {
      std::vector<float> x(static_cast<size_t>(n * kCols), 1.0f);
      x[7] = std::numeric_limits<float>::infinity();
      const std::vector<float> y = matrix.times(x, n);
      for (int64_t i = 0; i < kRows; ++i) {
        EXPECT_FALSE(std::isfinite(y[static_cast<size_t>(i)])) << i;
        EXPECT_EQ(std::isnan(y[static_cast<size_t>(i)]), i == 5 && !kernel.has_tiles())
            << i << ": 0 in the place of the escape";
      }
    }
  });
}

// As a damaged file may have them.
TEST(CompressedMatmul, PanelsOfAnyBytesLeadNowhereElse) {
  on_each_isa([](const Kernel& kernel) {
    constexpr int64_t kRows = 40, kCols = 50;
    Matrix matrix(kernel, kRows, kCols, bell(kRows * kCols, 12));
    Random random(13);
    const int64_t bytes = matrix.n_panels * kernel.product.panel_bytes(kCols);
    const auto multiply = [&] {
      for (const int64_t n : {1, 3, 5, 30, 40}) {
        const std::vector<float> x(static_cast<size_t>(n * kCols), 1.0f);
        EXPECT_EQ(matrix.times(x, n).size(), static_cast<size_t>(n * kRows));
      }
    };
    for (int64_t i = 0; i < bytes; ++i) matrix.panels[i] = random.byte();
    multiply();
    // Lists of which many numbers lie in the panel, or not far behind it, and not in order.
    for (int64_t i = 0; i < bytes; i += 4) {
      const auto at = static_cast<uint32_t>(random.bits() % (3 * 32 * 16));
      std::memcpy(matrix.panels + i, &at, sizeof at);
    }
    multiply();
  });
}

TEST(CompressedMatmul, SumsAreNearDoublesAndTheSameWhateverIsAround) {
  on_each_isa([](const Kernel& kernel) {
    using Way = Matrix::Way;
    for (const int64_t k : {5, 64, 203, 1024}) {
      for (const int64_t m : {16, 90, 130}) {
        SCOPED_TRACE("k " + std::to_string(k) + ", m " + std::to_string(m));
        constexpr int64_t kMost = 41;
        const Matrix matrix(kernel, m, k, m == 90 ? rows_of_all_sizes(m, k) : bell(m * k, 9));
        ASSERT_TRUE(matrix.fits);
        const std::vector<float> x = Random(10).floats(kMost * k), bias = Random(11).floats(m);
        const std::vector<float> all = matrix.times(x, kMost, bias.data());
        for (int64_t r = 0; r < kMost; ++r) {
          for (int64_t i = 0; i < m; ++i) {
            double sum = bias[static_cast<size_t>(i)], magnitude = std::fabs(sum);
            for (int64_t j = 0; j < k; ++j) {
              const double term = static_cast<double>(kernel.taken_as(x[static_cast<size_t>(r * k + j)])) *
                                  widened(matrix.w[static_cast<size_t>(i * k + j)]);
              sum += term;
              magnitude += std::fabs(term);
            }
            EXPECT_NEAR(all[static_cast<size_t>(r * m + i)], sum,
                        magnitude * static_cast<double>(k + 4) * 0x1p-24);
          }
        }
        for (const int64_t n : {1, 2, 3, 4, 5, 7, 16, 24, 25, 31}) {
          const std::vector<float> first(all.begin(), all.begin() + n * m);
          for (const Way way : {Way::kAtOnce, Way::kFetching, Way::kByPanel}) {
            EXPECT_EQ(matrix.times(x, n, bias.data(), way), first) << n << " " << static_cast<int>(way);
          }
          if (!kernel.product.takes_two_runs(n)) continue;
          for (const Way way : {Way::kTwoRuns, Way::kTwoRunsAhead}) {
            EXPECT_EQ(matrix.times(x, n, bias.data(), way), first) << n << " " << static_cast<int>(way);
          }
        }
      }
    }
  });
}

TEST(CompressedMatmul, InTilesSumsAreThoseOfSixteenBits) {
  bool has_tiles = false;
  on_each_isa([&](const Kernel& kernel) {
    if (!kernel.has_tiles()) return;
    has_tiles = true;
    Kernel whole = kernel;
    whole.product = kernel.whole;
    whole.pack = [](const uint8_t*, int64_t, int64_t, int64_t, uint8_t*) { return true; };
    for (const int64_t k : {5, 64, 203, 1024}) {
      // An odd number of panels, and more rows of activations than stay in a cache where k is 1024.
      constexpr int64_t kRows = 70, kMost = 177;
      std::vector<uint16_t> w = rows_of_all_sizes(kRows, k);
      for (size_t i = 0; i < w.size(); i += 1001) w[i] = f32_to_bf16(1e20f);
      const Matrix packed(kernel, kRows, k, w);
      Matrix plain(whole, kRows, k, w);
      for (int64_t i = 0; i < plain.n_panels; ++i) {
        const int64_t row = i * kernel.whole.rows;
        kernel.whole.pack(reinterpret_cast<const uint8_t*>(w.data() + row * k), 2 * k,
                          std::min(kernel.whole.rows, kRows - row), k,
                          plain.panels + i * kernel.whole.panel_bytes(k));
      }
      ASSERT_TRUE(packed.fits);
      const std::vector<float> x = Random(17).floats(kMost * k);
      for (const int64_t n : {1, 3, 16, 17, 32, 48, 81, 177})
        EXPECT_EQ(packed.times(x, n), plain.times(x, n)) << n;
    }
  });
  if (!has_tiles) GTEST_SKIP() << "no ISA of this CPU multiplies bfloat16 in tiles";
}

}  // namespace
}  // namespace inferno::test
