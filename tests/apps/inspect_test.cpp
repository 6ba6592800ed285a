// `inferno inspect` and gguf-inspect, called as a user calls them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "gguf/writer.h"
#include "support/raw_gguf.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

class Inspect : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::string> tokens(5000, "token");
    const std::vector<float> norm(64, 1.0f);
    const std::vector<std::byte> blocks(4 * 2 * 34);
    const std::vector<int64_t> norm_shape = {64}, blocks_shape = {4, 64};
    gguf::Writer writer;
    writer.add("general.architecture", "test");
    writer.add("general.name", "bytes \xff\xfe and \x1b[31m");
    writer.add("test.template", std::string(5000, 't'));
    writer.add("test.epsilon", 1e-6f);
    writer.add("test.nothing", std::numeric_limits<double>::quiet_NaN());
    writer.add("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
    writer.add_tensor("norm.weight", DType::kF32, norm_shape, std::as_bytes(std::span(norm)));
    writer.add_tensor("output.weight", DType::kQ8_0, blocks_shape, blocks);
    ASSERT_TRUE(writer.save(path_).ok());
  }

  void write(const std::vector<std::byte>& bytes) const { write_file(path_, bytes); }

  std::string path_ = (scratch_dir("inspect") / "model.gguf").string();
};

TEST_F(Inspect, B10_TrailingBytesAreAWarningOrRefusedWhenStrict) {
  EXPECT_EQ(run_program("inferno", "inspect --strict " + path_).exit_code, 0);
  std::ofstream(path_, std::ios::binary | std::ios::app) << std::string(100, 'x');
  const Finished lenient = run_program("inferno", "inspect " + path_);
  EXPECT_EQ(lenient.exit_code, 0);
  EXPECT_TRUE(contains(lenient.err, "belong to no tensor")) << lenient.err;
  const Finished strict = run_program("inferno", "inspect --strict " + path_);
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_EQ(strict.out, "");
  EXPECT_TRUE(contains(strict.err, "belong to no tensor")) << strict.err;
}

TEST_F(Inspect, B14_CheckTensorsReadsEveryWeight) {
  const Finished fine = run_program("inferno", "inspect --check-tensors " + path_);
  EXPECT_EQ(fine.exit_code, 0);
  EXPECT_EQ(fine.err, "all weights are finite\n");
  const std::vector<float> bad = {1.0f, std::numeric_limits<float>::infinity()};
  gguf::Writer writer;
  writer.add("general.architecture", "test");
  writer.add_tensor("norm.weight", DType::kF32, std::vector<int64_t>{2}, std::as_bytes(std::span(bad)));
  ASSERT_TRUE(writer.save(path_).ok());
  const Finished finished = run_program("inferno", "inspect --check-tensors " + path_);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_TRUE(contains(finished.err, "norm.weight")) << finished.err;
}

TEST_F(Inspect, ShowsHeaderMetadataTensorsAndTotals) {
  const Finished finished = run_program("inferno", "inspect " + path_);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  for (const char* part : {"GGUF version 3", "6 keys", "string[5000]  [\"token\", \"token\"", "…]",
                           "(5,000 bytes)", "\\xff\\xfe", "1e-06", "output.weight  Q8_0  [4, 64]  272 bytes",
                           "Q8_0        1       256  272 bytes         8.50",
                           "all         2       320  528 bytes        13.20"}) {
    EXPECT_TRUE(contains(finished.out, part)) << part << "\nis not in\n" << finished.out;
  }
  EXPECT_LT(finished.out.size(), 4000u);
  EXPECT_FALSE(contains(finished.out, "\x1b")) << "control codes off a terminal";
  EXPECT_EQ(run_program("gguf-inspect", path_).out, finished.out);
}

TEST_F(Inspect, FullShowsEverything) {
  const Finished finished = run_program("inferno", "inspect --full " + path_);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, std::string(5000, 't')));
  EXPECT_FALSE(contains(finished.out, "…"));
}

TEST_F(Inspect, JsonHoldsEverything) {
  const Finished finished = run_program("gguf-inspect", "--json " + path_);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto json = parse_json(finished.out).value();
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(path_));
  const auto& metadata = json["metadata"];
  EXPECT_EQ(metadata["tokenizer.ggml.tokens"]["element_type"], "string");
  EXPECT_EQ(metadata["tokenizer.ggml.tokens"]["value"].size(), 5000u);
  EXPECT_EQ(metadata["general.name"]["value"], "bytes \ufffd\ufffd and \x1b[31m");
  EXPECT_EQ(metadata["test.epsilon"]["value"].get<float>(), 1e-6f);
  EXPECT_TRUE(metadata["test.nothing"]["value"].is_null());
  const auto& output = json["tensors"][1];
  EXPECT_EQ(output["name"], "output.weight");
  EXPECT_EQ(output["shape"], Json({4, 64}));
  EXPECT_EQ(output["bytes"], 272);
  EXPECT_EQ(output["file_offset"], json["data_offset"].get<uint64_t>() + output["offset"].get<uint64_t>());
  EXPECT_EQ(json["totals"].back()["tensors"], 2);
}

TEST_F(Inspect, WarnsOnStderr) {
  std::ofstream(path_, std::ios::app) << std::string(100, 'x');
  const Finished finished = run_program("inferno", "inspect " + path_);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_TRUE(contains(finished.err, "warning:")) << finished.err;
  EXPECT_TRUE(contains(finished.err, "belong to no tensor")) << finished.err;
  const auto json = parse_json(run_program("inferno", "inspect --json " + path_).out).value();
  EXPECT_EQ(json["warnings"].size(), 1u);
}

TEST_F(Inspect, ABadFileIsOneLineAndExitCodeOne) {
  write(RawGguf().header(0, 1).key_u32("general.alignment", 13).bytes());
  for (const char* options : {"", "--json "}) {
    const Finished finished = run_program("inferno", "inspect " + std::string(options) + path_);
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    EXPECT_TRUE(contains(finished.err, "general.alignment")) << finished.err;
  }
  EXPECT_EQ(run_program("gguf-inspect", path_ + ".none").exit_code, 1);
}

TEST_F(Inspect, WrongUsageIsExitCodeTwo) {
  EXPECT_EQ(run_program("inferno", "inspect").exit_code, 2);
  EXPECT_EQ(run_program("gguf-inspect", "").exit_code, 2);
  EXPECT_EQ(run_program("gguf-inspect", "--unknown " + path_).exit_code, 2);
}

}  // namespace
}  // namespace inferno::test
