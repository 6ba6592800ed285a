#include "model/check_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <random>

#include "base/thread_pool.h"
#include "gguf/writer.h"
#include "kernels/reference/reference.h"
#include "model/load.h"
#include "models/demo/demo_model.h"
#include "support/shared_data.h"
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

// A block is judged by its scales alone; the definition of the format judges every element.
TEST(CheckTensors, ScalesDecideAsTheElementsThemselvesDo) {
  for (uint32_t id = 0; id < 64; ++id) {
    const DTypeTraits* t = find_dtype(id);
    if (t == nullptr || !t->is_weight) continue;
    SCOPED_TRACE(t->name);
    constexpr int64_t kRow = 256, kRows = 1100;  // more than one thread takes at a time
    std::mt19937 random(id);
    std::vector<std::byte> data(row_bytes(t->dtype, kRow * kRows));
    for (std::byte& byte : data) byte = static_cast<std::byte>(random());
    std::vector<float> values(static_cast<size_t>(kRow * kRows));
    kernels::reference::dequantize(t->dtype, data.data(), values.data(), kRow * kRows);
    const auto not_finite = [](float value) { return !std::isfinite(value); };
    const auto count = std::count_if(values.begin(), values.end(), not_finite);
    const auto first = std::find_if(values.begin(), values.end(), not_finite) - values.begin();

    gguf::Writer writer;
    writer.add("general.architecture", "test");
    writer.add_tensor("w", t->dtype, std::vector<int64_t>{kRows, kRow}, data);
    const std::vector<std::byte> image = writer.bytes();
    const auto file = gguf::File::from_memory(image, "random.gguf");
    ASSERT_TRUE(file.ok()) << file.error().message;
    const std::vector<model::NotFinite> found = model::find_not_finite(*file).value();
    ASSERT_EQ(found.empty(), count == 0);
    EXPECT_GT(count, 0) << "random bytes should hold a NaN or infinity";
    if (found.empty()) continue;
    EXPECT_EQ(found[0].count, count);
    EXPECT_EQ(found[0].first, first);
  }
}

TEST(CheckTensors, WhatIsFoundIsInFileOrderWhateverTheOrderOfChecking) {
  test::TinyModel tiny({});
  for (auto& [name, tensor] : tiny.tensors) tensor.values.back() = std::numeric_limits<float>::infinity();
  const auto bytes = tiny.bytes();
  const auto file = gguf::File::from_memory(bytes, "tiny.gguf");
  const auto& tensors = file->tensors();
  ThreadPool pool(2);
  model::TensorChecker checker([&](int64_t n, const std::function<void(int64_t)>& fn) {
    pool.parallel_for(static_cast<size_t>(n), [&](size_t part) { fn(static_cast<int64_t>(part)); });
  });
  for (size_t i = tensors.size(); i-- > 0;) checker.check(tensors[i]);
  const std::vector<model::NotFinite> found = checker.found();
  ASSERT_EQ(found.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(found[i].info, &tensors[i]);
    EXPECT_EQ(found[i].count, 1);
    EXPECT_EQ(found[i].first, tensors[i].tensor.n_elements() - 1);
  }
}

TEST(CheckTensors, CopiesOfPartsInAnyOrderCountAsTheWhole) {
  test::TinyModel tiny({});
  std::vector<float>& values = tiny.tensors["blk.0.ffn_up.weight"].values;
  const auto n = static_cast<int64_t>(values.size());
  for (const int64_t i : {n / 4, n / 4 + 1, n - 1})
    values[static_cast<size_t>(i)] = std::numeric_limits<float>::infinity();
  const auto bytes = tiny.bytes();
  const auto file = gguf::File::from_memory(bytes, "tiny.gguf");
  const gguf::TensorInfo& info = *file->find_tensor("blk.0.ffn_up.weight");
  ThreadPool pool(2);
  model::TensorChecker checker([](int64_t, const std::function<void(int64_t)>&) {});
  constexpr int64_t kPart = 16;
  pool.parallel_for(static_cast<size_t>((n + kPart - 1) / kPart), [&](size_t part) {
    const int64_t first = (n - 1) / kPart * kPart - static_cast<int64_t>(part) * kPart;  // the last one first
    std::vector<float> copy(static_cast<size_t>(std::min(kPart, n - first)));
    const Status copied =
        file->copy(info, static_cast<size_t>(first) * sizeof(float), std::as_writable_bytes(std::span(copy)));
    ASSERT_TRUE(copied) << copied.error().message;
    checker.check_copy(info, first, static_cast<int64_t>(copy.size()), std::as_bytes(std::span(copy)).data());
  });
  const std::vector<model::NotFinite> found = checker.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].info, &info);
  EXPECT_EQ(found[0].first, n / 4);
  EXPECT_EQ(found[0].count, 3);
}

