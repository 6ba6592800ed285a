// Vocabulary: the tokens of a GGUF file (tokenizer.ggml.tokens and .token_type), checked, with a look-up by
// spelling.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/keyed_hash.h"
#include "base/result.h"
#include "base/text.h"
#include "gguf/file.h"
#include "tokenizer/tables.h"

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

class Vocabulary {
 public:
  // Refuses: no tokens, invalid UTF-8, a token of more than 16 KiB (1 KiB if it is matched in raw text:
  // CONTROL, USER_DEFINED, UNKNOWN), a type array of another length or element type, a type that does not
  // exist. Allowed, because converters have written such files: empty tokens (never matched) and duplicates
  // (find() gives the first, every one decodes).
  static Result<Vocabulary> load(const gguf::File& file);
  // What save() has written of the same file's, used as it lies. nullopt where it is anything else, as far as
  // that is seen: what leads out of the tables, another number of tokens or of their bytes, tokens that are
  // not found.
  static std::optional<Vocabulary> from_tables(const gguf::File& file, TableReader& tables);
  void save(TableWriter& tables) const;

  int32_t size() const { return static_cast<int32_t>(types_.size()); }
  bool valid(int32_t id) const { return id >= 0 && id < size(); }
  TokenType type(int32_t id) const { return static_cast<TokenType>(types_[static_cast<size_t>(id)]); }
  // The token as the file spells it ("Ġthe", "▁the", "<0x0A>").
  std::string_view spelling(int32_t id) const;
  // Whether several tokens have the same spelling.
  bool has_duplicates() const { return has_duplicates_; }
  // The first token of that spelling, whatever its type.
  std::optional<int32_t> find(std::string_view spelling) const;
  // The same of up to kFoundTogether spellings, -1 where there is no such token. In a table larger than the
  // caches each look-up waits for memory three times; together they wait three times in all.
  static constexpr size_t kFoundTogether = 64;
  void find_together(std::span<const std::string_view> spellings, std::span<int32_t> ids) const;

 private:
  struct Built;
  Vocabulary() = default;
  static Status load_tokens(const gguf::File& file, const gguf::StringRange& tokens, Built& built);
  static Status load_types(const gguf::File& file, Built& built);
  size_t longest(int32_t id) const;  // that a token of its type may be, in bytes
  Status check_lengths(const gguf::File& file) const;
  void build_index(std::span<int32_t> slots);
  bool is_consistent() const;
  size_t first_slot(std::string_view spelling) const {
    return static_cast<size_t>(sip_hash(key_, spelling)) & (slots_.size() - 1);
  }
  // From slot `slot` on; -1 where there is none.
  int32_t find_from(size_t slot, std::string_view spelling) const;

  std::shared_ptr<const void> owner_;  // of what follows
  std::string_view arena_;             // all spellings
  std::span<const uint64_t> begins_;   // of each token in arena_, and the end
  std::span<const int32_t> types_;
  std::span<const int32_t> slots_;  // open addressing: id or -1; a power of two
  HashKey key_{};                   // of slots_
  bool has_duplicates_ = false;
};

// An error about one metadata key: "FILE: KEY at byte OFFSET: …".
template <class... Args>
Error invalid_key(const gguf::File& file, std::string_view key, fmt::format_string<Args...> format,
                  Args&&... args) {
  const gguf::Value* value = file.find(key);
  return make_error(ErrorCode::kInvalidFile, "{}: {}{}: {}", escaped(file.path(), 4096), key,
                    value == nullptr ? "" : fmt::format(" at byte {}", value->offset),
                    fmt::format(format, std::forward<Args>(args)...));
}
// An error about one element of an array that is there: "FILE: KEY[INDEX] at byte OFFSET: …".
template <class... Args>
Error invalid_element(const gguf::File& file, std::string_view key, uint64_t index,
                      fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidFile, "{}: {}[{}] at byte {}: {}", escaped(file.path(), 4096), key,
                    index, gguf::element_offset(*file.find(key), index),
                    fmt::format(format, std::forward<Args>(args)...));
}

// What were to be the tables of this file's tokenizer are others.
inline Error not_saved_tables(const gguf::File& file) {
  return make_error(ErrorCode::kInvalidFile, "{}: the tables of its tokenizer that were kept are damaged",
                    escaped(file.path(), 4096));
}

// An array of `expected` elements of exactly this type, or an error about it.
Status check_array(const gguf::File& file, std::string_view key, gguf::ValueType element_type,
                   uint64_t expected);

}  // namespace inferno::tokenizer
