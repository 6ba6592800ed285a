// StreamEncoder: text in, in pieces of any size; ids out as soon as no further text can change them.
//
// Exact: all ids together are those of Tokenizer::encode() of the whole text. Where a tokenizer can be cut
// depends on it. Byte-level: at the end of a piece of its pretokenizer, once the next piece has begun, and at
// invalid bytes. SentencePiece-style: before a space; where its vocabulary has tokens with a space inside,
// only before those spaces that none of them could reach across. Text without such a place (a word of a
// million letters) waits for its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace inferno::tokenizer {

class StreamEncoder {
 public:
  explicit StreamEncoder(std::shared_ptr<const Tokenizer> tokenizer, const EncodeOptions& options = {});

  // Appends the ids that are settled now. Once more than kPatience bytes wait, it looks again only after a
  // sixteenth more has come, so that the time stays near-linear. Error: kInvalidArgument when more than
  // Tokenizer::kMaxTextBytes wait; the text is not taken then.
  Status push(std::string_view text, std::vector<int32_t>& ids);
  static constexpr size_t kPatience = 4096;
  // Appends the ids that are left. The next text begins anew.
  void finish(std::vector<int32_t>& ids);

  // How far the text is encoded: all that a StreamEncoder needs to know to go on from there.
  struct Position {
    size_t bytes = 0;
    bool begins = true;  // a stretch of plain text begins here, or may
  };
  Position position() const { return position_; }
  // Goes on at a position that another one reached, with the same tokenizer, options and text up to all that
  // it had been given then. For a StreamEncoder that has been given nothing.
  void resume(Position position);

 private:
  const SpecialMatcher& specials() const;
  void begin(std::vector<int32_t>& ids);

  std::shared_ptr<const Tokenizer> tokenizer_;
  EncodeOptions options_;
  bool begun_ = false;
  std::string waiting_;
  size_t plain_ = 0;     // first bytes of waiting_ in which no special token begins
  size_t patience_ = 0;  // bytes of plain text that are worth looking at
  Position position_;
};

}  // namespace inferno::tokenizer
