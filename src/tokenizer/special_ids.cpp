#include "tokenizer/special_ids.h"

#include <algorithm>
#include <string_view>

namespace inferno::tokenizer {
namespace {

// Named by a file but used by nobody here; still checked, since a wrong id says that the file is broken.
constexpr std::string_view kOtherIds[] = {
    "tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id", "tokenizer.ggml.cls_token_id",
    "tokenizer.ggml.mask_token_id",    "tokenizer.ggml.prefix_token_id",    "tokenizer.ggml.suffix_token_id",
    "tokenizer.ggml.middle_token_id",  "tokenizer.ggml.fim_pre_token_id",   "tokenizer.ggml.fim_suf_token_id",
    "tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.fim_pad_token_id",   "tokenizer.ggml.fim_rep_token_id",
    "tokenizer.ggml.fim_sep_token_id",
};

Result<std::optional<int32_t>> load_id(const gguf::File& file, const Vocabulary& vocabulary,
                                       std::string_view key) {
  TRY_ASSIGN(const std::optional<uint32_t> id, file.meta_optional<uint32_t>(key));
  if (!id) return std::optional<int32_t>();
  if (*id >= static_cast<uint32_t>(vocabulary.size())) {
    return invalid_key(file, key, "{} is not an id of this vocabulary of {} tokens", *id, vocabulary.size());
  }
  return std::optional(static_cast<int32_t>(*id));
}

Result<bool> load_flag(const gguf::File& file, std::string_view key, bool fallback,
                       const std::optional<int32_t>& id, std::string_view id_name) {
  TRY_ASSIGN(const std::optional<bool> flag, file.meta_optional<bool>(key));
  if (flag.value_or(false) && !id) {
    return invalid_key(file, key, "is true, but tokenizer.ggml.{} is missing", id_name);
  }
  return flag.value_or(fallback && id.has_value());
}

}  // namespace

Result<SpecialIds> load_special_ids(const gguf::File& file, const Vocabulary& vocabulary,
                                    bool add_bos_default) {
  SpecialIds ids;
  TRY_ASSIGN(ids.bos, load_id(file, vocabulary, "tokenizer.ggml.bos_token_id"));
  TRY_ASSIGN(ids.eos, load_id(file, vocabulary, "tokenizer.ggml.eos_token_id"));
  TRY_ASSIGN(ids.unknown, load_id(file, vocabulary, "tokenizer.ggml.unknown_token_id"));
  TRY_ASSIGN(const std::optional<int32_t> eot, load_id(file, vocabulary, "tokenizer.ggml.eot_token_id"));
  TRY_ASSIGN(const std::optional<int32_t> eom, load_id(file, vocabulary, "tokenizer.ggml.eom_token_id"));
  for (const std::optional<int32_t>& id : {ids.eos, eot, eom}) {
    if (id && std::find(ids.end.begin(), ids.end.end(), *id) == ids.end.end()) ids.end.push_back(*id);
  }
  for (const std::string_view key : kOtherIds) TRY(load_id(file, vocabulary, key));
  TRY_ASSIGN(ids.add_bos,
             load_flag(file, "tokenizer.ggml.add_bos_token", add_bos_default, ids.bos, "bos_token_id"));
  TRY_ASSIGN(ids.add_eos, load_flag(file, "tokenizer.ggml.add_eos_token", false, ids.eos, "eos_token_id"));
  return ids;
}

}  // namespace inferno::tokenizer
