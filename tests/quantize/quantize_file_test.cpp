#include "quantize/quantize_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "gguf/split.h"
#include "gguf/writer.h"
#include "kernels/reference/reference.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"
#include "tensor/half.h"

namespace inferno::test {
namespace {

quantize::FileType file_type(std::string_view name) {
  return *quantize::parse_file_type(name);
}

class QuantizeFile : public testing::Test {
 protected:
  Result<quantize::Report> run(std::string_view type, const quantize::Options& options = {}) {
    bytes_ = model_.bytes();
    auto file = gguf::File::from_memory(bytes_, "in.gguf");
    EXPECT_TRUE(file.ok());
    return quantize::quantize_file(*file, file_type(type), path_, options);
  }
  gguf::File result() const {
    auto file = gguf::File::open(path_);
    if (!file) throw std::runtime_error(file.error().message);
    return std::move(*file);
  }
  bool leaves_nothing() const { return std::filesystem::is_empty(dir_); }

  std::filesystem::path dir_ = scratch_dir("quantize_file");
  std::string path_ = (dir_ / "out.gguf").string();
  TinyModel model_{{.dim = 256, .hidden_dim = 512}};
  std::vector<std::byte> bytes_;
};

TEST_F(QuantizeFile, TheHeadMayHaveAFormatOfItsOwn) {
  quantize::FileType type = file_type("Q4_0");
  type.head = DType::kQ6_K;
  const auto before = *gguf::File::from_memory(bytes_ = model_.bytes(), "in.gguf");
  ASSERT_TRUE(quantize::quantize_file(before, type, path_).ok());
  const gguf::File after = result();
  EXPECT_EQ(quantize::quantized_bytes(before, type), after.file_bytes())
      << "what a disk has to have room for";
  EXPECT_EQ(*after.meta<uint32_t>("general.file_type"), 2u) << "as published files of this kind have it";
  for (const gguf::TensorInfo& info : after.tensors()) {
    if (info.tensor.n_dims < 2) continue;
    EXPECT_EQ(info.tensor.dtype, info.name == "token_embd.weight" ? DType::kQ6_K : DType::kQ4_0) << info.name;
  }
}

TEST_F(QuantizeFile, KeepsTensorsInOrderAndMetadataByteForByte) {
  model_.set("general.file_type", uint32_t{0});
  model_.set("split.count", uint32_t{1});
  model_.set("a.double", 0.1);
  model_.set_bools("a.flags", {true, false, true});
  ASSERT_TRUE(run("Q4_K_M").ok());
  const auto before = *gguf::File::from_memory(bytes_, "in.gguf");
  const gguf::File after = result();

  EXPECT_EQ(quantize::quantized_bytes(before, *quantize::parse_file_type("Q4_K_M")), after.file_bytes());
  ASSERT_EQ(after.metadata().size(), before.metadata().size());  // without split.count, with the version
  for (const auto& [key, value] : before.metadata()) {
    if (key == "general.file_type" || key.starts_with("split.")) continue;
    const gguf::Value* kept = after.find(key);
    ASSERT_NE(kept, nullptr) << key;
    EXPECT_EQ(kept->type, value.type) << key;
    EXPECT_TRUE(
        std::equal(kept->payload.begin(), kept->payload.end(), value.payload.begin(), value.payload.end()))
        << key;
  }
  EXPECT_EQ(*after.meta<uint32_t>("general.file_type"), 15u);
  EXPECT_EQ(*after.meta<uint32_t>("general.quantization_version"), 2u);
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  for (size_t i = 0; i < before.tensors().size(); ++i) {
    EXPECT_EQ(after.tensors()[i].name, before.tensors()[i].name);
    EXPECT_EQ(after.tensors()[i].tensor.shape, before.tensors()[i].tensor.shape);
  }
}

TEST_F(QuantizeFile, ReportsWhatReadingBackGives) {
  const auto report = run("Q8_0");
  ASSERT_TRUE(report.ok()) << report.error().message;
  const gguf::File after = result();
  EXPECT_EQ(report->bytes_before, bytes_.size());
  EXPECT_EQ(report->bytes_after, std::filesystem::file_size(path_));
  for (const quantize::QuantizedTensor& entry : report->tensors) {
    const Tensor& stored = after.find_tensor(entry.name)->tensor;
    EXPECT_EQ(entry.to, stored.dtype);
    EXPECT_EQ(entry.to, stored.n_dims == 2 ? DType::kQ8_0 : DType::kF32);
    EXPECT_EQ(entry.bytes_after, stored.bytes());
    const std::vector<float>& source = model_.tensors.at(entry.name).values;
    std::vector<float> values(source.size());
    kernels::reference::dequantize(stored.dtype, stored.data, values.data(),
                                   static_cast<int64_t>(values.size()));
    double error = 0, power = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      error += std::pow(double{values[i]} - double{source[i]}, 2);
      power += std::pow(double{source[i]}, 2);
    }
    EXPECT_NEAR(entry.distance.relative_rmse(), std::sqrt(error / power), 1e-12) << entry.name;
  }
}

TEST_F(QuantizeFile, TheBytesAreTheSameWithAnyNumberOfThreads) {
  for (const char* type : {"Q4_K_M", "Q4_0", "IQ4_XS"}) {
    const auto one = run(type, {.n_threads = 1});
    const std::string expected = read_file(path_);
    for (const size_t n_threads : {2, 5}) {
      const auto many = run(type, {.n_threads = n_threads});
      ASSERT_TRUE(one.ok() && many.ok());
      EXPECT_EQ(read_file(path_), expected) << type << " " << n_threads;
      for (size_t i = 0; i < one->tensors.size(); ++i) {
        EXPECT_EQ(one->tensors[i].distance.error, many->tensors[i].distance.error);
      }
    }
  }
}

TEST_F(QuantizeFile, F32OfQuantizedIsExactAndTheWayBackChangesNothing) {
  ASSERT_TRUE(run("Q8_0").ok());
  const std::string f32 = (dir_ / "f32.gguf").string(), back = (dir_ / "back.gguf").string();
  const auto up = quantize::quantize_file(result(), file_type("F32"), f32);
  ASSERT_TRUE(up.ok());
  const auto down = quantize::quantize_file(*gguf::File::open(f32), file_type("Q8_0"), back);
  ASSERT_TRUE(down.ok());
  EXPECT_EQ(gguf::File::open(f32)->find("general.quantization_version"), nullptr);
  for (const quantize::QuantizedTensor& tensor : up->tensors)
    EXPECT_EQ(tensor.distance.error, 0) << tensor.name;
  for (const quantize::QuantizedTensor& tensor : down->tensors)
    EXPECT_EQ(tensor.distance.error, 0) << tensor.name;
  // A format that does not change is copied.
  const auto again = quantize::quantize_file(*gguf::File::open(back), file_type("Q8_0"), f32);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(read_file(f32), read_file(back));
}

TEST_F(QuantizeFile, RowsThatAreNoWholeBlocksTakeAnotherFormat) {
  model_ = TinyModel({.dim = 64, .hidden_dim = 48});
  const auto report = run("Q4_K");
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (const quantize::QuantizedTensor& tensor : report->tensors) {
    if (tensor.name.find("norm") != std::string::npos) continue;
    EXPECT_EQ(tensor.wanted, DType::kQ4_K);
    EXPECT_EQ(tensor.to, tensor.name.find("ffn_down") != std::string::npos ? DType::kF16 : DType::kQ5_0)
        << tensor.name;
  }
}

TEST_F(QuantizeFile, ShardsBecomeOneFile) {
  const std::vector<float> values(512, 0.5f);
  const std::vector<int64_t> shape = {2, 256};
  for (uint32_t i = 0; i < 2; ++i) {
    gguf::Writer writer;
    writer.add("general.architecture", "test");
    writer.add("split.no", i);
    writer.add("split.count", uint32_t{2});
    writer.add("split.tensors.count", int32_t{2});
    writer.add_tensor(fmt::format("t{}.weight", i), DType::kF32, shape, std::as_bytes(std::span(values)));
    ASSERT_TRUE(writer.save(gguf::shard_path({(dir_ / "in").string(), i + 1, 2})).ok());
  }
  const std::string second = gguf::shard_path({(dir_ / "in").string(), 2, 2});
  const auto file = gguf::File::open(second);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(quantize::quantize_file(*file, file_type("Q8_0"), path_).ok());
  EXPECT_EQ(result().tensors().size(), 2u);
  EXPECT_EQ(result().find("split.count"), nullptr);
  // No shard is written over.
  const auto refused = quantize::quantize_file(*file, file_type("Q8_0"), second);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(QuantizeFile, NamesTheWeightThatCannotBeStored) {
  const auto refusal = [&](const char* type, float value) {
    model_.tensors.at("blk.1.attn_k.weight").values[700] = value;
    const auto report = run(type);
    if (report.ok()) return std::string("written");
    EXPECT_EQ(report.error().code, ErrorCode::kInvalidFile);
    EXPECT_TRUE(leaves_nothing());
    EXPECT_NE(report.error().message.find("in.gguf: tensor \"blk.1.attn_k.weight\""), std::string::npos);
    return report.error().message.substr(report.error().message.find("): ") + 3);
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal("Q4_K", NAN), "expected finite weights, element 700 is nan");
  EXPECT_EQ(refusal("F32", kInfinity), "expected finite weights, element 700 is inf");
  EXPECT_EQ(refusal("Q4_0", -70000.0f),
            "expected weights that Q4_0 can hold, up to 65504, element 700 is -70000");
  EXPECT_EQ(refusal("F16", 1e30f), "expected weights that F16 can hold, up to 65504, element 700 is 1e+30");
  EXPECT_EQ(refusal("BF16", 1e30f), "written");
}

TEST_F(QuantizeFile, ACancelledOneLeavesNothing) {
  const std::atomic<bool> cancelled{true};
  const auto report = run("Q8_0", {.cancelled = &cancelled});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(QuantizeFile, ProgressEndsAtTheTensorsBytes) {
  uint64_t last = 0, end = 0;
  ASSERT_TRUE(run("Q8_0", {.progress =
                               [&](std::string_view, uint64_t done, uint64_t total) {
                                 EXPECT_GT(done, last);
                                 last = done;
                                 end = total;
                               }})
                  .ok());
  EXPECT_EQ(last, end);
  EXPECT_LE(end, bytes_.size());
}

}  // namespace
}  // namespace inferno::test
