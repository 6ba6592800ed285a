// MergeTable: tokenizer.ggml.merges, checked and resolved to ids: which two tokens become which third, and
// when.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/keyed_hash.h"
#include "base/result.h"
#include "gguf/file.h"
#include "tokenizer/bpe_merge.h"
#include "tokenizer/tables.h"
#include "tokenizer/vocabulary.h"

namespace inferno::tokenizer {

struct SpelledMerge;

class MergeTable {
 public:
  // Refuses a merge that is not two tokens of the vocabulary separated by one space, whose product the
  // vocabulary lacks, or that stands there twice.
  static Result<MergeTable> load(const gguf::File& file, const Vocabulary& vocabulary);
  // What save() has written of the same vocabulary, used as it lies; nullopt where it is anything else.
  static std::optional<MergeTable> from_tables(TableReader& tables, const Vocabulary& vocabulary);
  void save(TableWriter& tables) const;

  // The merge's rank is its place in the file.
  Merge find(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t pair;
    Merge merge;
  };
  struct Built;
  MergeTable(std::shared_ptr<const void> owner, std::span<const Slot> slots, HashKey key)
      : owner_(std::move(owner)), slots_(slots), key_(key) {}
  // As many as the vocabulary finds together, the first of which has this rank and comes after a merge with
  // this product; then it is the last one's.
  Status insert_together(const gguf::File& file, const Vocabulary& vocabulary, uint32_t rank,
                         std::span<const SpelledMerge> merges, int32_t& last_product,
                         std::span<Slot> slots) const;
  bool insert(int32_t left, int32_t right, Merge merge, std::span<Slot> slots) const;
  size_t first_slot(uint64_t pair) const {
    return static_cast<size_t>(sip_hash(key_, pair)) & (slots_.size() - 1);
  }

  std::shared_ptr<const void> owner_;  // of the slots
  std::span<const Slot> slots_;        // open addressing; a power of two, at most two thirds full
  HashKey key_;                        // of them
};

}  // namespace inferno::tokenizer
