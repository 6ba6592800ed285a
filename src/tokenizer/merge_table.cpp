#include "tokenizer/merge_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "base/table_memory.h"
#include "base/text.h"

namespace inferno::tokenizer {

struct SpelledMerge {
  std::string_view left, right;

  std::string product() const { return std::string(left).append(right); }
};

namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr uint64_t kNoPair = ~uint64_t{0};

uint64_t pair_of(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

// Merges that are resolved together: so many, or fewer where they have more bytes than those of
// real vocabularies.
constexpr size_t kBatch = Vocabulary::kFoundTogether;
constexpr size_t kBatchBytes = size_t{1} << 20;

Status spell(const gguf::File& file, uint64_t index, std::string_view merge, SpelledMerge& spelled) {
  const size_t space = merge.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == merge.size() ||
      merge.find(' ', space + 1) != std::string_view::npos) {
    return invalid_element(file, kMergesKey, index, "\"{}\" is not two tokens separated by one space",
                           escaped(merge));
  }
  spelled.left = merge.substr(0, space);
  spelled.right = merge.substr(space + 1);
  return {};
}

std::string text(const SpelledMerge& merge) {
  return escaped(fmt::format("{} {}", merge.left, merge.right));
}

Error not_a_token(const gguf::File& file, uint64_t index, const char* role, const SpelledMerge& merge,
                  std::string_view token) {
  return invalid_element(file, kMergesKey, index, "\"{}\": its {} \"{}\" is not in tokenizer.ggml.tokens",
                         text(merge), role, escaped(token));
}

size_t n_slots(uint64_t n_merges) {
  return std::bit_ceil(static_cast<size_t>(n_merges + n_merges / 2 + 1));
}

bool is_product(std::string_view spelling, const SpelledMerge& merge) {
  return spelling.size() == merge.left.size() + merge.right.size() && spelling.starts_with(merge.left) &&
         spelling.ends_with(merge.right);
}

// The ids of the products of up to kBatch merges, -1 where there is no such token. Most vocabularies list
// products in the order of their merges, several of which may have the same one, so that `last`, the product
// of the merge before, or the token behind it is likely to be it, and no look-up is needed.
void find_products(const Vocabulary& vocabulary, std::span<const SpelledMerge> merges, int32_t& last,
                   std::span<int32_t> ids) {
  const auto is_product_at = [&](int32_t id, const SpelledMerge& merge) {
    return !vocabulary.has_duplicates() && vocabulary.valid(id) && is_product(vocabulary.spelling(id), merge);
  };
  std::array<std::string, kBatch> products;  // of those that come elsewhere
  std::array<std::string_view, kBatch> spellings;
  std::array<size_t, kBatch> places;
  std::array<int32_t, kBatch> found;
  size_t n = 0;
  for (size_t i = 0; i < merges.size(); ++i) {
    if (is_product_at(last + 1, merges[i])) {
      ids[i] = ++last;
    } else if (is_product_at(last, merges[i])) {
      ids[i] = last;
    } else {
      spellings[n] = products[n] = merges[i].product();
      places[n++] = i;
    }
  }
  if (n == 0) return;
  vocabulary.find_together(std::span(spellings).first(n), found);
  for (size_t i = 0; i < n; ++i) ids[places[i]] = found[i];
  last = ids[merges.size() - 1];
}

}  // namespace

struct MergeTable::Built {
  explicit Built(size_t n_slots)
      : memory(n_slots * sizeof(Slot)), slots(n_slots, Slot{kNoPair, {}}, &memory) {}

  TableMemory memory;
  std::pmr::vector<Slot> slots;
};

Result<MergeTable> MergeTable::load(const gguf::File& file, const Vocabulary& vocabulary) {
  TRY_ASSIGN(const gguf::StringRange merges, file.meta_strings(kMergesKey));
  if (merges.size() > std::numeric_limits<uint32_t>::max()) {
    return invalid_key(file, kMergesKey, "expected at most 4294967295 merges, found {}", merges.size());
  }
  const auto built = std::make_shared<Built>(n_slots(merges.size()));
  MergeTable table(built, built->slots, random_hash_key());
  std::array<SpelledMerge, kBatch> batch;
  size_t n = 0;
  size_t bytes = 0;
  uint32_t rank = 0;          // of the batch's first
  int32_t last_product = -1;  // of the batch before
  const auto insert_batch = [&]() -> Status {
    TRY(table.insert_together(file, vocabulary, rank, std::span(batch).first(n), last_product, built->slots));
    rank += static_cast<uint32_t>(n);
    n = bytes = 0;
    return {};
  };
  for (const std::string_view merge : merges) {
    if (const Status spelled = spell(file, rank + n, merge, batch[n]); !spelled) {
      TRY(insert_batch());  // what is wrong before this comes first
      return spelled.error();
    }
    bytes += merge.size();
    if (++n == kBatch || bytes > kBatchBytes) TRY(insert_batch());
  }
  TRY(insert_batch());
  return table;
}

