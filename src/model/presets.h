// Presets: the public shapes of known models, from which synthetic ones are made (synthetic.h). One row of
// data each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tokenizer/vocabulary.h"

namespace inferno::model {

// A token with a meaning of its own, `offset` ids after the first one.
struct SpecialToken {
  int32_t offset = 0;
  std::string_view spelling;
  tokenizer::TokenType type = tokenizer::TokenType::kControl;
};

// Where the ids of a family's vocabulary lie, and which of them have a meaning. Ids without one are UNUSED.
struct VocabularyLayout {
  std::string_view model;     // tokenizer.ggml.model
  std::string_view pre;       // tokenizer.ggml.pre
  bool has_scores = false;    // SentencePiece-style: scores and byte tokens; else byte-level: merges
  int32_t first_byte_id = 0;  // of 256
  int32_t end_of_words = 0;   // words follow the bytes, up to this id
  int32_t first_special_id = 0;
  std::span<const SpecialToken> specials;
  // Spellings of specials; "" where a family has none.
  std::string_view bos, eos, eot, unknown, padding;
  bool add_bos = false;
};

// Frequency factors of contexts beyond the one that was trained first: wavelengths above
// original_context / low_freq_factor are stretched by `factor`, those below original_context /
// high_freq_factor stay, those between are blended. Source:
// rope_scaling in those models' config.json.
struct RopeFactors {
  double factor = 0;  // 0: none
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_context = 8192;
};

// Field names are ModelConfig's and the config.json's.
struct Preset {
  std::string_view name;   // as it stands in "synthetic:NAME:TYPE", lower case
  std::string_view title;  // for people
  std::string_view arch;   // a row of arch_table.h
  int64_t n_layers = 0;
  int64_t dim = 0;
  int64_t hidden_dim = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t context_length = 0;
  float norm_eps = 0;
  float rope_theta = 0;
  float rope_scale = 1;  // linear, of the layers without a window
  RopeFactors rope_factors;
  int64_t window = 0;  // 0: none
  bool tied = true;    // the head is the embedding
  int64_t vocab_size = 0;
  VocabularyLayout vocabulary;
};

std::span<const Preset> presets();
// By name, in any case of letters; nullptr if there is none.
const Preset* find_preset(std::string_view name);

}  // namespace inferno::model
