#include "model/check_tensors.h"

#include <gtest/gtest.h>

#include <limits>

#include "models/demo/demo_model.h"
#include "support/tiny_model.h"

namespace inferno {
namespace {

TEST(CheckTensors, B14_AWeightThatIsNotFiniteIsNamed) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    test::TinyModel tiny({});
    tiny.tensors["blk.1.ffn_up.weight"].values[77] = bad;
    tiny.tensors["blk.1.ffn_up.weight"].values[1100] = bad;
    const auto bytes = tiny.bytes();
    const Status status = model::check_tensors(*gguf::File::from_memory(bytes, "tiny.gguf"));
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("blk.1.ffn_up.weight"), std::string::npos)
        << status.error().message;
    EXPECT_NE(status.error().message.find("found 2 of 1536"), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("first at 77"), std::string::npos) << status.error().message;
  }
}

TEST(CheckTensors, B12_AScaleThatIsNotFiniteIsSeen) {
  const auto demo = demo::model_bytes();
  std::vector<std::byte> bytes(demo.begin(), demo.end());
  const auto file = gguf::File::from_memory(bytes, "demo.gguf");
  ASSERT_TRUE(model::check_tensors(*file).ok());
  const gguf::TensorInfo* info = file->find_tensor("blk.2.ffn_down.weight");
  // The F16 scale of the second block becomes infinite: all its 32 elements with it, zeros as NaN.
  bytes[info->file_offset + 34] = std::byte{0x00};
  bytes[info->file_offset + 35] = std::byte{0x7c};
  const Status status = model::check_tensors(*gguf::File::from_memory(bytes, "demo.gguf"));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("\"blk.2.ffn_down.weight\""), std::string::npos)
      << status.error().message;
  EXPECT_NE(status.error().message.find("found 32 of"), std::string::npos) << status.error().message;
}

}  // namespace
}  // namespace inferno
