// Presets small enough to be made in every test: a family's own row with fewer and narrower layers, and fewer
// words.
#pragma once

#include "model/presets.h"
#include "model/synthetic.h"

namespace inferno::test {

// Rows of 256 elements: whole blocks of every format.
inline model::Preset tiny_preset(std::string_view name) {
  model::Preset preset = *model::find_preset(name);
  preset.n_layers = 2;
  preset.dim = 256;
  preset.hidden_dim = 512;
  preset.n_heads = 4;
  preset.n_kv_heads = 2;
  preset.head_dim = 64;
  preset.context_length = 256;
  if (preset.window > 0) preset.window = 16;
  model::VocabularyLayout& vocabulary = preset.vocabulary;
  const bool specials_follow = vocabulary.first_special_id == vocabulary.end_of_words;
  vocabulary.end_of_words = vocabulary.first_byte_id + 600;
  if (specials_follow) vocabulary.first_special_id = vocabulary.end_of_words;
  preset.vocab_size = vocabulary.end_of_words + 40;
  return preset;
}

inline model::SyntheticSpec tiny_spec(std::string_view name, DType dtype, uint64_t seed = 0) {
  return {tiny_preset(name), dtype, seed};
}

// Of a mix: "Q4_K_M".
inline model::SyntheticSpec tiny_mix_spec(std::string_view name, std::string_view mix) {
  const quantize::FileType type = *quantize::parse_file_type(mix);
  return {tiny_preset(name), type.dtype, 0, type};
}

}  // namespace inferno::test
