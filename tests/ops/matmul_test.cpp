#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "ops/format_oracle.h"
#include "ops/op_case.h"
#include "support/canary.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace inferno::test {
namespace {

using kernels::MatmulParams;

// Shapes of one product and its inputs.
struct MatmulCase {
  DType dtype;
  int64_t n, m, k;
  bool with_bias;
  std::vector<uint8_t> w;
  std::vector<float> x, bias;

  MatmulCase(DType dtype_, int64_t n_, int64_t m_, int64_t k_, bool with_bias_)
      : dtype(dtype_), n(n_), m(m_), k(k_), with_bias(with_bias_) {
    Random random(static_cast<uint64_t>(((n * 100 + m) * 10000 + k) * 100) + static_cast<uint64_t>(dtype));
    w = random_weights(dtype, m * k, random);
    x = random.floats(n * k);
    bias = random.floats(m);
  }

  std::string describe() const {
    return std::string(name(dtype)) + " n=" + std::to_string(n) + " m=" + std::to_string(m) +
           " k=" + std::to_string(k) + (with_bias ? " bias" : "");
  }

  // The product of rows [row, row + n_rows) of x and weight rows [col, col + n_cols).
  std::vector<float> run(const OpSet& ops, int64_t row, int64_t n_rows, int64_t col, int64_t n_cols) const {
    Guarded<float> y(n_rows * n_cols);
    const size_t bytes_per_row = row_bytes(dtype, static_cast<size_t>(k));
    ops.matmul({w.data() + static_cast<size_t>(col) * bytes_per_row, dtype,
                with_bias ? bias.data() + col : nullptr, x.data() + row * k, y.data(), n_rows, n_cols, k});
    y.expect_canaries_alive();
    return y.values();
  }
  std::vector<float> run(const OpSet& ops) const { return run(ops, 0, n, 0, m); }
};

struct Truth {
  std::vector<double> y;
  std::vector<double> magnitude;  // sum over k of |w x|, plus |bias|
};

Truth truth_of(const MatmulCase& c, bool rounds_to_bf16) {
  Truth truth{std::vector<double>(static_cast<size_t>(c.n * c.m)),
              std::vector<double>(static_cast<size_t>(c.n * c.m))};
  std::vector<double> row(static_cast<size_t>(c.k));
  for (int64_t i = 0; i < c.m; ++i) {
    const uint8_t* w = c.w.data() + static_cast<size_t>(i) * row_bytes(c.dtype, static_cast<size_t>(c.k));
    for (int64_t j = 0; j < c.k; ++j) row[static_cast<size_t>(j)] = row_element(c.dtype, w, j);
    for (int64_t r = 0; r < c.n; ++r) {
      double sum = c.with_bias ? c.bias[static_cast<size_t>(i)] : 0.0;
      double magnitude = std::abs(sum);
      for (int64_t j = 0; j < c.k; ++j) {
        const float x = c.x[static_cast<size_t>(r * c.k + j)];
        const double term = row[static_cast<size_t>(j)] * (rounds_to_bf16 ? bf16_to_f32(f32_to_bf16(x)) : x);
        sum += term;
        magnitude += std::abs(term);
      }
      truth.y[static_cast<size_t>(r * c.m + i)] = sum;
      truth.magnitude[static_cast<size_t>(r * c.m + i)] = magnitude;
    }
  }
  return truth;
}

std::vector<int64_t> lengths(DType dtype) {
  const int64_t block = traits(dtype).block_elems;
  if (block == 1) return {1, 3, 31, 256, 300};
  if (block == 32) return {32, 96, 256, 544};
  return {256, 768};
}

std::vector<MatmulCase> grid(DType dtype) {
  std::vector<MatmulCase> cases;
  int64_t turn = 0;
  for (const int64_t k : lengths(dtype)) {
    // 83: more than four panels of any ISA.
    for (const int64_t m : {1, 7, 8, 19, 83}) {
      for (const int64_t n : {1, 2, 3, 8, 17}) cases.emplace_back(dtype, n, m, k, ++turn % 2 == 0);
    }
  }
  return cases;
}

class MatmulTest : public OpTest {};

TEST_P(MatmulTest, CloseToDouble) {
  for (const DType dtype : weight_types()) {
    for (const MatmulCase& c : grid(dtype)) {
      SCOPED_TRACE(c.describe());
      const std::vector<float> y = c.run(ops());
      const Truth truth = truth_of(c, ops().rounds_to_bf16(dtype));
      double error = 0.0;
      double power = 0.0;
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_TRUE(std::isfinite(y[i])) << i;
        error += (y[i] - truth.y[i]) * (y[i] - truth.y[i]);
        power += truth.magnitude[i] * truth.magnitude[i];
      }
      // Against the magnitudes, as a sum of few terms may cancel.
      EXPECT_LE(error / power, ops().matmul_error(dtype));
    }
  }
}

