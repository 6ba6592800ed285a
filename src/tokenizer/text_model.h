// TextModel: how one kind of tokenizer turns plain text (no special tokens in it) into ids and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inferno::tokenizer {

class TextModel {
 public:
  virtual ~TextModel() = default;

  // Appends the ids of `text`, any bytes. `text` is not empty and stands between special tokens or the text's
  // ends.
  virtual void encode(std::string_view text, std::vector<int32_t>& ids) const = 0;
  // Appends the bytes that a token stands for, after others.
  virtual void append_piece(int32_t id, std::string& text) const = 0;
  // Whether encode() put a space before the text that decoding takes away again.
  virtual bool adds_space_prefix() const = 0;
};

}  // namespace inferno::tokenizer
