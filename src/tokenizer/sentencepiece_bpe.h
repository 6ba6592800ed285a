// SentencePieceBpe: tokenizer.ggml.model "llama" (Llama 2, Mistral, Gemma). Spaces are written "▁"; text
// starts as one token per character and is merged by score; what is not in the vocabulary falls back to byte
// tokens. Source: Kudo and Richardson, "SentencePiece" (2018).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/table_memory.h"
#include "gguf/file.h"
#include "tokenizer/bpe_merge.h"
#include "tokenizer/text_model.h"
#include "tokenizer/vocabulary.h"

namespace inferno::tokenizer {

class SentencePieceBpe : public TextModel {
 public:
  // Refuses: a pretokenizer other than "default"; scores that are missing, not finite, or not one for each
  // token; a BYTE token that is not spelled <0xHH> or stands there twice; some but not all of the 256; none
  // of them and no unknown id. `vocabulary` must outlive the model.
  // With `saved`, what save() has written, that is used: kInvalidFile where it is something else.
  static Result<std::unique_ptr<const TextModel>> load(const gguf::File& file, const Vocabulary& vocabulary,
                                                       TableReader* saved = nullptr);

  void encode(std::string_view text, bool begins, std::vector<int32_t>& ids) const override;
  size_t encode_settled(std::string_view text, bool begins, std::vector<int32_t>& ids) const override;
  void append_piece(int32_t id, std::string& text) const override;
  bool adds_space_prefix() const override { return add_space_prefix_; }
  void save(TableWriter& tables) const override { tables.add_one(joins_space_); }

 private:
  explicit SentencePieceBpe(const Vocabulary& vocabulary)
      : vocabulary_(&vocabulary), memory_(static_cast<size_t>(vocabulary.size()) * sizeof(uint32_t)) {}
  Status load_scores(const gguf::File& file);
  Status load_byte_tokens(const gguf::File& file);
  void find_joints();
  std::optional<int32_t> find_mergeable(std::string_view text) const;
  size_t end_of_word(std::string_view marked, size_t begin) const;
  void encode_word(std::string_view word, BpeMerger& merger, std::vector<int32_t>& ids) const;

  const Vocabulary* vocabulary_;
  bool add_space_prefix_ = true;
  TableMemory memory_;                          // of the ranks
  std::pmr::vector<uint32_t> ranks_{&memory_};  // by id: the higher the score, the lower the rank
  std::array<int32_t, 256> byte_ids_{};         // all -1 when the vocabulary has no byte tokens
  int32_t unknown_id_ = -1;
  // Whether some token has "▁" after a character whose last byte is this one. Where none has, no merge can
  // cross the beginning of a "▁", and the text can be cut there: many short words instead of one long one.
  std::array<bool, 256> joins_space_{};
};

}  // namespace inferno::tokenizer
