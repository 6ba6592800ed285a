#include "tokenizer/prefix_cache.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/keyed_hash.h"
#include "metrics/telemetry.h"
#include "tokenizer/stream_encoder.h"

namespace inferno::tokenizer {
namespace {

constexpr size_t kStep = 256;  // bytes of text between two checkpoints

// After the first `given` bytes of a text: these many ids were settled, and encoding goes on at `position`.
struct Checkpoint {
  size_t given = 0;
  size_t n_ids = 0;
  StreamEncoder::Position position;
};

size_t common_prefix(std::string_view a, std::string_view b) {
  const size_t n = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()).first - a.begin());
}

}  // namespace

struct PrefixCache::Entry {
  std::string text;
  EncodeOptions options;
  std::vector<int32_t> ids;
  std::vector<Checkpoint> checkpoints;

  size_t bytes() const {
    return sizeof(Entry) + text.capacity() + ids.capacity() * sizeof(int32_t) +
           checkpoints.capacity() * sizeof(Checkpoint);
  }
};

// What a kept text has in common with a new one: all of it, or what came before the first `n_checkpoints`.
struct PrefixCache::Reuse {
  std::shared_ptr<const Entry> entry;
  bool whole = false;
  size_t n_checkpoints = 0;
};

PrefixCache::PrefixCache(std::shared_ptr<const Tokenizer> tokenizer, const Limits& limits,
                         const char* lookup_stage)
    : tokenizer_(std::move(tokenizer)), lookup_stage_(lookup_stage), limits_(limits) {}

PrefixCache::~PrefixCache() = default;

uint64_t PrefixCache::key(std::string_view text) const {
  return keyed_hash(text.substr(0, limits_.key_bytes));
}

PrefixCache::Reuse PrefixCache::find(std::string_view text, const EncodeOptions& options) {
  const telemetry::ScopedCounter counter(lookup_stage_);
  const std::lock_guard lock(mutex_);
  Reuse best;
  auto found = entries_.end();
  const auto [first, last] = by_key_.equal_range(key(text));
  for (auto candidate = first; candidate != last && !best.whole; ++candidate) {
    const std::shared_ptr<const Entry>& entry = *candidate->second;
    if (entry->options != options) continue;
    const size_t common = common_prefix(entry->text, text);
    const auto beyond = std::upper_bound(entry->checkpoints.begin(), entry->checkpoints.end(), common,
                                         [](size_t n, const Checkpoint& c) { return n < c.given; });
    const auto n_checkpoints = static_cast<size_t>(beyond - entry->checkpoints.begin());
    const bool whole = common == text.size() && common == entry->text.size();
    if (!whole && n_checkpoints <= best.n_checkpoints) continue;
    best = {entry, whole, n_checkpoints};
    found = candidate->second;
  }
  ++(best.whole ? counts_.hits : best.entry != nullptr ? counts_.prefix_hits : counts_.misses);
  if (found != entries_.end()) entries_.splice(entries_.begin(), entries_, found);
  return best;
}

Result<std::vector<int32_t>> PrefixCache::encode(std::string_view text, const EncodeOptions& options) {
  const Reuse reuse = find(text, options);
  if (reuse.whole) return reuse.entry->ids;
  const size_t longest = std::min(limits().max_bytes, Tokenizer::kMaxTextBytes);
  if (text.size() > longest) return tokenizer_->encode(text, options);
  auto entry = std::make_shared<Entry>(Entry{std::string(text), options, {}, {}});
  StreamEncoder encoder(tokenizer_, options);
  size_t given = 0;
  if (reuse.entry != nullptr) {
    const Entry& known = *reuse.entry;
    const auto n = static_cast<std::ptrdiff_t>(reuse.n_checkpoints);
    entry->checkpoints.assign(known.checkpoints.begin(), known.checkpoints.begin() + n);
    const Checkpoint& last = entry->checkpoints.back();
    entry->ids.assign(known.ids.begin(), known.ids.begin() + static_cast<std::ptrdiff_t>(last.n_ids));
    encoder.resume(last.position);
    TRY(encoder.push(text.substr(last.position.bytes, last.given - last.position.bytes), entry->ids));
    given = last.given;
  }
  while (given < text.size()) {
    const size_t n = std::min(kStep, text.size() - given);
    TRY(encoder.push(text.substr(given, n), entry->ids));
    given += n;
    entry->checkpoints.push_back({given, entry->ids.size(), encoder.position()});
  }
  encoder.finish(entry->ids);
  std::vector<int32_t> ids = entry->ids;
  keep(std::move(entry));
  return ids;
}

void PrefixCache::keep(std::shared_ptr<const Entry> entry) {
  const std::lock_guard lock(mutex_);
  if (entry->bytes() > limits_.max_bytes) return;
  const uint64_t entry_key = key(entry->text);
  const auto [first, last] = by_key_.equal_range(entry_key);
  const bool known = std::any_of(first, last, [&](const auto& item) {  // another thread was as fast
    const Entry& other = **item.second;
    return other.options == entry->options && other.text == entry->text;
  });
  if (known) return;
  // A list of its own until it has its key, so that running out of memory leaves everything as it was.
  Entries fresh;
  fresh.push_front(std::move(entry));
  by_key_.emplace(entry_key, fresh.begin());
  bytes_ += fresh.front()->bytes();
  entries_.splice(entries_.begin(), fresh);
  while (entries_.size() > limits_.max_entries || bytes_ > limits_.max_bytes) drop_oldest();
}

void PrefixCache::drop_oldest() {
  const auto oldest = std::prev(entries_.end());
  const auto [first, last] = by_key_.equal_range(key((*oldest)->text));
  by_key_.erase(std::find_if(first, last, [&](const auto& item) { return item.second == oldest; }));
  bytes_ -= (*oldest)->bytes();
  entries_.erase(oldest);
}

void PrefixCache::reset(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  by_key_.clear();
  bytes_ = 0;
  limits_ = limits;
}

PrefixCache::Limits PrefixCache::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

PrefixCache::Counts PrefixCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

size_t PrefixCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace inferno::tokenizer
