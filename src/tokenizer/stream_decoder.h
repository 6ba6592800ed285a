// StreamDecoder: ids in, text out as soon as it is whole; never half a character.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tokenizer/tokenizer.h"

namespace inferno::tokenizer {

class StreamDecoder {
 public:
  // `continues` = the text goes on after a prompt, so a SentencePiece first token keeps its leading space.
  // Without it, the concatenation of all results is what Tokenizer::decode() gives for all ids.
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool continues = true,
                         bool skip_special = false);

  // What may be shown now that `id` has been added; "" while a character is incomplete. The concatenation of
  // all push() and flush() results is the text of all ids; bytes that never become a character come out
  // unchanged. CHECKs that the id is valid.
  std::string push(int32_t id);
  // The bytes of a character that is still incomplete at the end.
  std::string flush();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool drops_next_space_;
  bool skip_special_;
  std::string pending_;
};

}  // namespace inferno::tokenizer
