#include "tokenizer/stream_decoder.h"

#include <utility>

#include "base/text.h"

namespace inferno::tokenizer {

StreamDecoder::StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool continues, bool skip_special)
    : tokenizer_(std::move(tokenizer)),
      drops_next_space_(!continues && tokenizer_->adds_space_prefix()),
      skip_special_(skip_special) {}

std::string StreamDecoder::push(int32_t id) {
  std::string piece = tokenizer_->piece(id);
  if (piece.empty() || (skip_special_ && tokenizer_->is_control(id))) return {};
  if (std::exchange(drops_next_space_, false) && piece.front() == ' ') piece.erase(0, 1);
  pending_ += piece;
  std::string rest = pending_.substr(complete_utf8_prefix(pending_));
  pending_.resize(pending_.size() - rest.size());
  return std::exchange(pending_, std::move(rest));
}

std::string StreamDecoder::flush() {
  return std::exchange(pending_, {});
}

}  // namespace inferno::tokenizer
