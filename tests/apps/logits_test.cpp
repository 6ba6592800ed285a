// `inferno logits`: what it writes is what the engine computes, bit for bit.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/npy.h"
#include "support/canary.h"
#include "support/load.h"
#include "support/run_program.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"

namespace inferno::test {
namespace {

class Logits : public testing::Test {
 protected:
  void SetUp() override {
    const auto bytes = TinyModel({}).bytes();
    write_file(model_, bytes);
  }

  Finished logits(const std::string& arguments) const {
    return run_program("inferno", "logits " + model_ + " " + arguments);
  }

  std::filesystem::path dir_ = scratch_dir("logits");
  std::string model_ = (dir_ / "model.gguf").string();
  std::string output_ = (dir_ / "logits.npy").string();
};

TEST_F(Logits, AreThoseOfTheEngineBitForBit) {
  const std::vector<int32_t> ids = {1, 2, 3, 299, 0, 7};
  const model::LoadedModel loaded = load_path(model_, "auto");
  for (const auto& [name, type] :
       {std::pair{"f16", DType::kF16}, std::pair{"f32", DType::kF32}, std::pair{"bf16", DType::kBF16}}) {
    const Finished finished =
        logits(fmt::format("--prompt-ids 1,2,3,299,0,7 --kv-type {} -o {}", name, output_));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(finished.err, output_ + ": wrote 7.3 KB\n");
    const auto array = npy::read(output_);
    ASSERT_TRUE(array.ok()) << array.error().message;
    EXPECT_EQ(array->shape, (std::vector<int64_t>{6, 300}));
    EXPECT_TRUE(same_bits(array->data, all_logits(*loaded.model, ids, type))) << name;
  }
}

TEST_F(Logits, ACacheTypeThatTheHeadsDoNotFitIsRefused) {
  const Finished finished = logits("--prompt-ids 1,2,3 --kv-type q8_0 -o " + output_);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.err.find("the head_dim has to be a multiple of 32; that of layer 0 is 8"),
            std::string::npos)
      << finished.err;
}

TEST_F(Logits, NothingIsWrittenWhenItFails) {
  EXPECT_EQ(logits("--prompt-ids 1,300 -o " + output_).exit_code, 2);
  EXPECT_EQ(logits("--prompt-ids 1 -o " + (dir_ / "nowhere" / "x.npy").string()).exit_code, 1);
  EXPECT_EQ(logits("--prompt-ids 1 -o " + dir_.string()).exit_code, 1);
  EXPECT_EQ(run_program("inferno", "logits " + model_ + "x.gguf --prompt-ids 1 -o " + output_).exit_code, 1);
  std::string long_prompt = "1";
  for (int i = 0; i < 600; ++i) long_prompt += ",1";
  EXPECT_EQ(logits("--prompt-ids " + long_prompt + " -o " + output_).exit_code, 1);
  // Only the model is there, no temporary file either.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_), {}), 1);
}

TEST_F(Logits, WrongUsageIsTwo) {
  EXPECT_EQ(logits("--prompt-ids 1").exit_code, 2);
  EXPECT_EQ(logits("-o " + output_).exit_code, 2);
  EXPECT_EQ(logits("--prompt-ids 1,,-2 -o " + output_).exit_code, 2);
}

}  // namespace
}  // namespace inferno::test
