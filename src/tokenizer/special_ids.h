// The ids that a GGUF file names for a purpose (tokenizer.ggml.*_token_id), each checked against the
// vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "tokenizer/vocabulary.h"

namespace inferno::tokenizer {

struct SpecialIds {
  std::optional<int32_t> bos, eos, unknown;
  std::vector<int32_t> end;  // eos, eot, eom: those that are there, each once
  bool add_bos = false;
  bool add_eos = false;
};

// Refuses an id outside the vocabulary, and add_bos_token (add_eos_token) without the id that it needs.
// `add_bos_default` stands for an absent add_bos_token where there is a BOS id.
Result<SpecialIds> load_special_ids(const gguf::File& file, const Vocabulary& vocabulary,
                                    bool add_bos_default);

}  // namespace inferno::tokenizer