Status MergeTable::insert_together(const gguf::File& file, const Vocabulary& vocabulary, uint32_t rank,
                                   std::span<const SpelledMerge> merges, int32_t& last_product,
                                   std::span<Slot> slots) const {
  const size_t n = merges.size();
  std::array<std::string_view, kBatch> spellings;
  std::array<int32_t, kBatch> left;
  std::array<int32_t, kBatch> right;
  std::array<int32_t, kBatch> product;
  const auto find = [&](auto spelling_of, std::array<int32_t, kBatch>& ids) {
    for (size_t i = 0; i < n; ++i) spellings[i] = spelling_of(merges[i]);
    vocabulary.find_together(std::span(spellings).first(n), ids);
  };
  find([](const SpelledMerge& s) { return s.left; }, left);
  find([](const SpelledMerge& s) { return s.right; }, right);
  find_products(vocabulary, merges, last_product, product);
  for (size_t i = 0; i < n; ++i) __builtin_prefetch(&slots[first_slot(pair_of(left[i], right[i]))], 1);
  for (size_t i = 0; i < n; ++i) {
    const auto index = rank + static_cast<uint32_t>(i);
    const SpelledMerge& s = merges[i];
    if (left[i] < 0) return not_a_token(file, index, "left part", s, s.left);
    if (right[i] < 0) return not_a_token(file, index, "right part", s, s.right);
    if (product[i] < 0) return not_a_token(file, index, "product", s, s.product());
    if (!insert(left[i], right[i], {index, product[i]}, slots)) {
      return invalid_element(file, kMergesKey, index, "\"{}\" stands there twice", text(s));
    }
  }
  return {};
}

bool MergeTable::insert(int32_t left, int32_t right, Merge merge, std::span<Slot> slots) const {
  const uint64_t pair = pair_of(left, right);
  size_t slot = first_slot(pair);
  while (slots[slot].pair != kNoPair) {
    if (slots[slot].pair == pair) return false;
    slot = (slot + 1) & (slots.size() - 1);
  }
  slots[slot] = {pair, merge};
  return true;
}

void MergeTable::save(TableWriter& tables) const {
  tables.add_one<uint64_t>(slots_.size());
  tables.add_one(key_);
  tables.add(slots_);
}

std::optional<MergeTable> MergeTable::from_tables(TableReader& tables, const Vocabulary& vocabulary) {
  constexpr size_t kTried = 64;
  const auto n = tables.take_one<uint64_t>();
  const auto key = tables.take_one<HashKey>();
  const auto slots = n ? tables.take<Slot>(*n) : std::nullopt;
  if (!slots || !std::has_single_bit(*n)) return std::nullopt;
  // No look-up leaves the tables or takes long, and some merges are found.
  const auto is_empty = [](const Slot& slot) { return slot.pair == kNoPair; };
  const auto is_merge = [&](const Slot& slot) { return is_empty(slot) || vocabulary.valid(slot.merge.id); };
  const auto n_empty = static_cast<size_t>(std::ranges::count_if(*slots, is_empty));
  if (n_empty < slots->size() / 3 || n_empty == 0 || !std::ranges::all_of(*slots, is_merge))
    return std::nullopt;
  MergeTable table(tables.owner(), *slots, *key);
  for (size_t i = 0; i < kTried; ++i) {
    const Slot& slot = (*slots)[i * slots->size() / kTried];
    const auto left = static_cast<int32_t>(slot.pair >> 32), right = static_cast<int32_t>(slot.pair);
    if (!is_empty(slot) && table.find(left, right).id != slot.merge.id) return std::nullopt;
  }
  return table;
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
