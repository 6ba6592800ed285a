// PrefixCache: the ids of texts that were encoded lately, for texts that begin like them (a system prompt, a
// growing conversation). Texts are looked up by a hash of their first bytes and then compared byte by byte:
// only what the whole comparison covers is reused, up to a place where the text can be cut
// (stream_encoder.h). So the ids are those of Tokenizer::encode(), whatever texts share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace inferno::tokenizer {

// Threads may share one.
class PrefixCache {
 public:
  struct Limits {
    size_t key_bytes =
        128;  // texts that differ in these have nothing in common; a shorter text is its own key
    size_t max_entries = 32;              // texts kept; the one unused for longest goes first
    size_t max_bytes = size_t{64} << 20;  // of texts and ids together; a larger text is not kept
  };
  struct Counts {
    uint64_t hits = 0;         // the whole text was known
    uint64_t prefix_hits = 0;  // its beginning was
    uint64_t misses = 0;
  };

  // Each look-up is a span of telemetry named `lookup_stage`; null for none.
  PrefixCache(std::shared_ptr<const Tokenizer> tokenizer, const Limits& limits,
              const char* lookup_stage = nullptr);
  ~PrefixCache();

  // The ids of Tokenizer::encode(), and its error.
  Result<std::vector<int32_t>> encode(std::string_view text, const EncodeOptions& options);

  // Forgets all texts; counts go on.
  void reset(const Limits& limits);
  Limits limits() const;
  Counts counts() const;
  // Of what is kept.
  size_t bytes() const;

 private:
  struct Entry;
  struct Reuse;
  using Entries = std::list<std::shared_ptr<const Entry>>;  // the latest first

  Reuse find(std::string_view text, const EncodeOptions& options);
  void keep(std::shared_ptr<const Entry> entry);
  void drop_oldest();
  uint64_t key(std::string_view text) const;  // the mutex is held

  const std::shared_ptr<const Tokenizer> tokenizer_;
  const char* const lookup_stage_;
  mutable std::mutex mutex_;  // guards what follows
  Limits limits_;
  Entries entries_;
  std::unordered_multimap<uint64_t, Entries::iterator> by_key_;
  size_t bytes_ = 0;
  Counts counts_;
};

}  // namespace inferno::tokenizer
