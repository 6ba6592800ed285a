// TextModel: how one kind of tokenizer turns plain text (no special tokens in it) into ids and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tables.h"

namespace inferno::tokenizer {

class TextModel {
 public:
  virtual ~TextModel() = default;

  // Plain text comes in stretches, which lie between special tokens or the text's ends. encode() appends the
  // ids of `text`, any bytes, not empty, which goes to the end of its stretch; `begins` says whether from its
  // beginning, or from where encode_settled() stopped.
  virtual void encode(std::string_view text, bool begins, std::vector<int32_t>& ids) const = 0;
  // For a stretch that may go on after `text`: appends the ids that no further text can change and returns
  // how many bytes they stand for. Ids of no bytes at all (a space prefix) mean that the stretch has begun.
  virtual size_t encode_settled(std::string_view text, bool begins, std::vector<int32_t>& ids) const = 0;
  // Appends the bytes that a token stands for, after others.
  virtual void append_piece(int32_t id, std::string& text) const = 0;
  // Whether encode() put a space before the text that decoding takes away again.
  virtual bool adds_space_prefix() const = 0;
  // What of it is worth keeping for load()s of the same file.
  virtual void save(TableWriter& tables) const = 0;
};

}  // namespace inferno::tokenizer
