// Pretokenizers: how a byte-level tokenizer cuts text into the pieces that merges may not cross. One row of
// data (pretokenizer.cpp) for each name that tokenizer.ggml.pre may have.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferno::tokenizer {

struct PretokenizerRow;

class Pretokenizer {
 public:
  // An unknown name is refused with a list of the known ones: a wrong split gives wrong ids without any sign.
  static Result<Pretokenizer> find(std::string_view name);

  // Cuts well-formed UTF-8 into pieces, which together are the text. Linear in the text's length.
  std::vector<std::string_view> split(std::string_view text) const;
  // The first pieces of a text that may go on: those that no further text can change.
  std::vector<std::string_view> split_settled(std::string_view text) const;

  bool normalizes_to_nfc() const;
  // A piece that is a token is taken whole, even where merges would not arrive at it.
  bool ignores_merges() const;
  // What an absent tokenizer.ggml.add_bos_token means.
  bool adds_bos() const;

 private:
  class Pattern;
  explicit Pretokenizer(const PretokenizerRow& row) : row_(&row) {}

  const PretokenizerRow* row_;
  std::vector<std::shared_ptr<const Pattern>> patterns_;
};

}  // namespace inferno::tokenizer
