#include "model/expand.h"

#include <gtest/gtest.h>

#include "support/load.h"
#include "support/tiny_model.h"
#include "support/tiny_preset.h"

namespace inferno::test {
namespace {

gguf::File synthetic(DType dtype) {
  auto file = model::synthesize(tiny_spec("qwen3-0.6b", dtype));
  if (!file) throw std::runtime_error(file.error().message);
  return std::move(*file);
}

gguf::File expanded(const gguf::File& file, size_t n_threads) {
  auto result = model::expand_to_f32(file, {.n_threads = n_threads, .progress = {}});
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

TEST(ExpandCancelled, GivesUpBeforeTheNextPiece) {
  int n_asked = 0;
  const auto given_up =
      model::expand_to_f32(synthetic(DType::kQ8_0), {.cancelled = [&] { return ++n_asked == 2; }});
  ASSERT_FALSE(given_up.ok());
  EXPECT_EQ(given_up.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(n_asked, 2);
}

class Expand : public testing::TestWithParam<DType> {};

TEST_P(Expand, GivesTheSameLogitsAndTokensOnScalar) {
  const gguf::File file = synthetic(GetParam());
  const model::LoadedModel original = load(file);
  const model::LoadedModel f32 = load(expanded(file, 2));
  for (const gguf::TensorInfo& info : f32.model->file().tensors()) EXPECT_EQ(info.tensor.dtype, DType::kF32);
  const std::vector<int32_t> ids = random_ids(12, 600, 1);
  EXPECT_EQ(all_logits(*original.model, ids), all_logits(*f32.model, ids));

  engine::Request request;
  request.prompt_ids = ids;
  request.max_new_tokens = 12;
  request.ignore_end = true;
  metrics::Metrics metrics;
  const auto from_original = engine::generate(*original.model, original.tokenizer, request, metrics);
  const auto from_f32 = engine::generate(*f32.model, f32.tokenizer, request, metrics);
  ASSERT_TRUE(from_original.ok() && from_f32.ok());
  EXPECT_EQ(from_original->ids, from_f32->ids);
}

INSTANTIATE_TEST_SUITE_P(Types, Expand, testing::Values(DType::kQ8_0, DType::kQ6_K, DType::kBF16),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(ExpandMetadata, KeepsTheMetadataButForWhatSpeaksOfTheFile) {
  TinyModel tiny({});
  tiny.set("general.file_type", uint32_t{7});
  tiny.tensors["blk.0.attn_q.weight"].dtype = DType::kF16;
  const std::vector<std::byte> bytes = tiny.bytes();
  const auto file = gguf::File::from_memory(bytes, "tiny.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const gguf::File f32 = expanded(*file, 1);
  EXPECT_EQ(f32.metadata().size(), file->metadata().size() - 1);
  EXPECT_EQ(f32.find("general.file_type"), nullptr);
  EXPECT_EQ(f32.meta<std::string_view>("general.name").value(), "tiny");
  EXPECT_EQ(f32.path(), "tiny.gguf as F32");
  EXPECT_EQ(f32.find_tensor("blk.0.attn_q.weight")->tensor.dtype, DType::kF32);
}

}  // namespace
}  // namespace inferno::test
