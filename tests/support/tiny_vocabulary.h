// Small vocabularies made in the test, as GGUF images, so that tokenizers are tested without anybody's files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "gguf/writer.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer.h"

namespace inferno::test {

using tokenizer::TokenType;

struct TinyVocabulary {
  std::string model;
  std::string pre;
  std::vector<std::string> tokens = {};
  std::vector<int32_t> types = {};
  std::vector<float> scores = {};
  std::vector<std::string> merges = {};
  std::set<std::string> left_out = {};             // keys not to write
  std::function<void(gguf::Writer&)> extras = {};  // keys to write besides

  int32_t add(const std::string& token, TokenType type = TokenType::kNormal, float score = 0) {
    tokens.push_back(token);
    types.push_back(static_cast<int32_t>(type));
    scores.push_back(score);
    return static_cast<int32_t>(tokens.size()) - 1;
  }
  int32_t id(const std::string& token) const {
    const auto found = std::find(tokens.begin(), tokens.end(), token);
    return found == tokens.end() ? -1 : static_cast<int32_t>(found - tokens.begin());
  }
  // The merge, and its product if that is new.
  void add_merge(const std::string& left, const std::string& right) {
    merges.push_back(left + " " + right);
    if (id(left + right) < 0) add(left + right);
  }

  std::vector<std::byte> image() const {
    gguf::Writer writer;
    const auto put = [&](const std::string& key, const auto& value) {
      if (!left_out.contains(key)) writer.add(key, value);
    };
    put("general.architecture", std::string_view("test"));
    put("tokenizer.ggml.model", std::string_view(model));
    put("tokenizer.ggml.pre", std::string_view(pre));
    put("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
    put("tokenizer.ggml.token_type", std::span<const int32_t>(types));
    if (model == "llama") {
      put("tokenizer.ggml.scores", std::span<const float>(scores));
    } else {
      put("tokenizer.ggml.merges", std::span<const std::string>(merges));
    }
    if (extras) extras(writer);
    return writer.bytes();
  }
  Result<std::shared_ptr<const tokenizer::Tokenizer>> load() const {
    const std::vector<std::byte> bytes = image();
    TRY_ASSIGN(const gguf::File file, gguf::File::from_memory(bytes, "tiny.gguf"));
    return tokenizer::Tokenizer::from_gguf(file);
  }
  // What load() says against it, or "" when it loads.
  std::string refusal() const {
    const auto loaded = load();
    return loaded ? "" : loaded.error().message;
  }
};

// 256 bytes, a few merges ("hello" and " world" are tokens), <|end|> CONTROL, <think> USER_DEFINED.
inline TinyVocabulary byte_level_vocabulary(std::string pre = "qwen2") {
  TinyVocabulary v{.model = "gpt2", .pre = std::move(pre)};
  for (unsigned byte = 0; byte < 256; ++byte) {
    v.add(tokenizer::spell(std::string(1, static_cast<char>(byte))));
  }
  for (const auto& [left, right] : std::vector<std::pair<std::string, std::string>>{{"h", "e"},
                                                                                    {"l", "l"},
                                                                                    {"he", "ll"},
                                                                                    {"hell", "o"},
                                                                                    {"o", "r"},
                                                                                    {"Ġ", "w"},
                                                                                    {"Ġw", "or"},
                                                                                    {"l", "d"},
                                                                                    {"Ġwor", "ld"},
                                                                                    {"a", "a"},
                                                                                    {"aa", "aa"},
                                                                                    {"Ġ", "Ġ"},
                                                                                    {"Ã", "©"}}) {
    v.add_merge(left, right);
  }
  v.add("<|end|>", TokenType::kControl);
  v.add("<think>", TokenType::kUserDefined);
  return v;
}

// <unk>, <s>, </s>, the 256 byte tokens, "▁", a to z, and "▁hello" by way of pieces.
inline TinyVocabulary sentencepiece_vocabulary() {
  TinyVocabulary v{.model = "llama", .pre = "default"};
  v.add("<unk>", TokenType::kUnknown);
  v.add("<s>", TokenType::kControl);
  v.add("</s>", TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) v.add(fmt::format("<0x{:02X}>", byte), TokenType::kByte);
  v.add("▁", TokenType::kNormal, -100);
  for (char c = 'a'; c <= 'z'; ++c) v.add(std::string(1, c), TokenType::kNormal, -101);
  float score = -1;
  for (const char* piece : {"he", "ll", "hell", "hello", "▁hello", "▁▁", "aa", "aaaa"}) {
    v.add(piece, TokenType::kNormal, score--);
  }
  v.extras = [](gguf::Writer& writer) {
    writer.add("tokenizer.ggml.bos_token_id", uint32_t{1});
    writer.add("tokenizer.ggml.eos_token_id", uint32_t{2});
    writer.add("tokenizer.ggml.unknown_token_id", uint32_t{0});
  };
  return v;
}

}  // namespace inferno::test
