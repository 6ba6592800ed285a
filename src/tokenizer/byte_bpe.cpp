#include "tokenizer/byte_bpe.h"

#include <numeric>
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

size_t total_size(const std::vector<std::string_view>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), size_t{0},
                         [](size_t sum, std::string_view piece) { return sum + piece.size(); });
}

// Where the last character begins before which normalization may be cut; 0 if there is none.
size_t last_nfc_start(std::string_view text) {
  for (size_t at = text.size(); at-- > 0;) {
    const bool is_continuation = (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80;
    if (!is_continuation && starts_nfc(text.substr(at))) return at;
  }
  return 0;
}

// How much of `text` the first pieces of its normal form stand for, up to where both may be cut.
struct Settled {
  size_t bytes = 0;
  size_t n_pieces = 0;
};
Settled settled_before_nfc(std::string_view text, const std::vector<std::string_view>& pieces) {
  Settled settled;
  size_t piece = 0;
  size_t normalized = 0;    // bytes of the normal form of text up to `begin`
  size_t end_of_piece = 0;  // in the normal form, of the pieces before `piece`
  for (size_t begin = 0; begin < text.size() && piece < pieces.size();) {
    size_t end = begin + utf8_char_length(text.substr(begin));
    while (end < text.size() && !starts_nfc(text.substr(end))) end += utf8_char_length(text.substr(end));
    normalized += nfc(text.substr(begin, end - begin)).size();
    begin = end;
    while (piece < pieces.size() && end_of_piece + pieces[piece].size() <= normalized) {
      end_of_piece += pieces[piece++].size();
    }
    if (end_of_piece == normalized) settled = {begin, piece};
  }
  return settled;
}

}  // namespace

Result<std::unique_ptr<const ByteBpe>> ByteBpe::load(const gguf::File& file, const Vocabulary& vocabulary,
                                                     TableReader* saved) {
  TRY_ASSIGN(const std::string_view name, file.meta<std::string_view>(kPreKey));
  Result<Pretokenizer> pretokenizer = Pretokenizer::find(name);
  if (!pretokenizer) return invalid_key(file, kPreKey, "{}", pretokenizer.error().message);
  std::optional<MergeTable> merges;
  if (saved == nullptr) {
    TRY_ASSIGN(merges, MergeTable::load(file, vocabulary));
  } else if (merges = MergeTable::from_tables(*saved, vocabulary); !merges) {
    return not_saved_tables(file);
  }
  std::unique_ptr<ByteBpe> model(
      new ByteBpe(vocabulary, std::string(name), std::move(pretokenizer).value(), std::move(*merges)));
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

void ByteBpe::encode(std::string_view text, bool /*begins*/, std::vector<int32_t>& ids) const {
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
  encode_pieces(pretokenizer_.split(text), ids);
}

size_t ByteBpe::encode_settled(std::string_view text, bool /*begins*/, std::vector<int32_t>& ids) const {
  const std::string_view known = text.substr(0, complete_utf8_prefix(text));
  size_t done = 0;
  while (done < known.size()) {
    const std::string_view rest = known.substr(done);
    const size_t valid = valid_utf8_length(rest);
    if (valid == rest.size()) return done + encode_settled_valid(rest, ids);
    if (valid > 0) encode_valid(rest.substr(0, valid), ids);
    const size_t invalid = invalid_utf8_length(rest.substr(valid));
    for (const char byte : rest.substr(valid, invalid)) encode_byte(static_cast<uint8_t>(byte), ids);
    done += valid + invalid;
  }
  return done;
}

size_t ByteBpe::encode_settled_valid(std::string_view text, std::vector<int32_t>& ids) const {
  if (!pretokenizer_.normalizes_to_nfc()) {
    const std::vector<std::string_view> pieces = pretokenizer_.split_settled(text);
    encode_pieces(pieces, ids);
    return total_size(pieces);
  }
  text = text.substr(0, last_nfc_start(text));
  const std::string normalized = nfc(text);
  const std::vector<std::string_view> pieces = pretokenizer_.split_settled(normalized);
  const Settled settled =
      normalized == text ? Settled{total_size(pieces), pieces.size()} : settled_before_nfc(text, pieces);
  encode_pieces(std::span(pieces).first(settled.n_pieces), ids);
  return settled.bytes;
}

void ByteBpe::encode_pieces(std::span<const std::string_view> pieces, std::vector<int32_t>& ids) const {
  BpeMerger merger;
  for (const std::string_view piece : pieces) {
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
