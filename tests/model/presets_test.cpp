#include "model/presets.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "model/arch_table.h"
#include "model/synthetic_tensors.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

// What the models' pages state; of gemma-3-4b the text model with the 262,144 tokens that its GGUF files
// have.
const std::map<std::string_view, int64_t> kPublishedParameters = {
    {"qwen3-0.6b", 596'049'920},     {"qwen3-1.7b", 1'720'574'976},   {"qwen3-4b", 4'022'468'096},
    {"qwen3-8b", 8'190'735'360},     {"llama-3.2-1b", 1'235'814'400}, {"llama-3.2-3b", 3'212'749'824},
    {"llama-3.1-8b", 8'030'261'248}, {"gemma-3-1b", 999'885'952},     {"gemma-3-4b", 3'880'099'328},
};

TEST(Presets, HaveThePublishedNumberOfParameters) {
  EXPECT_EQ(model::presets().size(), kPublishedParameters.size());
  for (const model::Preset& preset : model::presets()) {
    EXPECT_EQ(model::parameter_count(preset), kPublishedParameters.at(preset.name)) << preset.name;
  }
}

int64_t special_id(const model::Preset& preset, std::string_view spelling) {
  for (const model::SpecialToken& special : preset.vocabulary.specials) {
    if (special.spelling == spelling) return preset.vocabulary.first_special_id + special.offset;
  }
  return -1;
}

class PresetOfConfig : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(PresetOfConfig, SaysWhatTheModelsConfigSays) {
  const auto& [name, file] = GetParam();
  REQUIRE_SHARED_DATA(file);
  auto config = parse_json(read_file(shared_data(file))).value();
  const model::Preset& p = *model::find_preset(name);
  EXPECT_EQ(p.n_layers, config["num_hidden_layers"]);
  EXPECT_EQ(p.dim, config["hidden_size"]);
  EXPECT_EQ(p.hidden_dim, config["intermediate_size"]);
  EXPECT_EQ(p.n_heads, config["num_attention_heads"]);
  EXPECT_EQ(p.n_kv_heads, config["num_key_value_heads"]);
  EXPECT_EQ(p.head_dim, config["head_dim"]);
  EXPECT_EQ(p.context_length, config["max_position_embeddings"]);
  EXPECT_EQ(p.vocab_size, config["vocab_size"]);
  EXPECT_FLOAT_EQ(p.norm_eps, config["rms_norm_eps"].get<float>());
  EXPECT_EQ(p.rope_theta, config["rope_theta"]);
  EXPECT_EQ(p.tied, config.value("tie_word_embeddings", true));
  EXPECT_EQ(p.window, config["sliding_window"].is_number() ? config["sliding_window"].get<int64_t>() : 0);
  EXPECT_EQ(special_id(p, p.vocabulary.bos), config["bos_token_id"]);
  const auto eos = config["eos_token_id"].is_array() ? config["eos_token_id"].get<std::set<int64_t>>()
                                                     : std::set{config["eos_token_id"].get<int64_t>()};
  EXPECT_TRUE(eos.contains(special_id(p, p.vocabulary.eos)));
  if (!config["rope_scaling"].is_object()) {
    EXPECT_EQ(p.rope_factors.factor, 0);
    return;
  }
  EXPECT_EQ(p.rope_factors.factor, config["rope_scaling"]["factor"]);
  EXPECT_EQ(p.rope_factors.low_freq_factor, config["rope_scaling"]["low_freq_factor"]);
  EXPECT_EQ(p.rope_factors.high_freq_factor, config["rope_scaling"]["high_freq_factor"]);
  EXPECT_EQ(p.rope_factors.original_context, config["rope_scaling"]["original_max_position_embeddings"]);
}

INSTANTIATE_TEST_SUITE_P(Published, PresetOfConfig,
                         testing::Values(std::pair("qwen3-0.6b", "configs/Qwen3-0.6B.config.json"),
                                         std::pair("qwen3-1.7b", "configs/Qwen3-1.7B.config.json"),
                                         std::pair("llama-3.2-1b",
                                                   "configs/Llama-3.2-1B-Instruct.config.json"),
                                         std::pair("gemma-3-1b", "configs/gemma-3-1b-it.config.json")));

TEST(Presets, AreWhole) {
  std::set<std::string_view> names;
  for (const model::Preset& p : model::presets()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_NE(model::find_arch(p.arch), nullptr) << p.name;
    EXPECT_EQ(p.n_heads % p.n_kv_heads, 0) << p.name;
    const model::VocabularyLayout& v = p.vocabulary;
    EXPECT_LE(v.end_of_words, p.vocab_size) << p.name;
    for (const model::SpecialToken& special : v.specials) {
      const int64_t id = v.first_special_id + special.offset;
      EXPECT_TRUE(id < v.first_byte_id || (id >= v.end_of_words && id < p.vocab_size)) << special.spelling;
    }
    for (const std::string_view spelling : {v.bos, v.eos}) EXPECT_GE(special_id(p, spelling), 0) << p.name;
  }
}

TEST(Presets, AreFoundInAnyCase) {
  ASSERT_NE(model::find_preset("Qwen3-0.6B"), nullptr);
  EXPECT_EQ(model::find_preset("Qwen3-0.6B")->name, "qwen3-0.6b");
  EXPECT_EQ(model::find_preset("qwen3"), nullptr);
}

}  // namespace
}  // namespace inferno::test