TEST_P(MatmulTest, AnOutputDependsOnItsOwnRowsAlone) {
  for (const DType dtype : weight_types()) {
    const MatmulCase c(dtype, 26, 83, dtype == DType::kF32 ? 331 : 768, true);
    SCOPED_TRACE(c.describe());
    const std::vector<float> all = c.run(ops());
    for (int64_t n_rows = 1; n_rows <= c.n; ++n_rows) {
      const int64_t row = c.n - n_rows;
      const std::vector<float> part = c.run(ops(), row, n_rows, 0, c.m);
      EXPECT_TRUE(same_bits(part, std::vector<float>(all.begin() + row * c.m, all.end())))
          << n_rows << " rows";
    }
    for (int64_t col = 0; col < c.m; ++col) {
      EXPECT_EQ(c.run(ops(), 5, 1, col, 1)[0], all[static_cast<size_t>(5 * c.m + col)])
          << "weight row " << col;
    }
  }
}

// Whole tiles of 16 rows and what is left over, and rows of weights that are multiplied in several chunks.
TEST_P(MatmulTest, ManyRowsAreAsOneByOne) {
  for (const DType dtype : weight_types()) {
    const int64_t block = traits(dtype).block_elems;
    const int64_t k = block == 1 ? 1101 : block == 32 ? 2080 : 2304;
    std::vector<int64_t> numbers = {16, 40, 49};
    if (dtype == DType::kBF16 || dtype == DType::kF16) numbers.push_back(300);  // more than stay in a cache
    if (dtype == DType::kQ8_0) numbers.push_back(101);  // more than are multiplied with weights as they lie
    std::vector<MatmulCase> cases;
    // On AVX2 as many panels as share what is prepared of the rows, and more.
    for (const int64_t n : numbers)
      cases.emplace_back(dtype, n, n == 49 ? 251 : n == 40 ? 283 : 83, k, n % 2 == 1);
    if (block == 32) {
      for (const int64_t n : {13, 24, 31}) cases.emplace_back(dtype, n, 67, 96, true);
    }
    for (const MatmulCase& c : cases) {
      SCOPED_TRACE(c.describe());
      const std::vector<float> all = c.run(ops());
      for (const int64_t row : {int64_t{0}, std::min<int64_t>(15, c.n / 2), c.n - 9, c.n - 1}) {
        const auto first = all.begin() + row * c.m;
        EXPECT_TRUE(same_bits(c.run(ops(), row, 1, 0, c.m), std::vector<float>(first, first + c.m)))
            << "row " << row;
      }
    }
  }
}

TEST_P(MatmulTest, NothingIsWrittenForNoRows) {
  MatmulCase(DType::kF32, 0, 5, 7, true).run(ops());
  MatmulCase(DType::kQ8_0, 3, 0, 32, false).run(ops());
  MatmulCase(DType::kBF16, 0, 5, 7, true).run(ops());
  MatmulCase(DType::kF16, 0, 5, 7, true).run(ops());
  MatmulCase(DType::kQ6_K, 0, 5, 256, true).run(ops());
}

