// Tokenizer: text to ids and back, from a GGUF file's tokenizer.ggml.* metadata.
//   "gpt2"  byte-level BPE (Qwen, Llama 3, GPT-2 …), split by the pretokenizer that tokenizer.ggml.pre names
//   "llama" SentencePiece-style BPE (Llama 2, Mistral, Gemma): merges by score, byte fallback, space prefix
// Special means token type CONTROL or USER_DEFINED, never a spelling. The truth is Hugging Face's ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "tokenizer/special_ids.h"
#include "tokenizer/special_matcher.h"
#include "tokenizer/text_model.h"
#include "tokenizer/vocabulary.h"

namespace inferno::tokenizer {

struct EncodeOptions {
  bool add_bos = true;        // where the model's metadata asks for it (and EOS likewise)
  bool parse_special = true;  // CONTROL and UNKNOWN tokens spelled in the text become their ids; otherwise
                              // they are plain text. USER_DEFINED tokens are always matched.
  bool operator==(const EncodeOptions&) const = default;
};

class Tokenizer {
 public:
  // A longer text is refused.
  static constexpr size_t kMaxTextBytes = 0x7FFFFFFF;

  // Refuses, naming key and element, whatever is inconsistent: see vocabulary.h, special_ids.h,
  // merge_table.h, byte_bpe.h and sentencepiece_bpe.h. All strings are copied: the file need not outlive the
  // tokenizer.
  static Result<std::shared_ptr<const Tokenizer>> from_gguf(const gguf::File& file);
  // What that takes longest for, as bytes to be kept and used as they lie: from_tables() of the same file's
  // is the same tokenizer at once. It takes the tokens and merges for checked; kInvalidFile for tables that
  // reads would leave, of another version of the program, or, as far as it notices, of another file.
  std::vector<std::byte> tables() const;
  static Result<std::shared_ptr<const Tokenizer>> from_tables(const gguf::File& file,
                                                              std::span<const std::byte> tables,
                                                              std::shared_ptr<const void> owner);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Any bytes are accepted; invalid UTF-8 is encoded byte by byte. Near-linear in the text's length. The only
  // error is a text of more than kMaxTextBytes.
  Result<std::vector<int32_t>> encode(std::string_view text, const EncodeOptions& options = {}) const;
  // Texts are independent; n_threads 0 = one per core. Same ids as encode() of each.
  Result<std::vector<std::vector<int32_t>>> encode_batch(std::span<const std::string> texts,
                                                         const EncodeOptions& options = {},
                                                         unsigned n_threads = 0) const;

  // The text of ids, special tokens spelled out; `skip_special` leaves CONTROL and UNKNOWN tokens out
  // (USER_DEFINED ones are text: "<think>", a run of newlines). Error for an id outside the vocabulary.
  Result<std::string> decode(std::span<const int32_t> ids, bool skip_special = false) const;
  // The bytes that one token adds to the text when it stands after others (a SentencePiece "▁" is a space).
  // Not necessarily whole characters. CHECKs that the id is valid.
  std::string piece(int32_t id) const;
  // Whether decode() drops a space at the very start of a text, since encode() put one there.
  bool adds_space_prefix() const { return text_model_->adds_space_prefix(); }

  int32_t vocab_size() const { return vocabulary_.size(); }
  bool valid(int32_t id) const { return vocabulary_.valid(id); }
  TokenType type(int32_t id) const { return vocabulary_.type(id); }
  bool is_special(int32_t id) const {
    return type(id) == TokenType::kControl || type(id) == TokenType::kUserDefined;
  }
  // What skip_special leaves out.
  bool is_control(int32_t id) const {
    return type(id) == TokenType::kControl || type(id) == TokenType::kUnknown;
  }
  // The token as the vocabulary spells it ("Ġthe", "▁the", "<0x0A>").
  std::string_view spelling(int32_t id) const { return vocabulary_.spelling(id); }
  std::optional<int32_t> find(std::string_view spelling) const { return vocabulary_.find(spelling); }

  std::optional<int32_t> bos_id() const { return special_ids_.bos; }
  std::optional<int32_t> eos_id() const { return special_ids_.eos; }
  // Every id that ends generation: eos, eot, and eom where the metadata names them, each once, eos first.
  const std::vector<int32_t>& end_ids() const { return special_ids_.end; }
  bool is_end(int32_t id) const;
  bool adds_bos() const { return special_ids_.add_bos; }

  // "gpt2" or "llama"; and the pretokenizer's name ("default" for "llama", which has none).
  const std::string& model() const { return model_; }
  const std::string& pretokenizer() const { return pretokenizer_; }

 private:
  friend class StreamEncoder;
  explicit Tokenizer(Vocabulary vocabulary);
  Status load_text_model(const gguf::File& file, TableReader* saved = nullptr);

  Vocabulary vocabulary_;
  std::string model_;
  std::string pretokenizer_;
  SpecialIds special_ids_;
  SpecialMatcher user_defined_;
  SpecialMatcher all_specials_;
  std::unique_ptr<const TextModel> text_model_;
};

}  // namespace inferno::tokenizer
