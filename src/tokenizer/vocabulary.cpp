#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/table_memory.h"
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

bool is_type(int32_t type) {
  return type >= static_cast<int32_t>(TokenType::kNormal) && type <= static_cast<int32_t>(TokenType::kByte);
}

size_t n_slots(size_t n_tokens) {
  return std::bit_ceil(n_tokens * 2);
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

// What load() makes, in one piece of memory: a quarter of a million tokens load in tens of milliseconds.
struct Vocabulary::Built {
  explicit Built(const gguf::StringRange& tokens) : memory(bytes_of(tokens)) {
    begins.reserve(tokens.size() + 1);
    arena.reserve(tokens.n_bytes());
  }
  // Of all tables, with what lies between them.
  static size_t bytes_of(const gguf::StringRange& tokens) {
    const size_t n = tokens.size();
    return tokens.n_bytes() + (n + 1) * sizeof(uint64_t) + n * sizeof(int32_t) +
           n_slots(n) * sizeof(int32_t) + 64;
  }

  TableMemory memory;
  std::pmr::string arena{&memory};
  std::pmr::vector<uint64_t> begins{&memory};
  std::pmr::vector<int32_t> types{&memory};
  std::pmr::vector<int32_t> slots{&memory};
};

Result<Vocabulary> Vocabulary::load(const gguf::File& file) {
  TRY_ASSIGN(const gguf::StringRange tokens, file.meta_strings(kTokensKey));
  if (tokens.size() == 0 || tokens.size() > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return invalid_key(file, kTokensKey, "expected 1 to 2147483647 tokens, found {}", tokens.size());
  }
  const auto built = std::make_shared<Built>(tokens);
  TRY(load_tokens(file, tokens, *built));
  TRY(load_types(file, *built));
  Vocabulary vocabulary;
  vocabulary.owner_ = built;
  vocabulary.arena_ = built->arena;
  vocabulary.begins_ = built->begins;
  vocabulary.types_ = built->types;
  TRY(vocabulary.check_lengths(file));
  built->slots.assign(n_slots(tokens.size()), -1);
  vocabulary.build_index(built->slots);
  return vocabulary;
}

Status Vocabulary::load_tokens(const gguf::File& file, const gguf::StringRange& tokens, Built& built) {
  for (const std::string_view token : tokens) {
    if (valid_utf8_length(token) != token.size()) {
      return invalid_element(file, kTokensKey, built.begins.size(), "\"{}\" is not valid UTF-8",
                             escaped(token));
    }
    built.begins.push_back(built.arena.size());
    built.arena += token;
  }
  built.begins.push_back(built.arena.size());
  return {};
}

Status Vocabulary::load_types(const gguf::File& file, Built& built) {
  std::pmr::vector<int32_t>& types = built.types;
  TRY(check_array(file, kTypesKey, gguf::ValueType::kInt32, built.begins.size() - 1));
  types.resize(built.begins.size() - 1);
  TRY(file.meta_array_to<int32_t>(kTypesKey, types));
  const auto wrong = std::find_if_not(types.begin(), types.end(), is_type);
  if (wrong != types.end()) {
    return invalid_element(file, kTypesKey, static_cast<uint64_t>(wrong - types.begin()),
                           "is {}, expected a token type from 1 to 6", *wrong);
  }
  return {};
}

size_t Vocabulary::longest(int32_t id) const {
  return is_matched_in_text(type(id)) ? kMaxMatchedTokenBytes : kMaxTokenBytes;
}

Status Vocabulary::check_lengths(const gguf::File& file) const {
  for (int32_t id = 0; id < size(); ++id) {
    if (const size_t length = spelling(id).size(); length > longest(id)) {
      return invalid_element(file, kTokensKey, id, "has {} bytes, at most {} are allowed for its type",
                             length, longest(id));
    }
  }
  return {};
}

void Vocabulary::build_index(std::span<int32_t> slots) {
  slots_ = slots;
  key_ = random_hash_key();
  const size_t mask = slots.size() - 1;
  std::array<size_t, kFoundTogether> first;
  for (int32_t begin = 0; begin < size(); begin += static_cast<int32_t>(kFoundTogether)) {
    const int32_t end = std::min(size(), begin + static_cast<int32_t>(kFoundTogether));
    for (int32_t id = begin; id < end; ++id) {
      size_t& slot = first[static_cast<size_t>(id - begin)];
      slot = first_slot(spelling(id));
      __builtin_prefetch(&slots[slot], 1);
    }
    for (int32_t id = begin; id < end; ++id) {
      const std::string_view token = spelling(id);
      if (token.empty()) continue;
      size_t slot = first[static_cast<size_t>(id - begin)];
      while (slots[slot] >= 0 && spelling(slots[slot]) != token) slot = (slot + 1) & mask;
      if (slots[slot] < 0) {
        slots[slot] = id;
      } else {
        has_duplicates_ = true;
      }
    }
  }
}

void Vocabulary::save(TableWriter& tables) const {
  tables.add_one<uint64_t>(types_.size());
  tables.add_one<uint64_t>(arena_.size());
  tables.add_one(key_);
  tables.add_one(has_duplicates_);
  tables.add(std::span(arena_));
  tables.add(begins_);
  tables.add(types_);
  tables.add(slots_);
}

std::optional<Vocabulary> Vocabulary::from_tables(const gguf::File& file, TableReader& tables) {
  const auto n = tables.take_one<uint64_t>();
  const auto n_bytes = tables.take_one<uint64_t>();
  const auto key = tables.take_one<HashKey>();
  const auto has_duplicates = tables.take_one<uint8_t>();
  if (!has_duplicates || *n == 0 || *n > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
    return std::nullopt;
  const auto arena = tables.take<char>(*n_bytes);
  const auto begins = tables.take<uint64_t>(*n + 1);
  const auto types = tables.take<int32_t>(*n);
  const auto slots = tables.take<int32_t>(n_slots(*n));
  if (!arena || !begins || !types || !slots) return std::nullopt;
  const auto tokens = file.meta_strings(kTokensKey);
  if (!tokens || tokens->size() != *n || tokens->n_bytes() != *n_bytes) return std::nullopt;
  Vocabulary vocabulary;
  vocabulary.owner_ = tables.owner();
  vocabulary.arena_ = {arena->data(), arena->size()};
  vocabulary.begins_ = *begins;
  vocabulary.types_ = *types;
  vocabulary.slots_ = *slots;
  vocabulary.key_ = *key;
  vocabulary.has_duplicates_ = *has_duplicates != 0;
  if (!vocabulary.is_consistent()) return std::nullopt;
  return vocabulary;
}

// So much that no look-up leaves the tables or takes long, and that some tokens are found.
bool Vocabulary::is_consistent() const {
  constexpr int32_t kTried = 64;
  if (begins_.front() != 0 || begins_.back() != arena_.size() || !std::ranges::is_sorted(begins_) ||
      !std::ranges::all_of(types_, is_type)) {
    return false;
  }
  const auto is_id = [&](int32_t slot) { return slot >= -1 && slot < size(); };
  const auto n_empty = static_cast<size_t>(std::ranges::count(slots_, -1));
  if (!std::ranges::all_of(slots_, is_id) || n_empty < slots_.size() - types_.size()) return false;
  for (int32_t id = 0; id < size(); ++id) {
    if (spelling(id).size() > longest(id)) return false;
  }
  for (int32_t i = 0; i < kTried; ++i) {
    const std::string_view token = spelling(static_cast<int32_t>(int64_t{i} * size() / kTried));
    if (!token.empty() && !find(token)) return false;
  }
  return true;
}

std::string_view Vocabulary::spelling(int32_t id) const {
  const auto i = static_cast<size_t>(id);
  return arena_.substr(begins_[i], begins_[i + 1] - begins_[i]);
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
