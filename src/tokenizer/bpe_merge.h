// Byte pair encoding: the merge loop that both kinds of tokenizer share. Source: Sennrich, Haddow, Birch,
// "Neural Machine Translation of Rare Words with Subword Units" (2016); here with a heap, O(n log n) in the
// piece's length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace inferno::tokenizer {

// A part of the piece; a list linked by index, -1 at its ends. The first part is always symbols[0].
struct Symbol {
  size_t begin = 0;     // in the piece
  uint32_t length = 0;  // 0 once merged into the part before it
  int32_t id = -1;      // -1 when the vocabulary lacks it
  int32_t previous = -1;
  int32_t next = -1;
};

// What two neighbours become: id -1 = nothing. The lowest rank goes first, of equal ranks the leftmost.
struct Merge {
  uint32_t rank = 0;
  int32_t id = -1;
};

// Room that calls can share, so that the many short pieces of a text do not allocate.
class BpeMerger {
 public:
  void clear() { symbols_.clear(); }
  // Parts are added from left to right.
  void add(size_t begin, size_t length, int32_t id) {
    const auto index = static_cast<int32_t>(symbols_.size());
    if (index > 0) symbols_.back().next = index;
    symbols_.push_back({begin, static_cast<uint32_t>(length), id, index - 1, -1});
  }

  // find_merge(left, right) -> Merge for two neighbouring Symbols.
  template <class FindMerge>
  void run(const FindMerge& find_merge) {
    candidates_.clear();
    for (size_t i = 0; i + 1 < symbols_.size(); ++i) propose(static_cast<int32_t>(i), find_merge);
    std::make_heap(candidates_.begin(), candidates_.end());
    while (!candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end());
      const Candidate candidate = candidates_.back();
      candidates_.pop_back();
      if (is_stale(candidate)) continue;
      join(candidate);
      const Symbol& left = at(candidate.left);
      if (left.previous >= 0 && propose(left.previous, find_merge)) push_last();
      if (propose(candidate.left, find_merge)) push_last();
    }
  }

  // visit(const Symbol&) for each part that is left, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (int32_t i = symbols_.empty() ? -1 : 0; i >= 0; i = symbols_[static_cast<size_t>(i)].next) {
      visit(symbols_[static_cast<size_t>(i)]);
    }
  }

 private:
  struct Candidate {
    uint32_t rank;
    int32_t left;
    uint32_t length;  // of both parts together: another length means that one of them has changed since
    int32_t id;
    // The top of a standard heap is its largest element.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  Symbol& at(int32_t index) { return symbols_[static_cast<size_t>(index)]; }

  template <class FindMerge>
  bool propose(int32_t left, const FindMerge& find_merge) {
    const Symbol& a = at(left);
    if (a.next < 0) return false;
    const Symbol& b = at(a.next);
    const Merge merge = find_merge(a, b);
    if (merge.id < 0) return false;
    candidates_.push_back({merge.rank, left, a.length + b.length, merge.id});
    return true;
  }
  void push_last() { std::push_heap(candidates_.begin(), candidates_.end()); }

  bool is_stale(const Candidate& candidate) {
    const Symbol& left = at(candidate.left);
    return left.length == 0 || left.next < 0 || left.length + at(left.next).length != candidate.length;
  }

  void join(const Candidate& candidate) {
    Symbol& left = at(candidate.left);
    Symbol& right = at(left.next);
    left.length += right.length;
    left.id = candidate.id;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0) at(left.next).previous = candidate.left;
  }

  std::vector<Symbol> symbols_;
  std::vector<Candidate> candidates_;
};

}  // namespace inferno::tokenizer
