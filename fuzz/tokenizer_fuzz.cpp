// Tokenizer metadata and text. The first byte picks what the rest is:
//   even  a GGUF image (its length in the next two bytes, little-endian) and then text for whatever tokenizer
//   it holds odd   text for a fixed vocabulary of each kind, where decoding must give the text back
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "gguf/file.h"
#include "tests/support/tiny_vocabulary.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/stream_encoder.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"

namespace inferno {
namespace {

using tokenizer::Tokenizer;

void require(bool condition) {
  if (!condition) std::abort();
}

// The ids of a text that comes in pieces, as long as its bytes say, are those of the whole.
void encode_in_pieces(const std::shared_ptr<const Tokenizer>& tokenizer, std::string_view text,
                      const tokenizer::EncodeOptions& options) {
  tokenizer::StreamEncoder encoder(tokenizer, options);
  std::vector<int32_t> ids;
  for (size_t at = 0; at < text.size();) {
    const size_t n = 1 + static_cast<uint8_t>(text[at]) % 7;
    require(encoder.push(text.substr(at, n), ids).ok());
    at += std::min(n, text.size() - at);
  }
  encoder.finish(ids);
  require(ids == *tokenizer->encode(text, options));
}

// What holds for any vocabulary: valid ids, deltas that never end inside a character and together are the
// text.
std::string encode_and_stream(const std::shared_ptr<const Tokenizer>& tokenizer, std::string_view text,
                              const tokenizer::EncodeOptions& options) {
  encode_in_pieces(tokenizer, text, options);
  const std::vector<int32_t> ids = *tokenizer->encode(text, options);
  tokenizer::StreamDecoder alone(tokenizer, /*continues=*/false);
  tokenizer::StreamDecoder after_prompt(tokenizer);
  std::string streamed;
  std::string pieces;
  std::string shown;
  for (const int32_t id : ids) {
    require(tokenizer->valid(id));
    streamed += alone.push(id);
    shown += after_prompt.push(id);
    pieces += tokenizer->piece(id);
    // An unfinished character is at most three bytes long, so the end of the text tells.
    const size_t from = pieces.size() - std::min<size_t>(pieces.size(), 16);
    require(shown.size() == from + complete_utf8_prefix(std::string_view(pieces).substr(from)));
  }
  streamed += alone.flush();
  require(streamed == *tokenizer->decode(ids));
  require(shown + after_prompt.flush() == pieces);
  return streamed;
}

// NFC of the valid runs, the others as they are.
std::string normalized(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t valid = tokenizer::valid_utf8_length(text);
    result += tokenizer::nfc(text.substr(0, valid));
    text.remove_prefix(valid);
    const size_t invalid = tokenizer::invalid_utf8_length(text);
    result += text.substr(0, invalid);
    text.remove_prefix(invalid);
  }
  return result;
}

void fuzz_image(std::string_view input) {
  if (input.size() < 2) return;
  const size_t length = static_cast<uint8_t>(input[0]) + size_t{256} * static_cast<uint8_t>(input[1]);
  const std::string_view image = input.substr(2, length);
  const std::string_view text = input.substr(2 + image.size());
  const auto file = gguf::File::from_memory(std::as_bytes(std::span(image)), "fuzz.gguf");
  if (!file) return;
  const auto tokenizer = Tokenizer::from_gguf(*file);
  if (!tokenizer) {
    require(tokenizer.error().message.find('\n') == std::string::npos);
    return;
  }
  encode_and_stream(*tokenizer, text, {});
  encode_and_stream(*tokenizer, text, {.add_bos = false, .parse_special = false});
  const auto tables = std::make_shared<const std::vector<std::byte>>((*tokenizer)->tables());
  const auto kept = Tokenizer::from_tables(*file, *tables, tables);
  require(kept.ok() && *(*kept)->encode(text) == *(*tokenizer)->encode(text));
}

void fuzz_text(std::string_view text) {
  static const auto gpt2 = *test::byte_level_vocabulary("gpt-2").load();
  static const auto llama3 = *test::byte_level_vocabulary("llama-bpe").load();
  static const auto qwen2 = *test::byte_level_vocabulary("qwen2").load();
  static const auto deepseek = *test::byte_level_vocabulary("deepseek-llm").load();
  static const auto sentencepiece = *test::sentencepiece_vocabulary().load();
  for (const bool parse_special : {false, true}) {
    const tokenizer::EncodeOptions options{.add_bos = false, .parse_special = parse_special};
    for (const auto& byte_level : {gpt2, llama3, deepseek}) {
      require(encode_and_stream(byte_level, text, options) == text);
    }
    const std::string from_qwen2 = encode_and_stream(qwen2, text, options);
    // Special tokens stand between what is normalized, so that it need not be the NFC of the whole.
    require(normalized(from_qwen2) == normalized(text));
    encode_and_stream(sentencepiece, text, options);
  }
}

}  // namespace
}  // namespace inferno

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  if (static_cast<uint8_t>(input[0]) % 2 == 0) {
    inferno::fuzz_image(input.substr(1));
  } else {
    inferno::fuzz_text(input.substr(1));
  }
  return 0;
}
