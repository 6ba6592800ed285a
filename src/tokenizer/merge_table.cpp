#include "tokenizer/merge_table.h"

#include <bit>
#include <limits>
#include <string>

#include "base/keyed_hash.h"
#include "base/text.h"

namespace inferno::tokenizer {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr uint64_t kNoPair = ~uint64_t{0};

uint64_t pair_of(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

struct ResolvedMerge {
  int32_t left, right, product;
};

Result<ResolvedMerge> resolve(const gguf::File& file, const Vocabulary& vocabulary, uint64_t index,
                              std::string_view merge) {
  const size_t space = merge.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == merge.size() ||
      merge.find(' ', space + 1) != std::string_view::npos) {
    return invalid_element(file, kMergesKey, index, "\"{}\" is not two tokens separated by one space",
                           escaped(merge));
  }
  std::string product(merge.substr(0, space));
  product += merge.substr(space + 1);
  const auto id_of = [&](std::string_view token, const char* role) -> Result<int32_t> {
    if (const std::optional<int32_t> id = vocabulary.find(token)) return *id;
    return invalid_element(file, kMergesKey, index, "\"{}\": its {} \"{}\" is not in tokenizer.ggml.tokens",
                           escaped(merge), role, escaped(token));
  };
  ResolvedMerge resolved{};
  TRY_ASSIGN(resolved.left, id_of(merge.substr(0, space), "left part"));
  TRY_ASSIGN(resolved.right, id_of(merge.substr(space + 1), "right part"));
  TRY_ASSIGN(resolved.product, id_of(product, "product"));
  return resolved;
}

}  // namespace

MergeTable::MergeTable(size_t n_merges) : slots_(std::bit_ceil(n_merges * 2 + 1), Slot{kNoPair, {}}) {}

Result<MergeTable> MergeTable::load(const gguf::File& file, const Vocabulary& vocabulary) {
  TRY_ASSIGN(const gguf::StringRange merges, file.meta_strings(kMergesKey));
  if (merges.size() > std::numeric_limits<uint32_t>::max()) {
    return invalid_key(file, kMergesKey, "expected at most 4294967295 merges, found {}", merges.size());
  }
  MergeTable table(static_cast<size_t>(merges.size()));
  uint32_t rank = 0;
  for (const std::string_view merge : merges) {
    TRY_ASSIGN(const ResolvedMerge resolved, resolve(file, vocabulary, rank, merge));
    if (!table.insert(resolved.left, resolved.right, {rank, resolved.product})) {
      return invalid_element(file, kMergesKey, rank, "\"{}\" stands there twice", escaped(merge));
    }
    ++rank;
  }
  return table;
}

size_t MergeTable::first_slot(uint64_t pair) const {
  return static_cast<size_t>(keyed_hash(pair)) & (slots_.size() - 1);
}

bool MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  const uint64_t pair = pair_of(left, right);
  size_t slot = first_slot(pair);
  while (slots_[slot].pair != kNoPair) {
    if (slots_[slot].pair == pair) return false;
    slot = (slot + 1) & (slots_.size() - 1);
  }
  slots_[slot] = {pair, merge};
  return true;
}

Merge MergeTable::find(int32_t left, int32_t right) const {
  const uint64_t pair = pair_of(left, right);
  for (size_t slot = first_slot(pair); slots_[slot].pair != kNoPair;
       slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].pair == pair) return slots_[slot].merge;
  }
  return {};
}

}  // namespace inferno::tokenizer
