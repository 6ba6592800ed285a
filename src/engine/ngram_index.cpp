#include "engine/ngram_index.h"

#include <algorithm>

namespace inferno::engine {

// Multiplicative hashing (Knuth, The Art of Computer Programming 6.4).
size_t NgramIndex::slot(std::span<const int32_t> ngram) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  uint64_t hash = 0;
  for (const int32_t id : ngram) hash = (hash ^ static_cast<uint32_t>(id)) * kFactor;
  return static_cast<size_t>(hash >> (64 - kTableBits));
}

void NgramIndex::add(std::span<const int32_t> ids) {
  for (; n_added_ < ids.size(); ++n_added_) {
    for (size_t i = 0; i < tables_.size(); ++i) {
      const size_t length = kShortest + i;
      if (n_added_ < length) continue;
      tables_[i].resize(size_t{1} << kTableBits, 0);
      tables_[i][slot(ids.subspan(n_added_ - length, length))] = static_cast<int32_t>(n_added_);
    }
  }
}

NgramIndex::Guess NgramIndex::guess(std::span<const int32_t> ids, size_t n_tokens) {
  add(ids);
  Guess result;
  for (size_t i = tables_.size(); i-- > 0;) {
    const size_t length = kShortest + i;
    if (ids.size() <= length) continue;
    const auto latest = ids.last(length);
    const auto next = static_cast<size_t>(tables_[i][slot(latest)]);
    if (next == 0 || !std::equal(latest.begin(), latest.end(), ids.begin() + (next - length))) continue;
    result.match = static_cast<int>(length);
    for (size_t t = 0; t < n_tokens; ++t) result.tokens.push_back(ids[next + t % (ids.size() - next)]);
    break;
  }
  return result;
}

}  // namespace inferno::engine
