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

namespace inferno::tokenizer {

// Values of tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

struct EncodeOptions {
  bool add_bos = true;         // where the model's metadata asks for it (and EOS likewise)
  bool parse_special = true;   // CONTROL tokens spelled in the text become their ids; otherwise they are plain text.
                               // USER_DEFINED tokens are always matched.
};

class Tokenizer {
 public:
  // Refuses, naming key and element, whatever is inconsistent: see the implementation's checks. All strings are
  // copied: the file need not outlive the tokenizer.
  static Result<std::shared_ptr<const Tokenizer>> from_gguf(const gguf::File& file);
  virtual ~Tokenizer();

  // Any bytes are accepted; invalid UTF-8 is encoded byte by byte. Near-linear in the text's length.
  virtual std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const = 0;
  // Texts are independent; n_threads 0 = one per core. Same ids as encode() of each.
  std::vector<std::vector<int32_t>> encode_batch(std::span<const std::string> texts,
                                                 const EncodeOptions& options = {},
                                                 unsigned n_threads = 0) const;

  // The text of ids, special tokens spelled out unless skip_special. Error for an id outside the vocabulary.
  Result<std::string> decode(std::span<const int32_t> ids, bool skip_special = false) const;
  // The bytes that one token adds to the text when it stands after others (a SentencePiece "▁" is a space). Not
  // necessarily whole characters. CHECKs that the id is valid.
  virtual std::string piece(int32_t id) const = 0;

  int32_t vocab_size() const { return static_cast<int32_t>(types_.size()); }
  bool valid(int32_t id) const { return id >= 0 && id < vocab_size(); }
  TokenType type(int32_t id) const { return types_[static_cast<size_t>(id)]; }
  bool is_special(int32_t id) const {
    return type(id) == TokenType::kControl || type(id) == TokenType::kUserDefined;
  }
  // The token as the vocabulary spells it ("Ġthe", "▁the", "<0x0A>").
  std::string_view spelling(int32_t id) const { return spellings_[static_cast<size_t>(id)]; }
  std::optional<int32_t> find(std::string_view spelling) const;

  std::optional<int32_t> bos_id() const { return bos_id_; }
  std::optional<int32_t> eos_id() const { return eos_id_; }
  // Every id that ends generation: eos, eot, and eom where the metadata names them, each once, eos first.
  const std::vector<int32_t>& end_ids() const { return end_ids_; }
  bool is_end(int32_t id) const;
  bool adds_bos() const { return add_bos_; }

  // "gpt2" or "llama"; and the pretokenizer's name.
  const std::string& model() const { return model_; }
  const std::string& pretokenizer() const { return pretokenizer_; }

 protected:
  // … members of the vocabulary shared by both kinds
  std::string model_;
  std::string pretokenizer_;
  std::vector<std::string> spellings_;
  std::vector<TokenType> types_;
  std::optional<int32_t> bos_id_, eos_id_, unk_id_;
  std::vector<int32_t> end_ids_;
  bool add_bos_ = false;
  bool add_eos_ = false;
};

}  // namespace inferno::tokenizer