TEST_P(MatmulTest, AnInfinityGivesTheSameInAnyNumberOfRows) {
  for (const DType dtype : {DType::kQ8_0, DType::kIQ4_NL, DType::kQ4_0, DType::kQ6_K}) {
    constexpr int64_t kCols = 512;
    MatmulCase c(dtype, 100, 67, kCols, false);
    c.x[7] = INFINITY;
    c.x[kCols + 40] = -INFINITY;
    c.x[2 * kCols + 3] = NAN;
    SCOPED_TRACE(c.describe());
    const std::vector<float> all = c.run(ops());
    for (const int64_t n : {1, 5, 13, 50}) {
      const std::vector<float> some = c.run(ops(), 0, n, 0, c.m);
      for (size_t i = 0; i < some.size(); ++i) {
        EXPECT_TRUE(some[i] == all[i] || (std::isnan(some[i]) && std::isnan(all[i])))
            << n << " rows, output " << i << ": " << some[i] << ", " << all[i];
      }
    }
  }
}

TEST_P(MatmulTest, ANaNReachesItsOwnOutputsOnly) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ6_K}) {
    MatmulCase c(dtype, 3, 9, 256, false);
    SCOPED_TRACE(c.describe());
    const std::vector<float> clean = c.run(ops());
    c.x[256 + 7] = NAN;
    const std::vector<float> y = c.run(ops());
    for (size_t i = 0; i < y.size(); ++i) {
      if (i / 9 == 1) {
        EXPECT_TRUE(std::isnan(y[i])) << i;
      } else {
        EXPECT_EQ(y[i], clean[i]) << i;
      }
    }
  }
}

// Rows of every size beside each other, and numbers of every size in a row.
TEST_P(MatmulTest, RowsOfAnySizeAreMultiplied) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    MatmulCase c(dtype, 8, 9, 64, false);
    SCOPED_TRACE(c.describe());
    const std::vector<float> clean = c.run(ops());
    constexpr std::array<int, 8> kPowers = {0, 80, -80, 17, -24, 100, 3, -1};
    for (size_t i = 0; i < c.x.size(); ++i) c.x[i] = std::ldexp(c.x[i], kPowers[i / 64]);
    std::fill_n(c.x.begin() + 6 * 64, 64, 0.0f);
    const std::vector<float> y = c.run(ops());
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t row = i / 9;
      EXPECT_EQ(y[i], row == 6 ? 0.0f : std::ldexp(clean[i], kPowers[row])) << "row " << row;
    }
    // A number that is small beside its row's largest still counts where that meets a zero.
    std::fill(c.x.begin(), c.x.end(), 0.0f);
    std::fill(c.w.begin(), c.w.end(), uint8_t{0});
    const auto one = dtype == DType::kF32 ? 0x3f800000u : dtype == DType::kF16 ? 0x3c00u : 0x3f80u;
    const size_t bytes = dtype == DType::kF32 ? 4 : 2;
    std::memcpy(c.w.data() + 5 * bytes, &one, bytes);  // w[0][5] = 1
    c.x[0] = 1000.0f;
    c.x[5] = 0x1p-20f;
    EXPECT_EQ(c.run(ops())[0], 0x1p-20f);
  }
}

