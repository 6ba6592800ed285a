#include "model/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "support/load.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"
#include "support/tiny_preset.h"

namespace inferno::test {
namespace {

gguf::File made(const model::SyntheticSpec& spec, const model::SynthesizeOptions& options = {}) {
  auto file = model::synthesize(spec, options);
  if (!file) throw std::runtime_error(file.error().message);
  return std::move(*file);
}

// The bytes that a File in memory was read from.
std::string image(const gguf::File& file) {
  const gguf::TensorInfo& first = file.tensors().front();
  return {first.tensor.as<const char>() - first.file_offset, file.file_bytes()};
}

std::string refusal(std::string_view spec) {
  const auto parsed = model::parse_synthetic(spec);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  return parsed.error().message;
}

TEST(SyntheticSpec, IsReadInAnyCase) {
  const auto spec = model::parse_synthetic("Synthetic:Qwen3-0.6B:Q4_k:17");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->preset.name, "qwen3-0.6b");
  EXPECT_EQ(spec->dtype, DType::kQ4_K);
  EXPECT_EQ(spec->seed, 17u);
  EXPECT_EQ(model::synthetic_path(*spec), "synthetic:qwen3-0.6b:q4_k:17");
  EXPECT_EQ(model::synthetic_path(*model::parse_synthetic("synthetic:gemma-3-1b:bf16:0")),
            "synthetic:gemma-3-1b:bf16");
}

TEST(SyntheticSpec, MayBeAMix) {
  const auto spec = model::parse_synthetic("synthetic:qwen3-0.6b:Q4_K_M:3");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  ASSERT_TRUE(spec->mix.has_value());
  EXPECT_EQ(spec->mix->name, "Q4_K_M");
  EXPECT_EQ(spec->dtype, DType::kQ4_K);
  EXPECT_EQ(model::type_name(*spec), "Q4_K_M");
  EXPECT_EQ(model::synthetic_path(*spec), "synthetic:qwen3-0.6b:q4_k_m:3");
  EXPECT_FALSE(model::parse_synthetic("synthetic:qwen3-0.6b:q4_k")->mix.has_value());
}

TEST(SyntheticSpec, NamesWhatIsWrongAndWhatWasMeant) {
  EXPECT_EQ(refusal("synthetic:qwen3-0.6b:q8_0"), "");
  const std::string preset = refusal("synthetic:qwen-0.6b:q8_0");
  EXPECT_NE(preset.find("preset: expected one of qwen3-0.6b, "), std::string::npos) << preset;
  EXPECT_NE(preset.find("found \"qwen-0.6b\"; did you mean qwen3-0.6b?"), std::string::npos) << preset;
  const std::string type = refusal("synthetic:qwen3-0.6b:q4_k_n");
  EXPECT_NE(type.find("weight type: expected one of f32, f16, "), std::string::npos) << type;
  EXPECT_NE(type.find(", q5_k_m, q5_k_s, q4_k_m, q4_k_s, q3_k_m, found"), std::string::npos) << type;
  EXPECT_NE(type.find("did you mean q4_k_m?"), std::string::npos) << type;
  EXPECT_EQ(type.find("i32"), std::string::npos) << "not a weight type";
  for (const char* spec : {"synthetic:qwen3-0.6b:q8_0:1:2", "model.gguf"}) {
    EXPECT_NE(refusal(spec).find("expected synthetic:PRESET[:TYPE[:SEED]]"), std::string::npos) << spec;
  }
  for (const char* seed : {"", "-1", "x", "1 ", "18446744073709551616"}) {
    EXPECT_NE(refusal(fmt::format("synthetic:qwen3-0.6b:q8_0:{}", seed)).find("seed: expected"),
              std::string::npos)
        << seed;
  }
}

TEST(Synthetic, IsTheSameWithAnyNumberOfThreadsAndDiffersBySeed) {
  const auto spec = tiny_spec("llama-3.2-1b", DType::kQ4_K);
  const std::string one = image(made(spec, {.n_threads = 1}));
  EXPECT_EQ(one, image(made(spec, {.n_threads = 3})));
  EXPECT_NE(one, image(made(tiny_spec("llama-3.2-1b", DType::kQ4_K, 1))));
}

TEST(Synthetic, IsWrittenByteForByteAsItIsInMemory) {
  const auto spec = tiny_spec("gemma-3-1b", DType::kQ8_0, 5);
  const std::string path = (scratch_dir("synthetic") / "out.gguf").string();
  const auto bytes = model::write_synthetic(spec, path);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const std::string written = read_file(path);
  EXPECT_EQ(*bytes, written.size());
  EXPECT_TRUE(written == image(made(spec)));
  const auto file = gguf::File::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->warnings().empty());
}

