#include "engine/text_output.h"

#include <utility>

namespace inferno::engine {

TextOutput::TextOutput(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, std::vector<std::string> stop,
                       OnText on_text)
    : decoder_(std::move(tokenizer)), stops_(std::move(stop)), on_text_(std::move(on_text)) {}

std::string TextOutput::finish() {
  show(stops_.push(decoder_.flush()));
  show(stops_.flush());
  return std::move(text_);
}

void TextOutput::show(const std::string& text) {
  text_ += text;
  if (on_text_ && !text.empty() && !refused_) refused_ = !on_text_(text);
}

}  // namespace inferno::engine
