// Metadata that a model cannot have, and what its config says when it can.
#include "model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/bad_model.h"

namespace inferno {
namespace {

using test::BadModel;
using test::TinyModel;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const test::TinySpec kGemma{.arch = "gemma3", .window = 4};

// `qwen3.<suffix>` is another value than the tiny model has.
template <class T>
BadModel with(std::string id, const std::string& suffix, T value, std::vector<std::string> words) {
  const std::string key = "qwen3." + suffix;
  words.push_back(key);
  return {std::move(id), [key, value](TinyModel& m) { m.set(key, value); }, std::move(words)};
}

BadModel with_array(std::string id, const std::string& suffix, std::vector<uint32_t> values,
                    std::vector<std::string> words) {
  const std::string key = "qwen3." + suffix;
  words.push_back(key);
  return {std::move(id), [key, values](TinyModel& m) { m.set_array(key, values); }, std::move(words)};
}

BadModel without(std::string id, const std::string& key) {
  return {std::move(id), [key](TinyModel& m) { m.metadata.erase(key); }, {key, "missing"}};
}

class BadConfig : public testing::TestWithParam<BadModel> {};

TEST_P(BadConfig, IsRefusedInOneLine) {
  test::expect_refused(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    MissingAndMistyped, BadConfig,
    testing::Values(
        without("A11_Architecture", "general.architecture"), without("A11_BlockCount", "qwen3.block_count"),
        without("A11_ContextLength", "qwen3.context_length"),
        without("A11_EmbeddingLength", "qwen3.embedding_length"),
        without("A11_FeedForwardLength", "qwen3.feed_forward_length"),
        without("A11_HeadCount", "qwen3.attention.head_count"),
        without("A11_NormEpsilon", "qwen3.attention.layer_norm_rms_epsilon"),
        without("A11_Tokens", "tokenizer.ggml.tokens"),
        with("A11_BlockCountIsAFloat", "block_count", 2.0f, {"integer", "f32"}),
        with("A11_BlockCountIsAString", "block_count", std::string("2"), {"integer", "string"}),
        with("A11_BlockCountIsABool", "block_count", true, {"integer", "bool"}),
        with("A11_BlockCountIsNegative", "block_count", int32_t{-1}, {"1 to 4096", "-1"}),
        with("A11_BlockCountNeeds64Bits", "block_count", uint64_t{1} << 63, {"i64", "9223372036854775808"}),
        with_array("A11_BlockCountIsAnArray", "block_count", {2, 2}, {"integer", "array"}),
        with("A11_EpsilonIsAnInteger", "attention.layer_norm_rms_epsilon", uint32_t{1}, {"f32", "u32"}),
        with("A11_ScalingTypeIsANumber", "rope.scaling.type", uint32_t{1}, {"string", "u32"}),
        BadModel{"A11_ArchitectureIsANumber",
                 [](TinyModel& m) { m.set("general.architecture", uint32_t{3}); },
                 {"general.architecture", "string", "u32"}},
        with("A11_CausalIsANumber", "attention.causal", 1.0f, {"bool"}),
        BadModel{"A11_TokensAreNumbers",
                 [](TinyModel& m) {
                   m.set_array("tokenizer.ggml.tokens", std::vector<uint32_t>{1, 2});
                 },
                 {"tokenizer.ggml.tokens", "array of strings"}},
        with("A12_EpsilonIsNan", "attention.layer_norm_rms_epsilon", kNan, {"finite", "nan"}),
        with("A12_EpsilonIsInfinite", "attention.layer_norm_rms_epsilon", static_cast<float>(kInf),
             {"finite", "inf"}),
        with("A12_EpsilonIsZero", "attention.layer_norm_rms_epsilon", 0.0f, {"found 0"}),
        with("A12_EpsilonIsNegative", "attention.layer_norm_rms_epsilon", -1e-5, {"found -1e-05"}),
        with("A12_EpsilonIsZeroAsAFloat", "attention.layer_norm_rms_epsilon", 1e-300, {"found 1e-300"}),
        with("A12_EpsilonIsHuge", "attention.layer_norm_rms_epsilon", 1e300, {"found 1e+300"}),
        with("A12_RopeBaseIsNan", "rope.freq_base", static_cast<float>(kNan), {"finite"}),
        with("A12_RopeBaseIsNegative", "rope.freq_base", -10000.0f, {"found -10000"}),
        with("A12_RopeBaseIsZero", "rope.freq_base", 0.0f, {"found 0"}),
        with("A12_RopeBaseOverflows", "rope.freq_base", 1e-300, {"found 1e-300"}),
        BadModel{"A13_Unknown",
                 [](TinyModel& m) { m.set("general.architecture", std::string("qwen9")); },
                 {"general.architecture", "llama", "qwen2", "qwen3", "gemma3", "\"qwen9\""}},
        BadModel{"A13_UnknownWithUnknownTokenizer",
                 [](TinyModel& m) {
                   m.set("general.architecture", std::string("bert"));
                   m.set("tokenizer.ggml.model", std::string("bert"));
                 },
                 {"general.architecture", "\"bert\""}},
        BadModel{"A13_UnknownOnTwoLines",
                 [](TinyModel& m) { m.set("general.architecture", std::string("qwen3\n\x1b[2J")); },
                 {"general.architecture", "\\n"}}),
    test::id_of);

INSTANTIATE_TEST_SUITE_P(
    Sizes, BadConfig,
    testing::Values(
        with("C1_NoHeads", "attention.head_count", uint32_t{0}, {"1 to", "found 0"}),
        with("C1_NoKvHeads", "attention.head_count_kv", uint32_t{0}, {"1 to", "found 0"}),
        with("C1_MoreKvHeadsThanHeads", "attention.head_count_kv", uint32_t{8},
             {"divisor of the 4", "found 8"}),
        with("C1_KvHeadsDoNotDivideHeads", "attention.head_count_kv", uint32_t{3},
             {"divisor of the 4", "found 3"}),
        BadModel{"C1_HeadsDoNotDivideTheEmbedding",
                 [](TinyModel& m) {
                   m.metadata.erase("qwen3.attention.key_length");
                   m.set("qwen3.attention.head_count", uint32_t{6});
                 },
                 {"qwen3.embedding_length", "multiple of 6 heads", "key_length is missing", "found 32"}},
        BadModel{"C1_MoreHeadsThanTheEmbedding",
                 [](TinyModel& m) {
                   m.metadata.erase("qwen3.attention.key_length");
                   m.set("qwen3.attention.head_count", uint32_t{64});
                   m.set("qwen3.attention.head_count_kv", uint32_t{64});
                 },
                 {"qwen3.embedding_length", "multiple of 64 heads"}},
        with("C1_HeadsTimesSizeIsHuge", "attention.head_count", uint32_t{1} << 20,
             {"heads of 8", "found 1048576"}),
        with("C1_HeadCountIsHuge", "attention.head_count", uint64_t{1} << 40, {"found 1099511627776"}),
        with("C1_EmbeddingIsHuge", "embedding_length", uint64_t{1} << 62, {"1 to 1048576"}),
        with("C1_NoEmbedding", "embedding_length", uint32_t{0}, {"found 0"}),
        with("C1_HiddenIsHuge", "feed_forward_length", uint32_t{1} << 31, {"found 2147483648"}),
        with("C1_NoHidden", "feed_forward_length", uint32_t{0}, {"found 0"}),
        with("C2_NoKeyLength", "attention.key_length", uint32_t{0}, {"found 0"}),
        with("C2_KeyLengthIsHuge", "attention.key_length", uint64_t{1} << 33, {"found 8589934592"}),
        with("C2_ValuesAreLongerThanKeys", "attention.value_length", uint32_t{16},
             {"8, the length of keys", "found 16"}),
        with("C2_OddRotaryDimension", "rope.dimension_count", uint32_t{7},
             {"even", "head size 8", "found 7"}),
        with("C2_RotaryBeyondTheHead", "rope.dimension_count", uint32_t{10}, {"head size 8", "found 10"}),
        with("C2_NoRotaryDimension", "rope.dimension_count", uint32_t{0}, {"found 0"}),
        with("C2_RotaryIsHuge", "rope.dimension_count", uint64_t{1} << 40, {"found 1099511627776"}),
        with_array("C2_RopeSections", "rope.dimension_sections", {2, 1, 1, 0}, {"one dimension"}),
        with("C3_NoBlocks", "block_count", uint32_t{0}, {"1 to 4096", "found 0"}),
        with("C3_BillionsOfBlocks", "block_count", uint32_t{1} << 31, {"found 2147483648"}),
        with("C8_NoContext", "context_length", uint32_t{0}, {"found 0"}),
        with("C8_ContextIsHuge", "context_length", uint64_t{1} << 40, {"found 1099511627776"}),
        with("C8_NoWindow", "attention.sliding_window", uint32_t{0}, {"found 0"}),
        with("C8_WindowIsHuge", "attention.sliding_window", uint64_t{1} << 40, {"found 1099511627776"})),
    test::id_of);

INSTANTIATE_TEST_SUITE_P(
    PerLayer, BadConfig,
    testing::Values(
        with_array("C7_TooFewHeads", "attention.head_count", {4}, {"2 elements", "found 1"}),
        with_array("C7_TooManyKvHeads", "attention.head_count_kv", {2, 2, 2}, {"2 elements", "found 3"}),
        with_array("C7_NoKvHeadsAtAll", "attention.head_count_kv", {}, {"2 elements", "found 0"}),
        with_array("C7_ALayerWithoutKvHeads", "attention.head_count_kv", {2, 0}, {"1 to", "0 for layer 1"}),
        with_array("C7_ALayerWithManyKvHeads", "attention.head_count_kv", {2, 4294967295u},
                   {"4294967295 for layer 1"}),
        with_array("C7_ALayerWithKvHeadsThatDoNotDivide", "attention.head_count_kv", {3, 2},
                   {"layer 0", "found 3"}),
        with_array("C7_ALayerWithoutMlp", "feed_forward_length", {48, 0}, {"0 for layer 1"}),
        BadModel{"C7_NegativeKvHeads",
                 [](TinyModel& m) {
                   m.set_array("qwen3.attention.head_count_kv", std::vector<int32_t>{2, -2});
                 },
                 {"qwen3.attention.head_count_kv", "-2"}},
        BadModel{"C7_KvHeadsAreFloats",
                 [](TinyModel& m) {
                   m.set_array("qwen3.attention.head_count_kv", std::vector<float>{2, 2});
                 },
                 {"qwen3.attention.head_count_kv", "f32"}},
        BadModel{"C7_WindowsOfThreeLayers",
                 [](TinyModel& m) {
                   m.set_bools("gemma3.attention.sliding_window_pattern", {true, false, true});
                 },
                 {"gemma3.attention.sliding_window_pattern", "2 elements", "found 3"},
                 kGemma},
        BadModel{"C7_WindowsAreNumbers",
                 [](TinyModel& m) {
                   m.set_array("gemma3.attention.sliding_window_pattern", std::vector<uint32_t>{1, 0});
                 },
                 {"gemma3.attention.sliding_window_pattern", "bool", "u32"},
                 kGemma},
        BadModel{"C7_WindowedLayersWithoutAWindow",
                 [](TinyModel& m) {
                   m.set_bools("gemma3.attention.sliding_window_pattern", {true, false});
                   m.metadata.erase("gemma3.attention.sliding_window");
                 },
                 {"gemma3.attention.sliding_window\"", "missing"},
                 kGemma},
        BadModel{"C7_WindowsWithAPeriodOfZero",
                 [](TinyModel& m) { m.set("gemma3.attention.sliding_window_pattern", uint32_t{0}); },
                 {"gemma3.attention.sliding_window_pattern", "found 0"},
                 kGemma}),
    test::id_of);

INSTANTIATE_TEST_SUITE_P(
    WhatNoFamilyHas, BadConfig,
    testing::Values(with("C9_Experts", "expert_count", uint32_t{8}, {"mixture-of-experts", "found 8"}),
                    with("C9_NegativeExperts", "expert_count", int32_t{-8}, {"-8"}),
                    with("C11_ScaleIsZero", "rope.scaling.factor", 0.0f, {"found 0"}),
                    with("C11_ScaleIsNan", "rope.scaling.factor", kNan, {"finite", "nan"}),
                    with("C11_ScaleIsNegative", "rope.scaling.factor", -2.0f, {"found -2"}),
                    with("C11_ScaleUnderflows", "rope.scaling.factor", 1e-300, {"found 1e-300"}),
                    with("C11_OlderScaleIsZero", "rope.scale_linear", 0.0f, {"found 0"}),
                    with("C11_Yarn", "rope.scaling.type", std::string("yarn"),
                         {"\"none\" or \"linear\"", "\"yarn\""}),
                    with("C11_Longrope", "rope.scaling.type", std::string("longrope"), {"\"longrope\""}),
                    with("C11_ScalingOnTwoLines", "rope.scaling.type", std::string("\n"), {"\\n"}),
                    with("C11_AttentionFactor", "rope.scaling.attn_factor", 1.5f, {"found 1.5"}),
                    with("NotCausal", "attention.causal", false, {"found false"}),
                    with("SoftcappedScores", "attn_logit_softcapping", 50.0f, {"found 50"}),
                    with("SoftcappedLogits", "final_logit_softcapping", 30.0f, {"found 30"}),
                    with("HardlySoftcappedLogits", "final_logit_softcapping", 1e30f, {"found 1.0", "e+30"}),
                    with("ClampedQkv", "attention.clamp_kqv", 8.0f, {"found 8"}),
                    with("Alibi", "attention.max_alibi_bias", 8.0f, {"found 8"}),
                    BadModel{"LocalRopeBaseIsZero",
                             [](TinyModel& m) { m.set("gemma3.rope.freq_base_swa", 0.0f); },
                             {"gemma3.rope.freq_base_swa", "found 0"},
                             kGemma}),
    test::id_of);

INSTANTIATE_TEST_SUITE_P(
    Vocabulary, BadConfig,
    testing::Values(
        with("C5_StatedVocabularyDiffers", "vocab_size", uint32_t{299}, {"300, the number of", "found 299"}),
        with("C5_StatedVocabularyIsEmpty", "vocab_size", uint32_t{0}, {"found 0"}),
        BadModel{"C5_NoTokens",
                 [](TinyModel& m) { m.set_array("tokenizer.ggml.tokens", std::vector<std::string>{}); },
                 {"tokenizer.ggml.tokens", "found none"}}),
    test::id_of);

model::ModelConfig config_of(const TinyModel& tiny) {
  const std::vector<std::byte> bytes = tiny.bytes();
  const auto file = gguf::File::from_memory(bytes, "tiny.gguf");
  auto config = model::read_config(*file);
  if (!config) throw std::runtime_error(config.error().message);
  return std::move(*config);
}

std::vector<int64_t> windows_of(const TinyModel& tiny) {
  std::vector<int64_t> windows;
  for (const model::LayerConfig& layer : config_of(tiny).layers) windows.push_back(layer.window);
  return windows;
}

TEST(Config, WhatMetadataLeavesOutHasADefault) {
  TinyModel tiny({.arch = "qwen3"});
  for (const char* key :
       {"attention.head_count_kv", "attention.key_length", "attention.value_length", "rope.freq_base"}) {
    tiny.metadata.erase(std::string("qwen3.") + key);
  }
  tiny.metadata.erase("general.name");
  const model::ModelConfig config = config_of(tiny);
  EXPECT_EQ(config.layers[1].n_kv_heads, 4);
  EXPECT_EQ(config.head_dim, 32 / 4);
  EXPECT_EQ(config.n_rope_pairs, 4);
  EXPECT_EQ(config.ropes.at(0).theta, 10000.0);
  EXPECT_EQ(config.ropes.at(0).inv_freq.at(1), std::pow(10000.0, -2.0 / 8.0));
  EXPECT_EQ(config.layers[0].window, 0);
  EXPECT_EQ(config.name, "unnamed");
}

TEST(Config, SwitchesThatAreOffAreAccepted) {
  TinyModel tiny({.arch = "qwen3"});
  tiny.set("qwen3.expert_count", uint32_t{0});
  tiny.set("qwen3.attention.causal", true);
  tiny.set("qwen3.attn_logit_softcapping", 0.0f);
  tiny.set("qwen3.rope.scaling.attn_factor", 1.0f);
  tiny.set("qwen3.vocab_size", uint32_t{300});
  EXPECT_EQ(config_of(tiny).vocab_size, 300);
}

TEST(Config, SizesMayHaveAnyIntegerTypeAndFloatsBoth) {
  TinyModel tiny({.arch = "qwen3"});
  tiny.set("qwen3.block_count", uint64_t{2});
  tiny.set("qwen3.embedding_length", int32_t{32});
  tiny.set("qwen3.attention.layer_norm_rms_epsilon", 1e-6);
  const model::ModelConfig config = config_of(tiny);
  EXPECT_EQ(config.n_layers, 2);
  EXPECT_EQ(config.dim, 32);
  EXPECT_EQ(config.norm_eps, 1e-6f);
}

TEST(Config, LinearScalingUnderItsNamesAndNone) {
  TinyModel tiny({.arch = "qwen3"});
  EXPECT_EQ(config_of(tiny).ropes[0].scale, 1.0);
  tiny.set("qwen3.rope.scale_linear", 2.0f);
  EXPECT_EQ(config_of(tiny).ropes[0].scale, 2.0);
  tiny.set("qwen3.rope.scaling.factor", 4.0f);
  EXPECT_EQ(config_of(tiny).ropes[0].scale, 4.0);
  EXPECT_EQ(config_of(tiny).ropes[0].inv_freq.at(0), 0.25);
  tiny.set("qwen3.rope.scaling.type", std::string("none"));
  EXPECT_EQ(config_of(tiny).ropes[0].scale, 1.0);
}

TEST(Config, RopeBasesUnderAllTheirNames) {
  TinyModel tiny({.arch = "gemma3", .rope_theta = 1e6f});
  EXPECT_EQ(config_of(tiny).ropes.at(0).theta, 1e6);
  EXPECT_EQ(config_of(tiny).ropes.at(1).theta, 10000.0);
  tiny.metadata.erase("gemma3.rope.freq_base");
  tiny.set("gemma3.rope.global.freq_base", 2e6f);
  tiny.set("gemma3.rope.local.freq_base", 20000.0f);
  EXPECT_EQ(config_of(tiny).ropes.at(0).theta, 2e6);
  EXPECT_EQ(config_of(tiny).ropes.at(1).theta, 20000.0);
  tiny.set("gemma3.rope.freq_base_swa", 30000.0f);
  EXPECT_EQ(config_of(tiny).ropes.at(1).theta, 30000.0);
}

TEST(Config, WindowsByFamilyByPeriodAndByLayer) {
  const std::string pattern = "gemma3.attention.sliding_window_pattern";
  TinyModel tiny({.arch = "gemma3", .n_layers = 7, .window = 5});
  EXPECT_EQ(windows_of(tiny), (std::vector<int64_t>{5, 5, 5, 5, 5, 0, 5}));
  tiny.set(pattern, uint32_t{3});
  EXPECT_EQ(windows_of(tiny), (std::vector<int64_t>{5, 5, 0, 5, 5, 0, 5}));
  tiny.set(pattern, uint32_t{1});
  EXPECT_EQ(windows_of(tiny), (std::vector<int64_t>{0, 0, 0, 0, 0, 0, 0}));
  tiny.set_bools(pattern, {false, true, true, false, false, false, true});
  EXPECT_EQ(windows_of(tiny), (std::vector<int64_t>{0, 5, 5, 0, 0, 0, 5}));
  for (const model::LayerConfig& layer : config_of(tiny).layers)
    EXPECT_EQ(layer.rope, layer.window > 0 ? 1u : 0u);
}

// Sizes within their limits, but far beyond what the tensors hold: refused by shape, without the memory they
// ask for.
TEST(Config, LargestSizesAreCheckedAgainstTensorsBeforeMemoryIsTaken) {
  for (const auto& [key, value] : {std::pair{"qwen3.block_count", uint32_t{4096}},
                                   std::pair{"qwen3.embedding_length", uint32_t{1} << 20},
                                   std::pair{"qwen3.feed_forward_length", uint32_t{1} << 20},
                                   std::pair{"qwen3.attention.head_count", uint32_t{1} << 17}}) {
    TinyModel tiny({.arch = "qwen3"});
    tiny.set(key, value);
    test::expect_refused(tiny, {"tensor ", "expected shape ["});
  }
}

}  // namespace
}  // namespace inferno