// Every bit of the numbers of blocks of a format, but not of their scales, is that of `byte`.
template <class Block, class... Field>
void fill_numbers(std::vector<uint8_t>& w, uint8_t byte, Field Block::*... fields) {
  for (size_t at = 0; at < w.size(); at += sizeof(Block)) {
    Block block;
    std::memcpy(&block, w.data() + at, sizeof block);
    (std::memset(block.*fields, byte, sizeof(block.*fields)), ...);
    std::memcpy(w.data() + at, &block, sizeof block);
  }
}
void fill_numbers(DType dtype, std::vector<uint8_t>& w, uint8_t byte) {
  switch (dtype) {
    case DType::kQ8_0:
      return fill_numbers(w, byte, &BlockQ8_0::qs);
    case DType::kQ4_0:
      return fill_numbers(w, byte, &BlockQ4_0::qs);
    case DType::kQ4_1:
      return fill_numbers(w, byte, &BlockQ4_1::qs);
    case DType::kQ5_0:
      return fill_numbers(w, byte, &BlockQ5_0::qs, &BlockQ5_0::qh);
    case DType::kQ5_1:
      return fill_numbers(w, byte, &BlockQ5_1::qs, &BlockQ5_1::qh);
    case DType::kQ2_K:
      return fill_numbers(w, byte, &BlockQ2_K::qs);
    case DType::kQ3_K:
      return fill_numbers(w, byte, &BlockQ3_K::qs, &BlockQ3_K::hmask);
    case DType::kQ4_K:
      return fill_numbers(w, byte, &BlockQ4_K::qs);
    case DType::kQ5_K:
      return fill_numbers(w, byte, &BlockQ5_K::qs, &BlockQ5_K::qh);
    case DType::kQ6_K:
      return fill_numbers(w, byte, &BlockQ6_K::ql, &BlockQ6_K::qh);
    case DType::kIQ4_NL:
      return fill_numbers(w, byte, &BlockIQ4_NL::qs);
    case DType::kIQ4_XS:
      return fill_numbers(w, byte, &BlockIQ4_XS::qs);
    case DType::kMXFP4:
      return fill_numbers(w, byte, &BlockMXFP4::qs);
    default:
      break;
  }
}

// No sum of products of bytes on the way may leave its type, whatever weights have in all places and
// whichever kernel takes so many rows.
TEST_P(MatmulTest, TheLargestNumbersFit) {
  for (const DType dtype : weight_types()) {
    for (const auto& [n, m] :
         std::initializer_list<std::pair<int64_t, int64_t>>{{1, 19}, {7, 19}, {100, 19}, {100, 67}}) {
      MatmulCase c(dtype, n, m, 256, false);
      for (const uint8_t byte : std::initializer_list<uint8_t>{0x00, 0x77, 0x80, 0xff}) {
        fill_numbers(dtype, c.w, byte);
        for (const float x : {1.0f, -1.0f}) {
          std::fill(c.x.begin(), c.x.end(), x);
          SCOPED_TRACE(c.describe() + fmt::format(" weights of {:#x}, x = {}", byte, x));
          const std::vector<float> y = c.run(ops());
          const Truth truth = truth_of(c, ops().rounds_to_bf16(dtype));
          for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], truth.y[i], 1e-5 * truth.magnitude[i]) << i;
        }
      }
    }
  }
}

INFERNO_FOR_EACH_OP_SET(MatmulTest);

// The definition that the reference is: one float sum per output, in the order of k, the bias last.
TEST(MatmulReference, SumsInOrder) {
  for (const DType dtype : weight_types()) {
    const MatmulCase c(dtype, 9, 11, 768, true);
    SCOPED_TRACE(c.describe());
    const std::vector<float> y = c.run(op_sets()[0]);
    for (int64_t r = 0; r < c.n; ++r) {
      for (int64_t i = 0; i < c.m; ++i) {
        const uint8_t* w = c.w.data() + static_cast<size_t>(i) * row_bytes(dtype, static_cast<size_t>(c.k));
        float sum = 0.0f;
        for (int64_t j = 0; j < c.k; ++j) {
          sum += static_cast<float>(row_element(dtype, w, j)) * c.x[static_cast<size_t>(r * c.k + j)];
        }
        ASSERT_EQ(y[static_cast<size_t>(r * c.m + i)], sum + c.bias[static_cast<size_t>(i)]);
      }
    }
  }
}

}  // namespace
}  // namespace inferno::test
