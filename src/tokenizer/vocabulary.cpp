#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/keyed_hash.h"
#include "base/text.h"
#include "tokenizer/unicode.h"

namespace inferno::tokenizer {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
// The longest tokens of real vocabularies have 512 bytes.
constexpr size_t kMaxTokenBytes = 16 * 1024;
// Tokens matched in raw text cost up to their length at every position of a hostile text.
constexpr size_t kMaxMatchedTokenBytes = 1024;

bool is_matched_in_text(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUserDefined || type == TokenType::kUnknown;
}

size_t n_slots(size_t n_tokens) {
  return std::bit_ceil(n_tokens * 2);
}

// arena_, begins_, types_ and slots_ with what lies between them.
size_t bytes_of_tables(const gguf::StringRange& tokens) {
  const size_t n = tokens.size();
  return tokens.n_bytes() + (n + 1) * sizeof(size_t) + n * sizeof(int32_t) + n_slots(n) * sizeof(int32_t) +
         64;
}

}  // namespace

Status check_array(const gguf::File& file, std::string_view key, gguf::ValueType element_type,
                   uint64_t expected) {
  const gguf::Value* value = file.find(key);
  if (value == nullptr) return invalid_key(file, key, "missing");
  if (value->type != gguf::ValueType::kArray || value->element_type != element_type) {
    const bool is_array = value->type == gguf::ValueType::kArray;
    return invalid_key(file, key, "expected an array of {}, found {}{}", gguf::name(element_type),
                       is_array ? "an array of " : "",
                       gguf::name(is_array ? value->element_type : value->type));
  }
  if (value->count != expected) {
    return invalid_key(file, key, "expected {} elements, one for each token, found {}", expected,
                       value->count);
  }
  return {};
}

Result<Vocabulary> Vocabulary::load(const gguf::File& file) {
  TRY_ASSIGN(const gguf::StringRange tokens, file.meta_strings(kTokensKey));
  if (tokens.size() == 0 || tokens.size() > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return invalid_key(file, kTokensKey, "expected 1 to 2147483647 tokens, found {}", tokens.size());
  }
  Vocabulary vocabulary(tokens);
  TRY(vocabulary.load_tokens(file, tokens));
  TRY(vocabulary.load_types(file));
  TRY(vocabulary.check_lengths(file));
  vocabulary.build_index();
  return vocabulary;
}

Vocabulary::Vocabulary(const gguf::StringRange& tokens)
    : memory_(std::make_unique<TableMemory>(bytes_of_tables(tokens))),
      arena_(memory_.get()),
      begins_(memory_.get()),
      types_(memory_.get()),
      slots_(memory_.get()) {
  begins_.reserve(tokens.size() + 1);
  arena_.reserve(tokens.n_bytes());
}

Status Vocabulary::load_tokens(const gguf::File& file, const gguf::StringRange& tokens) {
  for (const std::string_view token : tokens) {
    if (valid_utf8_length(token) != token.size()) {
      return invalid_element(file, kTokensKey, begins_.size(), "\"{}\" is not valid UTF-8", escaped(token));
    }
    begins_.push_back(arena_.size());
    arena_ += token;
  }
  begins_.push_back(arena_.size());
  return {};
}

Status Vocabulary::load_types(const gguf::File& file) {
  TRY(check_array(file, kTypesKey, gguf::ValueType::kInt32, begins_.size() - 1));
  types_.resize(begins_.size() - 1);
  TRY(file.meta_array_to<int32_t>(kTypesKey, types_));
  const auto wrong = std::find_if(types_.begin(), types_.end(), [](int32_t type) {
    return type < static_cast<int32_t>(TokenType::kNormal) || type > static_cast<int32_t>(TokenType::kByte);
  });
  if (wrong != types_.end()) {
    return invalid_element(file, kTypesKey, static_cast<uint64_t>(wrong - types_.begin()),
                           "is {}, expected a token type from 1 to 6", *wrong);
  }
  return {};
}

Status Vocabulary::check_lengths(const gguf::File& file) const {
  for (int32_t id = 0; id < size(); ++id) {
    const size_t length = spelling(id).size();
    const size_t limit = is_matched_in_text(type(id)) ? kMaxMatchedTokenBytes : kMaxTokenBytes;
    if (length > limit) {
      return invalid_element(file, kTokensKey, id, "has {} bytes, at most {} are allowed for its type",
                             length, limit);
    }
  }
  return {};
}

void Vocabulary::build_index() {
  slots_.assign(n_slots(types_.size()), -1);
  const size_t mask = slots_.size() - 1;
  std::array<size_t, kFoundTogether> first;
  for (int32_t begin = 0; begin < size(); begin += static_cast<int32_t>(kFoundTogether)) {
    const int32_t end = std::min(size(), begin + static_cast<int32_t>(kFoundTogether));
    for (int32_t id = begin; id < end; ++id) {
      size_t& slot = first[static_cast<size_t>(id - begin)];
      slot = first_slot(spelling(id));
      __builtin_prefetch(&slots_[slot], 1);
    }
    for (int32_t id = begin; id < end; ++id) {
      const std::string_view token = spelling(id);
      if (token.empty()) continue;
      size_t slot = first[static_cast<size_t>(id - begin)];
      while (slots_[slot] >= 0 && spelling(slots_[slot]) != token) slot = (slot + 1) & mask;
      if (slots_[slot] < 0) {
        slots_[slot] = id;
      } else {
        has_duplicates_ = true;
      }
    }
  }
}

size_t Vocabulary::first_slot(std::string_view spelling) const {
  return static_cast<size_t>(keyed_hash(spelling)) & (slots_.size() - 1);
}

std::string_view Vocabulary::spelling(int32_t id) const {
  const auto i = static_cast<size_t>(id);
  return std::string_view(arena_).substr(begins_[i], begins_[i + 1] - begins_[i]);
}

int32_t Vocabulary::find_from(size_t slot, std::string_view spelling_wanted) const {
  const size_t mask = slots_.size() - 1;
  while (slots_[slot] >= 0 && spelling(slots_[slot]) != spelling_wanted) slot = (slot + 1) & mask;
  return slots_[slot];
}

std::optional<int32_t> Vocabulary::find(std::string_view spelling_wanted) const {
  const int32_t id = find_from(first_slot(spelling_wanted), spelling_wanted);
  return id < 0 ? std::nullopt : std::optional(id);
}

void Vocabulary::find_together(std::span<const std::string_view> spellings, std::span<int32_t> ids) const {
  std::array<size_t, kFoundTogether> first;
  const size_t n = spellings.size();
  for (size_t i = 0; i < n; ++i) {
    first[i] = first_slot(spellings[i]);
    __builtin_prefetch(&slots_[first[i]]);
  }
  // Of the token that is most likely the one: where its bytes are, then they.
  for (size_t i = 0; i < n; ++i) {
    if (const int32_t id = slots_[first[i]]; id >= 0) __builtin_prefetch(&begins_[static_cast<size_t>(id)]);
  }
  for (size_t i = 0; i < n; ++i) {
    if (const int32_t id = slots_[first[i]]; id >= 0) __builtin_prefetch(spelling(id).data());
  }
  for (size_t i = 0; i < n; ++i) ids[i] = find_from(first[i], spellings[i]);
}

}  // namespace inferno::tokenizer
