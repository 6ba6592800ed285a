// TextOutput: turns the tokens of one request into the text to show, and says when a stop string ends it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/request.h"
#include "engine/stop_strings.h"
#include "tokenizer/stream_decoder.h"

namespace inferno::engine {

class TextOutput {
 public:
  TextOutput(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, std::vector<std::string> stop,
             OnText on_text);

  void push(int32_t id) { show(stops_.push(decoder_.push(id))); }
  bool stopped() const { return stops_.stopped(); }
  // The receiver wants no more.
  bool refused() const { return refused_; }
  // Shows what was held back; all of the text.
  std::string finish();

 private:
  void show(const std::string& text);

  tokenizer::StreamDecoder decoder_;
  StopStrings stops_;
  OnText on_text_;
  std::string text_;
  bool refused_ = false;
};

}  // namespace inferno::engine
