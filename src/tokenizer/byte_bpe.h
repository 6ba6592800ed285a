// ByteBpe: byte-level BPE, tokenizer.ggml.model "gpt2" (Qwen, Llama 3, GPT-2 …). Text is normalized and cut
// into pieces as the pretokenizer says; each piece starts as one token per byte and is merged by rank.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/text_model.h"
#include "tokenizer/vocabulary.h"

namespace inferno::tokenizer {

class ByteBpe : public TextModel {
 public:
  // Refuses, besides what MergeTable and Pretokenizer refuse, a vocabulary that lacks a byte of ordinary
  // text. `vocabulary` must outlive the model.
  // With `saved`, what save() has written, its tables are used as they lie: kInvalidFile where they are none.
  static Result<std::unique_ptr<const ByteBpe>> load(const gguf::File& file, const Vocabulary& vocabulary,
                                                     TableReader* saved = nullptr);

  // Invalid bytes become one token each. A byte without a token is left out, as Hugging Face does: some
  // vocabularies lack bytes that UTF-8 never has.
  void encode(std::string_view text, bool begins, std::vector<int32_t>& ids) const override;
  size_t encode_settled(std::string_view text, bool begins, std::vector<int32_t>& ids) const override;
  void append_piece(int32_t id, std::string& text) const override;
  bool adds_space_prefix() const override { return false; }
  void save(TableWriter& tables) const override { merges_.save(tables); }

  const std::string& pretokenizer_name() const { return pretokenizer_name_; }
  // What an absent tokenizer.ggml.add_bos_token means.
  bool adds_bos() const { return pretokenizer_.adds_bos(); }

 private:
  ByteBpe(const Vocabulary& vocabulary, std::string pretokenizer_name, Pretokenizer pretokenizer,
          MergeTable merges)
      : vocabulary_(&vocabulary),
        pretokenizer_name_(std::move(pretokenizer_name)),
        pretokenizer_(std::move(pretokenizer)),
        merges_(std::move(merges)) {}
  Status find_byte_ids(const gguf::File& file);
  void encode_valid(std::string_view text, std::vector<int32_t>& ids) const;
  size_t encode_settled_valid(std::string_view text, std::vector<int32_t>& ids) const;
  void encode_pieces(std::span<const std::string_view> pieces, std::vector<int32_t>& ids) const;
  void encode_byte(uint8_t byte, std::vector<int32_t>& ids) const;
  void merge_piece(std::string_view piece, BpeMerger& merger, std::vector<int32_t>& ids) const;

  const Vocabulary* vocabulary_;
  std::string pretokenizer_name_;
  Pretokenizer pretokenizer_;
  MergeTable merges_;
  std::array<int32_t, 256> byte_ids_{};  // -1 where the vocabulary has none
};

}  // namespace inferno::tokenizer
