#include "tokenizer/stream_encoder.h"

#include <utility>

#include "base/check.h"

namespace inferno::tokenizer {

StreamEncoder::StreamEncoder(std::shared_ptr<const Tokenizer> tokenizer, const EncodeOptions& options)
    : tokenizer_(std::move(tokenizer)), options_(options) {}

const SpecialMatcher& StreamEncoder::specials() const {
  return options_.parse_special ? tokenizer_->all_specials_ : tokenizer_->user_defined_;
}

void StreamEncoder::begin(std::vector<int32_t>& ids) {
  if (std::exchange(begun_, true)) return;
  const SpecialIds& special = tokenizer_->special_ids_;
  if (options_.add_bos && special.add_bos) ids.push_back(*special.bos);
}

void StreamEncoder::resume(Position position) {
  CHECK(!begun_, "resume() comes before the text");
  begun_ = true;
  position_ = position;
}

Status StreamEncoder::push(std::string_view text, std::vector<int32_t>& ids) {
  if (text.size() > Tokenizer::kMaxTextBytes - waiting_.size()) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "{} bytes wait for a place where the text can be cut and {} more come, at most {} can wait",
        waiting_.size(), text.size(), Tokenizer::kMaxTextBytes);
  }
  begin(ids);
  waiting_ += text;
  const TextModel& model = *tokenizer_->text_model_;
  const std::string_view all = waiting_;
  size_t done = 0;
  SpecialMatcher::Settled found = specials().find_settled(all, plain_);
  for (; found.match; found = specials().find_settled(all, done)) {
    if (found.before > done) model.encode(all.substr(done, found.before - done), position_.begins, ids);
    ids.push_back(found.match->id);
    done = found.before + found.match->length;
    position_.begins = true;
    patience_ = 0;
  }
  const std::string_view plain = all.substr(done, found.before - done);
  if (!plain.empty() && plain.size() >= patience_) {
    const size_t n_ids = ids.size();
    const size_t settled = model.encode_settled(plain, position_.begins, ids);
    if (ids.size() > n_ids || settled > 0) position_.begins = false;
    const size_t left = plain.size() - settled;
    patience_ = left > kPatience ? left + left / 16 : 0;
    done += settled;
  }
  plain_ = found.before - done;
  position_.bytes += done;
  waiting_.erase(0, done);
  return {};
}

void StreamEncoder::finish(std::vector<int32_t>& ids) {
  begin(ids);
  const TextModel& model = *tokenizer_->text_model_;
  const std::string_view all = waiting_;
  size_t done = 0;
  while (done < all.size()) {
    const auto match = specials().find(all, std::max(done, plain_));
    const size_t end = match ? match->begin : all.size();
    if (end > done) model.encode(all.substr(done, end - done), position_.begins, ids);
    if (match) ids.push_back(match->id);
    done = match ? end + match->length : end;
    position_.begins = true;
  }
  const SpecialIds& special = tokenizer_->special_ids_;
  if (options_.add_bos && special.add_eos) ids.push_back(*special.eos);
  *this = StreamEncoder(std::move(tokenizer_), options_);
}

}  // namespace inferno::tokenizer
