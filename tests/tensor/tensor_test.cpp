#include "tensor/tensor.h"

#include <gtest/gtest.h>

namespace inferno {
namespace {

TEST(Tensor, KnowsItsShape) {
  const Tensor matrix{DType::kQ8_0, 2, {256, 768}};
  EXPECT_EQ(matrix.n_elements(), 256 * 768);
  EXPECT_EQ(matrix.rows(), 256);
  EXPECT_EQ(matrix.cols(), 768);
  EXPECT_EQ(matrix.bytes(), 256u * (768 / 32) * 34);
  EXPECT_EQ(matrix.shape_string(), "[256, 768]");
  const Tensor cube{DType::kF16, 3, {2, 3, 4}};
  EXPECT_EQ(cube.rows(), 6);
  EXPECT_EQ(cube.cols(), 4);
  EXPECT_EQ(cube.bytes(), 48u);
  EXPECT_EQ(cube.shape_string(), "[2, 3, 4]");
}

TEST(Tensor, AbsentAndEmptyHaveNoElements) {
  const Tensor absent;
  EXPECT_TRUE(absent.empty());
  EXPECT_EQ(absent.n_elements(), 0);
  EXPECT_EQ(absent.rows(), 0);
  EXPECT_EQ(absent.bytes(), 0u);
  EXPECT_EQ(absent.shape_string(), "[]");
  const Tensor no_columns{DType::kF32, 2, {3, 0}};
  EXPECT_EQ(no_columns.rows(), 0);
  EXPECT_EQ(no_columns.n_elements(), 0);
}

TEST(Buffer, ReleasesItsBytesOnce) {
  int released = 0;
  char bytes[8];
  {
    Buffer first(bytes, sizeof bytes, [&](void* data) {
      EXPECT_EQ(data, bytes);
      ++released;
    });
    const Buffer second = std::move(first);
    EXPECT_EQ(second.data(), bytes);
    EXPECT_EQ(second.bytes(), sizeof bytes);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(Buffer().data(), nullptr);
}

}  // namespace
}  // namespace inferno