// What `inferno quantize` would have made of the same model; only what it says of itself is new.
TEST(Synthetic, AMixGivesEachTensorTheTypeThatQuantizingDoes) {
  for (const char* preset : {"qwen3-0.6b", "qwen3-8b"}) {
    const gguf::File unquantized = made(tiny_spec(preset, DType::kF16));
    EXPECT_EQ(unquantized.find("general.file_type"), nullptr) << "as before there were mixes";
    for (const quantize::FileType& type : quantize::file_types()) {
      if (!quantize::is_mix(type)) continue;
      const gguf::File mixed = made(tiny_mix_spec(preset, type.name));
      const std::vector<DType> expected = quantize::tensor_types(unquantized, type);
      ASSERT_EQ(mixed.tensors().size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(mixed.tensors()[i].tensor.dtype, expected[i])
            << type.name << " " << mixed.tensors()[i].name;
      }
      EXPECT_EQ(*mixed.meta<uint32_t>("general.file_type"), type.id);
    }
  }
  const gguf::File tied = made(tiny_mix_spec("qwen3-0.6b", "Q4_K_M"));
  EXPECT_EQ(tied.find_tensor("token_embd.weight")->tensor.dtype, DType::kQ6_K);
  EXPECT_EQ(tied.find_tensor("blk.0.ffn_down.weight")->tensor.dtype, DType::kQ4_K);
  EXPECT_EQ(tied.find_tensor("blk.1.ffn_down.weight")->tensor.dtype, DType::kQ6_K) << "the last eighth";
}

TEST(Synthetic, RowsThatAreNoWholeBlocksOfAMixAreStoredAsQuantizersDo) {
  model::SyntheticSpec spec = tiny_mix_spec("qwen3-0.6b", "Q4_K_M");
  spec.preset.dim = 128;
  const gguf::File file = made(spec);
  EXPECT_EQ(file.find_tensor("token_embd.weight")->tensor.dtype, DType::kQ8_0);
  EXPECT_EQ(file.find_tensor("blk.0.attn_q.weight")->tensor.dtype, DType::kQ5_0);
  EXPECT_EQ(file.find_tensor("blk.0.ffn_down.weight")->tensor.dtype, DType::kQ4_K);
}

class SyntheticModel : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

// Unit variance over the vocabulary is what the weights are drawn for; a broken one would be far from it.
TEST_P(SyntheticModel, HasFiniteLogitsOfUnitVarianceAndGenerates) {
  const auto& [preset, type] = GetParam();
  model::SyntheticSpec spec = *model::parse_synthetic(fmt::format("synthetic:{}:{}", preset, type));
  spec.preset = tiny_preset(preset);
  const model::LoadedModel loaded = load(made(spec));
  EXPECT_TRUE(loaded.warnings.empty());
  const std::vector<int32_t> ids = random_ids(24, 300, 3);
  double sum = 0;
  double squares = 0;
  const std::vector<float> logits = all_logits(*loaded.model, ids);
  for (const double logit : logits) {
    ASSERT_TRUE(std::isfinite(logit));
    sum += logit;
    squares += logit * logit;
  }
  const auto n = static_cast<double>(logits.size());
  EXPECT_NEAR(sum / n, 0, 0.2);
  EXPECT_NEAR(std::sqrt(squares / n), 1, 0.3);

  engine::Request request;
  request.prompt_ids = ids;
  request.max_new_tokens = 8;
  request.ignore_end = true;
  metrics::Metrics metrics;
  const auto generated = engine::generate(*loaded.model, loaded.tokenizer, request, metrics);
  ASSERT_TRUE(generated.ok()) << generated.error().message;
  EXPECT_EQ(generated->ids.size(), 8u);
}

