// MergeTable: tokenizer.ggml.merges, checked and resolved to ids: which two tokens become which third, and
// when.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/table_memory.h"
#include "gguf/file.h"
#include "tokenizer/bpe_merge.h"
#include "tokenizer/vocabulary.h"

namespace inferno::tokenizer {

struct SpelledMerge;

class MergeTable {
 public:
  // Refuses a merge that is not two tokens of the vocabulary separated by one space, whose product the
  // vocabulary lacks, or that stands there twice.
  static Result<MergeTable> load(const gguf::File& file, const Vocabulary& vocabulary);

  // The merge's rank is its place in the file.
  Merge find(int32_t left, int32_t right) const;

  // Not assigned: the memory that it had would go before what lies in it.
  MergeTable(MergeTable&&) = default;
  MergeTable& operator=(MergeTable&&) = delete;

 private:
  struct Slot {
    uint64_t pair;
    Merge merge;
  };
  explicit MergeTable(size_t n_slots);
  // As many as the vocabulary finds together, the first of which has this rank and comes after a merge with
  // this product; then it is the last one's.
  Status insert_together(const gguf::File& file, const Vocabulary& vocabulary, uint32_t rank,
                         std::span<const SpelledMerge> merges, int32_t& last_product);
  bool insert(int32_t left, int32_t right, Merge merge);
  size_t first_slot(uint64_t pair) const;

  std::unique_ptr<TableMemory> memory_;
  std::pmr::vector<Slot> slots_;  // open addressing; a power of two, at most two thirds full
};

}  // namespace inferno::tokenizer
