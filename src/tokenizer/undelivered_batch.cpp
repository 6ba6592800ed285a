#include "tokenizer/undelivered_batch.h"

#include <algorithm>
#include <utility>

namespace inferno::tokenizer {
namespace {

size_t bytes(std::span<const std::string_view> texts, const EncodedBatch& batch) {
  size_t total = 0;
  for (const std::string_view text : texts) total += sizeof(std::string) + text.size();
  for (const auto& ids : batch.ids) total += sizeof ids + ids.capacity() * sizeof(int32_t);
  return total;
}

}  // namespace

void UndeliveredBatch::keep(std::span<const std::string_view> texts, const EncodeOptions& options,
                            EncodedBatch batch) {
  if (bytes(texts, batch) > kMaxBytes) return forget();
  Kept kept{{texts.begin(), texts.end()}, options, std::move(batch)};
  const std::lock_guard lock(mutex_);
  kept_ = std::move(kept);
}

std::optional<EncodedBatch> UndeliveredBatch::take(std::span<const std::string_view> texts,
                                                   const EncodeOptions& options) {
  const std::lock_guard lock(mutex_);
  if (!kept_ || kept_->options != options ||
      !std::equal(texts.begin(), texts.end(), kept_->texts.begin(), kept_->texts.end())) {
    return std::nullopt;
  }
  EncodedBatch batch = std::move(kept_->batch);
  kept_.reset();
  return batch;
}

void UndeliveredBatch::forget() {
  const std::lock_guard lock(mutex_);
  kept_.reset();
}

}  // namespace inferno::tokenizer
