#include "tokenizer/byte_bpe.h"

#include <optional>

#include "base/text.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/unicode.h"

namespace inferno::tokenizer {
namespace {

constexpr std::string_view kPreKey = "tokenizer.ggml.pre";

// C0, C1 and F5–FF never occur in UTF-8, F1–F4 only in planes without ordinary text. The vocabularies of
// DeepSeek LLM and StarCoder 2 lack up to 14 of them.
bool may_be_missing(unsigned byte) {
  return byte == 0xC0 || byte == 0xC1 || byte >= 0xF1;
}

}  // namespace

Result<std::unique_ptr<const ByteBpe>> ByteBpe::load(const gguf::File& file, const Vocabulary& vocabulary) {
  TRY_ASSIGN(const std::string_view name, file.meta<std::string_view>(kPreKey));
  Result<Pretokenizer> pretokenizer = Pretokenizer::find(name);
  if (!pretokenizer) return invalid_key(file, kPreKey, "{}", pretokenizer.error().message);
  TRY_ASSIGN(MergeTable merges, MergeTable::load(file, vocabulary));
  std::unique_ptr<ByteBpe> model(
      new ByteBpe(vocabulary, std::string(name), std::move(pretokenizer).value(), std::move(merges)));
  TRY(model->find_byte_ids(file));
  return std::unique_ptr<const ByteBpe>(std::move(model));
}

Status ByteBpe::find_byte_ids(const gguf::File& file) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string letter;
    append_letter(static_cast<uint8_t>(byte), letter);
    const std::optional<int32_t> id = vocabulary_->find(letter);
    // An added token may have a letter's spelling ("ø" in DeepSeek LLM), but then it means that text, not the
    // byte.
    const bool found = id && vocabulary_->type(*id) == TokenType::kNormal;
    if (!found && !may_be_missing(byte)) {
      return invalid_key(file, "tokenizer.ggml.tokens",
                         "no NORMAL token \"{}\" for byte 0x{:02X}, which a byte-level vocabulary needs",
                         letter, byte);
    }
    byte_ids_[byte] = found ? *id : -1;
  }
  return {};
}

void ByteBpe::encode(std::string_view text, std::vector<int32_t>& ids) const {
  while (!text.empty()) {
    const size_t valid = valid_utf8_length(text);
    if (valid > 0) encode_valid(text.substr(0, valid), ids);
    text.remove_prefix(valid);
    const size_t invalid = invalid_utf8_length(text);
    for (const char byte : text.substr(0, invalid)) encode_byte(static_cast<uint8_t>(byte), ids);
    text.remove_prefix(invalid);
  }
}

void ByteBpe::encode_valid(std::string_view text, std::vector<int32_t>& ids) const {
  const std::string normalized = pretokenizer_.normalizes_to_nfc() ? nfc(text) : std::string();
  if (pretokenizer_.normalizes_to_nfc()) text = normalized;
  BpeMerger merger;
  for (const std::string_view piece : pretokenizer_.split(text)) {
    if (pretokenizer_.ignores_merges()) {
      const std::optional<int32_t> id = vocabulary_->find(spell(piece));
      if (id && vocabulary_->type(*id) == TokenType::kNormal) {
        ids.push_back(*id);
        continue;
      }
    }
    merge_piece(piece, merger, ids);
  }
}

void ByteBpe::encode_byte(uint8_t byte, std::vector<int32_t>& ids) const {
  if (byte_ids_[byte] >= 0) ids.push_back(byte_ids_[byte]);
}

void ByteBpe::merge_piece(std::string_view piece, BpeMerger& merger, std::vector<int32_t>& ids) const {
  merger.clear();
  for (size_t i = 0; i < piece.size(); ++i) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(piece[i])];
    if (id >= 0) merger.add(i, 1, id);
  }
  merger.run([&](const Symbol& left, const Symbol& right) { return merges_.find(left.id, right.id); });
  merger.for_each([&](const Symbol& symbol) { ids.push_back(symbol.id); });
}

void ByteBpe::append_piece(int32_t id, std::string& text) const {
  const std::string_view spelling = vocabulary_->spelling(id);
  const TokenType type = vocabulary_->type(id);
  const bool is_text = type != TokenType::kControl && type != TokenType::kUserDefined;
  // Added tokens that a converter typed as NORMAL stand for themselves, as in Hugging Face's decoder.
  const std::optional<std::string> bytes = is_text ? unspell(spelling) : std::nullopt;
  if (bytes) {
    text += *bytes;
  } else {
    text += spelling;
  }
}

}  // namespace inferno::tokenizer
