#include "tokenizer/sentencepiece_bpe.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "tokenizer/unicode.h"

namespace inferno::tokenizer {
namespace {

constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kUnknownKey = "tokenizer.ggml.unknown_token_id";
constexpr std::string_view kSpace = "\u2581";  // ▁

// Orders like the float, but downwards and as an integer: the highest score has the lowest rank.
uint32_t rank_of(float score) {
  const auto bits = std::bit_cast<uint32_t>(score == 0.0F ? 0.0F : score);  // -0 is 0
  return (bits & 0x80000000u) != 0 ? bits : 0x7FFFFFFFu - bits;
}

std::optional<uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

// The byte that "<0xHH>" means.
std::optional<uint8_t> byte_of(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || !spelling.ends_with('>')) return std::nullopt;
  const auto high = hex_digit(spelling[3]);
  const auto low = hex_digit(spelling[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<uint8_t>(*high * 16 + *low);
}

std::string with_marked_spaces(std::string_view text, bool add_prefix) {
  std::string marked;
  marked.reserve(text.size() + text.size() / 4 + kSpace.size());
  if (add_prefix) marked += kSpace;
  for (const char c : text) {
    if (c == ' ') {
      marked += kSpace;
    } else {
      marked += c;
    }
  }
  return marked;
}

}  // namespace

Result<std::unique_ptr<const TextModel>> SentencePieceBpe::load(const gguf::File& file,
                                                                const Vocabulary& vocabulary,
                                                                TableReader* saved) {
  constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
  TRY_ASSIGN(const auto pre, file.meta_optional<std::string_view>(kPreKey));
  if (pre.value_or("default") != "default") {
    return invalid_key(file, kPreKey,
                       "unknown pretokenizer \"{}\" of a \"llama\" tokenizer; known is default",
                       escaped(*pre));
  }
  std::unique_ptr<SentencePieceBpe> model(new SentencePieceBpe(vocabulary));
  TRY_ASSIGN(const auto prefix, file.meta_optional<bool>("tokenizer.ggml.add_space_prefix"));
  model->add_space_prefix_ = prefix.value_or(true);
  TRY(model->load_scores(file));
  TRY(model->load_byte_tokens(file));
  if (saved == nullptr) {
    model->find_joints();
  } else if (const auto joints = saved->take_one<std::array<uint8_t, 256>>()) {
    std::ranges::transform(*joints, model->joins_space_.begin(), [](uint8_t joins) { return joins != 0; });
  } else {
    return not_saved_tables(file);
  }
  return std::unique_ptr<const TextModel>(std::move(model));
}

Status SentencePieceBpe::load_scores(const gguf::File& file) {
  TRY(check_array(file, kScoresKey, gguf::ValueType::kFloat32, static_cast<uint64_t>(vocabulary_->size())));
  const auto n = static_cast<size_t>(vocabulary_->size());
  TableMemory memory(n * sizeof(float));
  std::pmr::vector<float> scores(n, &memory);
  TRY(file.meta_array_to<float>(kScoresKey, scores));
  ranks_.resize(n);
  std::ranges::transform(scores, ranks_.begin(), rank_of);
  return {};
}

Status SentencePieceBpe::load_byte_tokens(const gguf::File& file) {
  byte_ids_.fill(-1);
  int n_found = 0;
  for (int32_t id = 0; id < vocabulary_->size(); ++id) {
    if (vocabulary_->type(id) != TokenType::kByte) continue;
    const std::string_view spelling = vocabulary_->spelling(id);
    const std::optional<uint8_t> byte = byte_of(spelling);
    if (!byte) {
      return invalid_element(file, kTokensKey, id, "\"{}\" has type BYTE, expected <0x00> to <0xFF>",
                             escaped(spelling));
    }
    if (byte_ids_[*byte] >= 0) {
      return invalid_element(file, kTokensKey, id, "\"{}\" is the same byte as [{}]", escaped(spelling),
                             byte_ids_[*byte]);
    }
    byte_ids_[*byte] = id;
    ++n_found;
  }
  if (n_found > 0 && n_found < 256) {
    const auto missing = std::find(byte_ids_.begin(), byte_ids_.end(), -1) - byte_ids_.begin();
    return invalid_key(file, kTokensKey, "{} of the 256 byte tokens are there, <0x{:02X}> is missing",
                       n_found, missing);
  }
  TRY_ASSIGN(const auto unknown, file.meta_optional<uint32_t>(kUnknownKey));
  if (unknown && *unknown < static_cast<uint32_t>(vocabulary_->size())) {
    unknown_id_ = static_cast<int32_t>(*unknown);
  } else if (n_found == 0) {
    return invalid_key(file, kUnknownKey, "needed for a vocabulary of {} tokens without byte tokens",
                       vocabulary_->size());
  }
  return {};
}

void SentencePieceBpe::find_joints() {
  for (int32_t id = 0; id < vocabulary_->size(); ++id) {
    const std::string_view spelling = vocabulary_->spelling(id);
    size_t at = spelling.find(kSpace, 1);
    if (at == std::string_view::npos || !find_mergeable(spelling)) continue;
    for (; at != std::string_view::npos; at = spelling.find(kSpace, at + 1)) {
      joins_space_[static_cast<uint8_t>(spelling[at - 1])] = true;
    }
  }
}

// Text must not become a control token or a byte token by merging: only by being one.
std::optional<int32_t> SentencePieceBpe::find_mergeable(std::string_view text) const {
  const std::optional<int32_t> id = vocabulary_->find(text);
  if (!id) return std::nullopt;
  const TokenType type = vocabulary_->type(*id);
  return type == TokenType::kNormal || type == TokenType::kUserDefined ? id : std::nullopt;
}

void SentencePieceBpe::encode(std::string_view text, bool begins, std::vector<int32_t>& ids) const {
  const std::string marked = with_marked_spaces(text, begins && add_space_prefix_);
  BpeMerger merger;
  for (size_t begin = 0; begin < marked.size();) {
    const size_t end = std::min(end_of_word(marked, begin), marked.size());
    encode_word(std::string_view(marked).substr(begin, end - begin), merger, ids);
    begin = end;
  }
}

size_t SentencePieceBpe::encode_settled(std::string_view text, bool begins, std::vector<int32_t>& ids) const {
  const bool has_prefix = begins && add_space_prefix_;
  const std::string marked = with_marked_spaces(text, has_prefix);
  BpeMerger merger;
  size_t settled = 0;  // in `marked`
  for (size_t end = end_of_word(marked, 0); end != std::string_view::npos; end = end_of_word(marked, end)) {
    encode_word(std::string_view(marked).substr(settled, end - settled), merger, ids);
    settled = end;
  }
  size_t bytes = 0;
  for (size_t at = has_prefix ? kSpace.size() : 0; at < settled; ++bytes) {
    at += text[bytes] == ' ' ? kSpace.size() : 1;
  }
  return bytes;
}

// Where the word that begins at `begin` ends because another one begins; npos if it goes to the text's end.
size_t SentencePieceBpe::end_of_word(std::string_view marked, size_t begin) const {
  size_t end = marked.find(kSpace, begin + 1);
  while (end != std::string_view::npos && joins_space_[static_cast<uint8_t>(marked[end - 1])]) {
    end = marked.find(kSpace, end + kSpace.size());
  }
  return end;
}

void SentencePieceBpe::encode_word(std::string_view word, BpeMerger& merger,
                                   std::vector<int32_t>& ids) const {
  merger.clear();
  for (size_t at = 0; at < word.size();) {
    const size_t length = std::max<size_t>(utf8_char_length(word.substr(at)), 1);
    merger.add(at, length, find_mergeable(word.substr(at, length)).value_or(-1));
    at += length;
  }
  merger.run([&](const Symbol& left, const Symbol& right) -> Merge {
    const auto id = find_mergeable(word.substr(left.begin, size_t{left.length} + right.length));
    return id ? Merge{ranks_[static_cast<size_t>(*id)], *id} : Merge{};
  });
  merger.for_each([&](const Symbol& symbol) {
    if (symbol.id >= 0) {
      ids.push_back(symbol.id);
    } else if (byte_ids_[0] < 0) {
      ids.push_back(unknown_id_);
    } else {
      for (const char byte : word.substr(symbol.begin, symbol.length)) {
        ids.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
      }
    }
  });
}

void SentencePieceBpe::append_piece(int32_t id, std::string& text) const {
  const std::string_view spelling = vocabulary_->spelling(id);
  if (vocabulary_->type(id) == TokenType::kByte) {
    text += static_cast<char>(*byte_of(spelling));
    return;
  }
  size_t begin = 0;
  for (size_t at = spelling.find(kSpace); at != std::string_view::npos; at = spelling.find(kSpace, begin)) {
    text += spelling.substr(begin, at - begin);
    text += ' ';
    begin = at + kSpace.size();
  }
  text += spelling.substr(begin);
}

}  // namespace inferno::tokenizer