INSTANTIATE_TEST_SUITE_P(FamiliesAndTypes, SyntheticModel,
                         testing::Combine(testing::Values("qwen3-0.6b", "qwen3-8b", "llama-3.2-1b",
                                                          "gemma-3-1b", "gemma-3-4b"),
                                          testing::Values("q8_0", "q4_k", "q4_k_m", "bf16")));

TEST(Synthetic, HasTheFamilysRopesAndWindows) {
  const auto llama = model::read_config(made(tiny_spec("llama-3.2-1b", DType::kQ8_0)));
  ASSERT_TRUE(llama.ok()) << llama.error().message;
  EXPECT_EQ(llama->ropes[0].theta, 5e5);
  const auto gemma = model::read_config(made(tiny_spec("gemma-3-4b", DType::kQ8_0)));
  ASSERT_TRUE(gemma.ok()) << gemma.error().message;
  EXPECT_EQ(gemma->ropes[0].scale, 8);
  EXPECT_EQ(gemma->ropes[1].theta, 1e4);
  EXPECT_EQ(gemma->layers[0].window, 16);
}

// Pairs of head size 64 and base 500000: the first keep their frequency, the last are stretched by 32.
TEST(Synthetic, HasTheRopeFactorsOfItsRow) {
  const gguf::File file = made(tiny_spec("llama-3.2-1b", DType::kQ8_0));
  const Tensor& factors = file.find_tensor("rope_freqs.weight")->tensor;
  ASSERT_EQ(factors.n_elements(), 32);
  const auto* values = factors.as<const float>();
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[31], 32);
  for (int i = 1; i < 32; ++i) EXPECT_GE(values[i], values[i - 1]) << i;
  // Pair 15 has wavelength 2 pi 500000^(30/64) = 2951.3 within 2048 … 8192: 8192 / 2951.3 periods of 1 … 4.
  const double kept = (8192 / (2 * M_PI * std::pow(5e5, 30.0 / 64)) - 1) / 3;
  EXPECT_NEAR(values[15], 1 / ((1 - kept) / 32 + kept), 1e-5);
}

TEST(Synthetic, TooLargeForMemoryIsRefusedWithTheSum) {
  model::SyntheticSpec spec = tiny_spec("qwen3-0.6b", DType::kF64);
  spec.preset.n_layers = 4000;
  spec.preset.hidden_dim = 1 << 19;
  spec.preset.dim = 1 << 19;
  const auto file = model::synthesize(spec);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kResource);
  EXPECT_NE(file.error().message.find(": needs 26.4 PB of memory, "), std::string::npos)
      << file.error().message;
}

TEST(Synthetic, IsReportedAsItGrowsAndCanBeCancelled) {
  uint64_t last = 0;
  uint64_t all = 0;
  const auto spec = tiny_spec("qwen3-0.6b", DType::kQ8_0);
  made(spec, {.progress = [&](std::string_view, uint64_t done, uint64_t total) {
         EXPECT_GT(done, last);
         last = done;
         all = total;
       }});
  EXPECT_EQ(last, all);
  EXPECT_GT(all, 0u);
  const CancelFn cancelled = [] { return true; };
  const auto folder = scratch_dir("synthetic_cancelled");
  const auto written = model::write_synthetic(spec, (folder / "x.gguf").string(), {.cancelled = cancelled});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace inferno::test
