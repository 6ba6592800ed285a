#include "kv/basic_kv_cache.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/text.h"

namespace inferno::kv {
namespace {

// Of a layer's keys, and of its values, from the beginning of the memory: what a device's loads may ask for.
constexpr size_t kAlignment = 256;

}  // namespace

Status check_type(const Config& config) {
  CHECK(std::find(kTypes.begin(), kTypes.end(), config.dtype) != kTypes.end(), "KV type {}",
        name(config.dtype));
  const int64_t block = traits(config.dtype).block_elems;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (config.layers[i].head_dim % block == 0) continue;
    return make_error(
        ErrorCode::kInvalidArgument,
        "KV cache: {} stores blocks of {} elements, so the head_dim has to be a multiple of {}; "
        "that of layer {} is {}; take F16 or BF16 instead",
        name(config.dtype), block, block, i, config.layers[i].head_dim);
  }
  return {};
}

uint64_t bytes_per_position(const Config& config) {
  uint64_t elements = 0;
  for (const LayerShape& layer : config.layers) {
    elements += 2 * static_cast<uint64_t>(layer.n_kv_heads * layer.head_dim);
  }
  return row_bytes(config.dtype, elements);
}

Result<std::unique_ptr<BasicKvCache>> BasicKvCache::create(backend::Backend& backend, const Config& config) {
  CHECK(config.max_seqs > 0 && config.max_positions > 0, "{} sequences of {} positions", config.max_seqs,
        config.max_positions);
  TRY(check_type(config));
  const uint64_t per_position = bytes_per_position(config);
  const auto multiple = static_cast<uint64_t>(backend.kv_block_multiple());
  const uint64_t block_size =
      (static_cast<uint64_t>(config.max_positions) + multiple - 1) / multiple * multiple;
  const auto positions = checked_mul(static_cast<uint64_t>(config.max_seqs), block_size);
  const auto total = positions ? checked_mul(*positions, per_position) : std::nullopt;
  const uint64_t available = backend.available_memory().value_or(UINT64_MAX);
  if (!total || *total > available) {
    return make_error(
        ErrorCode::kResource,
        "KV cache: {} x {} positions x {} bytes ({}) need {}, but {} are available; ask for a shorter "
        "context",
        config.max_seqs, config.max_positions, per_position, name(config.dtype),
        total ? human_bytes(*total) : "more than 2^64 bytes", human_bytes(available));
  }

  auto cache = std::unique_ptr<BasicKvCache>(new BasicKvCache);
  cache->config_ = config;
  cache->block_size_ = static_cast<int64_t>(block_size);
  // One piece of memory, since huge pages are larger than what a layer has of a short context.
  const auto bytes_of = [&](const LayerShape& layer) {
    const size_t bytes = row_bytes(config.dtype, static_cast<size_t>(layer.n_kv_heads * layer.head_dim)) *
                         static_cast<size_t>(*positions);
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  size_t bytes = 0;
  for (const LayerShape& layer : config.layers) bytes += 2 * bytes_of(layer);
  const auto soon =
      static_cast<uint64_t>(std::clamp<int64_t>(config.soon_positions, 0, config.max_positions));
  Result<Buffer> memory = backend.alloc_growing(bytes, bytes / block_size * soon);
  if (!memory) {  // a limit that available_memory() does not see, such as ulimit -v, or a fragmented device
    return make_error(memory.error().code,
                      "KV cache: {} x {} positions x {} bytes ({}) need {}: {}; ask for a shorter context",
                      config.max_seqs, config.max_positions, per_position, name(config.dtype),
                      human_bytes(*total), memory.error().message);
  }
  cache->memory_ = std::move(*memory);
  auto* at = static_cast<std::byte*>(cache->memory_.data());
  for (const LayerShape& layer : config.layers) {
    std::byte* const k = std::exchange(at, at + bytes_of(layer));
    std::byte* const v = std::exchange(at, at + bytes_of(layer));
    cache->layers_.push_back({k, v, config.dtype, cache->block_size_, layer.n_kv_heads, layer.head_dim});
  }
  cache->block_ids_.resize(static_cast<size_t>(config.max_seqs));
  std::iota(cache->block_ids_.begin(), cache->block_ids_.end(), 0);
  return cache;
}

Status BasicKvCache::reserve(int32_t seq, int64_t n_positions) {
  CHECK(seq >= 0 && seq < config_.max_seqs, "sequence {} of {}", seq, config_.max_seqs);
  if (n_positions > config_.max_positions) {
    return make_error(ErrorCode::kResource, "KV cache: {} positions asked for, {} per sequence", n_positions,
                      config_.max_positions);
  }
  return {};
}

void BasicKvCache::truncate(int32_t seq, int64_t n_positions) {
  // Every position has its place already, and nobody reads one that is not in a batch's context.
  CHECK(seq >= 0 && seq < config_.max_seqs && n_positions >= 0, "sequence {}, {} positions", seq,
        n_positions);
}

std::span<const int32_t> BasicKvCache::block_table(int32_t seq) const {
  CHECK(seq >= 0 && seq < config_.max_seqs, "sequence {} of {}", seq, config_.max_seqs);
  return {&block_ids_[static_cast<size_t>(seq)], 1};
}

uint64_t BasicKvCache::bytes() const {
  return bytes_per_position(config_) * static_cast<uint64_t>(config_.max_seqs * block_size_);
}

}  // namespace inferno::kv