// What of a file is in this process's memory, in kB; nullopt where the system does not tell.
std::optional<long> resident_kb(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::optional<long> sum;
  bool is_of_file = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" kB") == std::string::npos) is_of_file = line.find(path) != std::string::npos;
    if (is_of_file && line.rfind("Rss:", 0) == 0) sum = sum.value_or(0) + std::stol(line.substr(4));
  }
  return sum;
}

// The pages of all weights beside the copies of the first would be the peak of a load's memory.
TEST(CheckTensors, ALoadThatChecksHoldsLittleOfTheFile) {
  const std::string path = std::filesystem::canonical(INFERNO_SOURCE_DIR "/models/demo/demo-tales-q8_0.gguf");
  constexpr long kLimit = 3000;  // of 6130; the largest tensor has 1088
  size_t n = 0;
  model::LoadOptions options;
  options.progress = [&](std::string_view, uint64_t, uint64_t) {
    ++n;
    EXPECT_LT(resident_kb(path).value_or(0), kLimit) << "after tensor " << n;
  };
  for (const auto check : {model::TensorCheck::kAuto, model::TensorCheck::kStrict}) {
    options.tensor_check = check;
    const auto loaded = model::load_from_gguf_path(path, *backend::create_backend("parallel"), options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_TRUE(loaded->warnings.empty());
  }
  EXPECT_GT(n, 100u);
}

TEST(CheckTensors, B14_LoadingWarnsRefusesOrIsSilentAsAsked) {
  test::TinyModel tiny({});
  tiny.tensors["blk.0.ffn_up.weight"].values[3] = std::numeric_limits<float>::quiet_NaN();
  tiny.tensors["blk.1.ffn_up.weight"].values[0] = std::numeric_limits<float>::infinity();
  const auto bytes = tiny.bytes();
  const auto load = [&](model::TensorCheck check) {
    model::LoadOptions options;
    options.tensor_check = check;
    return model::load_from_gguf(*gguf::File::from_memory(bytes, "tiny.gguf"),
                                 *backend::create_backend("scalar"), options);
  };
  // From a file: checked as it is copied.
  const auto path = test::scratch_dir("check_tensors") / "tiny.gguf";
  test::write_file(path, bytes);
  const auto copied = model::load_from_gguf_path(
      path.string(), *backend::create_backend("parallel"),
      {.tensor_check = model::TensorCheck::kStrict, .repack_cache = "", .progress = {}, .cancelled = {}});
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().message, model::check_tensors(*gguf::File::open(path.string())).error().message);
  const auto warned = load(model::TensorCheck::kAuto);
  ASSERT_TRUE(warned.ok()) << warned.error().message;
  ASSERT_EQ(warned->warnings.size(), 1u);
  EXPECT_NE(warned->warnings[0].find("\"blk.0.ffn_up.weight\""), std::string::npos) << warned->warnings[0];
  EXPECT_NE(warned->warnings[0].find("1 more tensors"), std::string::npos) << warned->warnings[0];
  const auto silent = load(model::TensorCheck::kNone);
  ASSERT_TRUE(silent.ok());
  EXPECT_TRUE(silent->warnings.empty());
  const auto refused = load(model::TensorCheck::kStrict);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidFile);
}

}  // namespace
}  // namespace inferno
