#include "model/synthetic_vocabulary.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "tokenizer/byte_alphabet.h"

namespace inferno::model {
namespace {

using tokenizer::TokenType;

constexpr size_t kBytes = 256;
constexpr float kNoScore = -1000;  // of tokens that no merge makes

struct Tokens {
  std::vector<std::string> spellings;
  std::vector<int32_t> types;
  std::vector<float> scores;

  void set(size_t id, std::string spelling, TokenType type, float score = kNoScore) {
    spellings[id] = std::move(spelling);
    types[id] = static_cast<int32_t>(type);
    scores[id] = score;
  }
};

// 1 is a, 26 is z, 27 is aa …
std::string numbered_letters(uint64_t number) {
  std::string letters;
  for (; number > 0; number = (number - 1) / 26) letters += static_cast<char>('a' + (number - 1) % 26);
  std::reverse(letters.begin(), letters.end());
  return letters;
}

// The words in order.
class Words {
 public:
  explicit Words(std::string_view space) : space_(space) {}

  struct Word {
    std::string left, right;  // what it is merged from
  };
  Word next() {
    if (!spaced_ || letters_.size() == 1) {
      letters_ = numbered_letters(++number_);
      spaced_ = true;
    } else {
      spaced_ = false;
    }
    const std::string stem = letters_.substr(0, letters_.size() - 1);
    return {spaced_ ? space_ + stem : stem, letters_.substr(stem.size())};
  }

 private:
  std::string space_;
  std::string letters_;
  uint64_t number_ = 0;
  bool spaced_ = false;
};

void set_specials(const VocabularyLayout& layout, Tokens& tokens) {
  for (const SpecialToken& special : layout.specials) {
    tokens.set(static_cast<size_t>(layout.first_special_id + special.offset), std::string(special.spelling),
               special.type);
  }
}

// Letters of the byte alphabet in the order of their code points, then words. Returns the merges.
std::vector<std::string> set_byte_level(const VocabularyLayout& layout, Tokens& tokens) {
  std::vector<std::string> letters(kBytes);
  for (size_t byte = 0; byte < kBytes; ++byte) {
    tokenizer::append_letter(static_cast<uint8_t>(byte), letters[byte]);
  }
  std::sort(letters.begin(), letters.end());
  auto id = static_cast<size_t>(layout.first_byte_id);
  for (const std::string& letter : letters) tokens.set(id++, letter, TokenType::kNormal);
  std::vector<std::string> merges;
  for (Words words(tokenizer::spell(" ")); id < static_cast<size_t>(layout.end_of_words); ++id) {
    const Words::Word word = words.next();
    tokens.set(id, word.left + word.right, TokenType::kNormal);
    merges.push_back(word.left + " " + word.right);
  }
  return merges;
}

// Byte tokens, the space and the other printable characters of ASCII, then words: the earlier, the higher the
// score.
void set_scored(const VocabularyLayout& layout, Tokens& tokens) {
  const std::string space = "\u2581";  // ▁
  auto id = static_cast<size_t>(layout.first_byte_id);
  for (size_t byte = 0; byte < kBytes; ++byte) {
    tokens.set(id++, fmt::format("<0x{:02X}>", byte), TokenType::kByte);
  }
  float score = 0;
  tokens.set(id++, space, TokenType::kNormal, score--);
  for (char c = '!'; c <= '~'; ++c) tokens.set(id++, std::string(1, c), TokenType::kNormal, score--);
  for (Words words(space); id < static_cast<size_t>(layout.end_of_words); ++id) {
    const Words::Word word = words.next();
    tokens.set(id, word.left + word.right, TokenType::kNormal, score--);
  }
}

void add_special_ids(const VocabularyLayout& layout, gguf::Writer& writer) {
  const auto add = [&](std::string_view purpose, std::string_view spelling) {
    if (spelling.empty()) return;
    const auto special = std::find_if(layout.specials.begin(), layout.specials.end(),
                                      [&](const SpecialToken& s) { return s.spelling == spelling; });
    CHECK(special != layout.specials.end(), "{} is no special token of its preset", spelling);
    writer.add(fmt::format("tokenizer.ggml.{}_token_id", purpose),
               static_cast<uint32_t>(layout.first_special_id + special->offset));
  };
  add("bos", layout.bos);
  add("eos", layout.eos);
  add("eot", layout.eot);
  add("unknown", layout.unknown);
  add("padding", layout.padding);
  writer.add("tokenizer.ggml.add_bos_token", layout.add_bos);
}

}  // namespace

void add_vocabulary(const Preset& preset, gguf::Writer& writer) {
  const VocabularyLayout& layout = preset.vocabulary;
  const auto n = static_cast<size_t>(preset.vocab_size);
  Tokens tokens{std::vector<std::string>(n), std::vector<int32_t>(n), std::vector<float>(n)};
  for (size_t id = 0; id < n; ++id) tokens.set(id, fmt::format("<unused{}>", id), TokenType::kUnused);
  std::vector<std::string> merges;
  if (layout.has_scores) {
    set_scored(layout, tokens);
  } else {
    merges = set_byte_level(layout, tokens);
  }
  set_specials(layout, tokens);

  writer.add("tokenizer.ggml.model", layout.model);
  writer.add("tokenizer.ggml.pre", layout.pre);
  writer.add("tokenizer.ggml.tokens", std::span<const std::string>(tokens.spellings));
  writer.add("tokenizer.ggml.token_type", std::span<const int32_t>(tokens.types));
  if (layout.has_scores) {
    writer.add("tokenizer.ggml.scores", std::span<const float>(tokens.scores));
    writer.add("tokenizer.ggml.add_space_prefix", false);
  } else {
    writer.add("tokenizer.ggml.merges", std::span<const std::string>(merges));
  }
  add_special_ids(layout, writer);
}

}  // namespace inferno::model
