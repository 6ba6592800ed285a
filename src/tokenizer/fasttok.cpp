#include "tokenizer/fasttok.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/environment.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "metrics/telemetry.h"
#include "tokenizer/c_boundary.h"
#include "tokenizer/prefix_cache.h"
#include "tokenizer/stream_encoder.h"
#include "tokenizer/undelivered_batch.h"

namespace inferno::tokenizer {

using namespace c_boundary;  // NOLINT: this file is the boundary

namespace {

// What a tokenizer's calls have done so far.
class Counters {
 public:
  void add(size_t texts, size_t bytes, size_t tokens, std::chrono::nanoseconds time) {
    texts_ += texts;
    bytes_ += bytes;
    tokens_ += tokens;
    nanoseconds_ += static_cast<uint64_t>(time.count());
  }
  void report(fasttok_metrics& metrics) const {
    metrics.texts_processed = texts_;
    metrics.bytes_processed = bytes_;
    metrics.tokens_processed = tokens_;
    metrics.avg_us_per_token =
        tokens_ == 0 ? 0 : static_cast<double>(nanoseconds_) * 1e-3 / static_cast<double>(tokens_);
  }

 private:
  std::atomic<uint64_t> texts_ = 0, bytes_ = 0, tokens_ = 0, nanoseconds_ = 0;
};

struct TokenizerObject {
  const std::shared_ptr<const Tokenizer> tokenizer;
  const bool traced;
  std::atomic<uint32_t> max_threads = 0;
  std::atomic<bool> uses_cache = false;
  PrefixCache cache;
  UndeliveredBatch undelivered;
  const std::shared_ptr<Counters> counters = std::make_shared<Counters>();

  TokenizerObject(std::shared_ptr<const Tokenizer> t, bool is_traced)
      : tokenizer(std::move(t)), traced(is_traced), cache(tokenizer, {}, stage("Tokenizer::cache_lookup")) {}
  // The name of a span, if spans are wanted.
  const char* stage(const char* name) const { return traced ? name : nullptr; }
};

struct StreamObject {
  std::shared_ptr<Counters> counters;
  const char* next_stage = nullptr;
  bool is_strict = false;

  std::mutex mutex;  // guards what follows
  StreamEncoder encoder;
  std::string character;  // the beginning of one, in strict mode
  std::vector<int32_t> ids;
  size_t n_taken = 0;  // of ids, by the caller
  bool ended = false;
  bool broken = false;  // an exception left it halfway

  StreamObject(const TokenizerObject& object, const EncodeOptions& options)
      : counters(object.counters),
        next_stage(object.stage("Tokenizer::encode_stream_next")),
        encoder(object.tokenizer, options) {}
};

auto& tokenizers() {
  static auto* const handles = new Handles<fasttok, TokenizerObject>;
  return *handles;
}
auto& streams() {
  static auto* const handles = new Handles<fasttok_stream, StreamObject>;
  return *handles;
}

void check_flags(uint32_t flags, uint32_t known) {
  if ((flags & ~known) != 0) {
    throw Failure{FASTTOK_ERROR_ARGUMENT,
                  fmt::format("flags {:#x}: expected a combination of {:#x}", flags, known)};
  }
}

EncodeOptions encode_options(uint32_t flags) {
  check_flags(flags, FASTTOK_NO_BOS | FASTTOK_PLAIN_SPECIAL | FASTTOK_STRICT_UTF8);
  return {.add_bos = (flags & FASTTOK_NO_BOS) == 0, .parse_special = (flags & FASTTOK_PLAIN_SPECIAL) == 0};
}

void require_utf8(std::string_view text, const std::string& name) {
  if (!is_valid_utf8(text)) throw Failure{FASTTOK_ERROR_UTF8, fmt::format("{} is not valid UTF-8", name)};
}

uint32_t threads_from_environment() {
  constexpr const char* kVariable = "INFENG_TOK_THREADS";
  const std::optional<std::string> text = environment::get(kVariable);
  if (!text) return 0;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) {
    throw Failure{FASTTOK_ERROR_ENVIRONMENT,
                  fmt::format("{}: expected a number of threads, found {}", kVariable, quote(*text))};
  }
  return value;
}

bool switch_from_environment(const char* name) {
  return value_or_throw(FASTTOK_ERROR_ENVIRONMENT, environment::get_switch(name)).value_or(false);
}

std::shared_ptr<TokenizerObject> load(const char* path) {
  const bool traced = switch_from_environment("FASTTOK_TRACING");
  const bool uses_cache = switch_from_environment("INFENG_TOKEN_CACHE");
  const uint32_t max_threads = threads_from_environment();
  if (traced) telemetry::set_enabled(true);
  const gguf::File file = value_or_throw(FASTTOK_ERROR_FILE, gguf::File::open(path));
  auto object = std::make_shared<TokenizerObject>(
      value_or_throw(FASTTOK_ERROR_FILE, Tokenizer::from_gguf(file)), traced);
  object->uses_cache = uses_cache;
  object->max_threads = max_threads;
  return object;
}

// Hands over what fits of the stream's ids.
size_t take(StreamObject& stream, int32_t* ids, size_t capacity) {
  const size_t n = std::min(capacity, stream.ids.size() - stream.n_taken);
  std::copy_n(stream.ids.begin() + static_cast<std::ptrdiff_t>(stream.n_taken), n, ids);
  stream.n_taken += n;
  if (stream.n_taken == stream.ids.size()) {
    stream.ids.clear();
    stream.n_taken = 0;
  }
  return n;
}

// In strict mode `text` with the characters before it is UTF-8, but for the beginning of one at its end.
void check_stream_utf8(const StreamObject& stream, std::string_view text, std::string& unfinished) {
  const std::string joined = stream.character + std::string(text);
  const size_t complete = complete_utf8_prefix(joined);
  require_utf8(std::string_view(joined).substr(0, complete), "the text of the stream");
  unfinished = joined.substr(complete);
}

void check_whole(const StreamObject& stream) {
  if (stream.broken) {
    throw Failure{FASTTOK_ERROR_ENCODE, "memory ran out in an earlier call: the stream can only be freed"};
  }
}

size_t stream_next(StreamObject& stream, std::string_view text, int32_t* ids, size_t capacity) {
  const telemetry::ScopedCounter counter(stream.next_stage);
  const std::lock_guard lock(stream.mutex);
  check_whole(stream);
  if (stream.ended) throw Failure{FASTTOK_ERROR_ARGUMENT, "the stream has ended: no text can follow"};
  std::string unfinished;
  if (stream.is_strict) check_stream_utf8(stream, text, unfinished);
  const auto start = steady_clock().now();
  const size_t n_before = stream.ids.size();
  stream.broken = true;
  const inferno::Status pushed = stream.encoder.push(text, stream.ids);
  stream.broken = false;
  check_or_throw(FASTTOK_ERROR_ENCODE, pushed);
  stream.character = std::move(unfinished);
  stream.counters->add(0, text.size(), stream.ids.size() - n_before, steady_clock().now() - start);
  return take(stream, ids, capacity);
}

void finish_stream(StreamObject& stream) {
  check_whole(stream);
  if (stream.ended) return;
  if (!stream.character.empty()) require_utf8(stream.character, "the end of the stream's text");
  const auto start = steady_clock().now();
  const size_t n_before = stream.ids.size();
  stream.broken = true;
  stream.encoder.finish(stream.ids);
  stream.broken = false;
  stream.ended = true;
  stream.counters->add(1, 0, stream.ids.size() - n_before, steady_clock().now() - start);
}

EncodedBatch encode_all(TokenizerObject& object, const std::vector<std::string_view>& texts,
                        const EncodeOptions& options) {
  const telemetry::ScopedCounter counter("tokenizer::EncodeBatch");
  EncodedBatch batch;
  batch.ids.resize(texts.size());
  std::atomic<std::chrono::nanoseconds::rep> nanoseconds = 0;
  const bool uses_cache = object.uses_cache;
  const uint32_t max_threads = object.max_threads;
  const size_t n_threads = max_threads > 0 ? max_threads : std::max(1u, std::thread::hardware_concurrency());
  ThreadPool pool(std::min(n_threads, std::max<size_t>(texts.size(), 1)));
  pool.parallel_for(texts.size(), [&](size_t i) {
    const auto start = steady_clock().now();
    auto encoded =
        uses_cache ? object.cache.encode(texts[i], options) : object.tokenizer->encode(texts[i], options);
    batch.ids[i] = value_or_throw(FASTTOK_ERROR_ENCODE, std::move(encoded));
    nanoseconds += std::chrono::nanoseconds(steady_clock().now() - start).count();
  });
  batch.time = std::chrono::nanoseconds(nanoseconds);
  return batch;
}

// Hands over the ids and counts them, or keeps them for the call with room. Returns how many they are.
size_t deliver(TokenizerObject& object, const std::vector<std::string_view>& texts,
               const EncodeOptions& options, EncodedBatch batch, std::span<int32_t> room, size_t* offsets) {
  size_t n_bytes = 0;
  offsets[0] = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    offsets[i + 1] = offsets[i] + batch.ids[i].size();
    n_bytes += texts[i].size();
  }
  const size_t n_ids = offsets[texts.size()];
  if (n_ids > room.size()) {
    object.undelivered.keep(texts, options, std::move(batch));
    return n_ids;
  }
  int32_t* to = room.data();
  for (const auto& ids : batch.ids) to = std::copy(ids.begin(), ids.end(), to);
  object.counters->add(texts.size(), n_bytes, n_ids, batch.time);
  return n_ids;
}

size_t end_stream(StreamObject& stream, int32_t* ids, size_t capacity) {
  if (capacity == 0) {
    throw Failure{FASTTOK_ERROR_ARGUMENT, "capacity is 0: expected room for an id; the stream is freed"};
  }
  const std::lock_guard lock(stream.mutex);
  finish_stream(stream);
  return take(stream, ids, capacity);
}

std::vector<std::string_view> text_views(const char* const* texts, const size_t* n_bytes, size_t n_texts,
                                         bool strict) {
  std::vector<std::string_view> views;
  views.reserve(n_texts);
  for (size_t i = 0; i < n_texts; ++i) {
    if (n_bytes[i] > 0) require_pointer(texts[i], fmt::format("texts[{}]", i).c_str());
    views.emplace_back(n_bytes[i] > 0 ? std::string_view(texts[i], n_bytes[i]) : std::string_view());
    if (strict) require_utf8(views.back(), fmt::format("texts[{}]", i));
  }
  return views;
}

}  // namespace
}  // namespace inferno::tokenizer

using namespace inferno::tokenizer;  // NOLINT: the C functions stand outside every namespace
namespace telemetry = inferno::telemetry;

fasttok* fasttok_new(uint32_t abi_version, const char* path) {
  return guarded(
      [&] {
        if (abi_version != FASTTOK_ABI_VERSION) {
          throw Failure{FASTTOK_ERROR_VERSION, fmt::format("the caller has ABI version {}, this library {}",
                                                           abi_version, FASTTOK_ABI_VERSION)};
        }
        require_pointer(path, "path");
        return tokenizers().add(load(path));
      },
      [](int32_t) { return static_cast<fasttok*>(nullptr); });
}

int32_t fasttok_free(fasttok* tokenizer) {
  return guarded_status([&] {
    if (tokenizer != nullptr) tokenizers().remove(tokenizer, "tokenizer");
  });
}

int32_t fasttok_last_error_code(void) {
  return last_code;
}
const char* fasttok_last_error(void) {
  return last_message.c_str();
}

int32_t fasttok_set_prefix_cache(fasttok* tokenizer, int32_t enabled) {
  return guarded_status([&] {
    const auto object = tokenizers().get(tokenizer, "tokenizer");
    if (enabled != 0 && enabled != 1) {
      throw Failure{FASTTOK_ERROR_ARGUMENT, fmt::format("enabled: expected 0 or 1, found {}", enabled)};
    }
    object->uses_cache = enabled == 1;
    if (enabled == 1) return;
    object->cache.reset(object->cache.limits());
    object->undelivered.forget();
  });
}

int32_t fasttok_set_prefix_params(fasttok* tokenizer, size_t k, size_t capacity) {
  return guarded_status([&] {
    const auto object = tokenizers().get(tokenizer, "tokenizer");
    if (k == 0 || capacity == 0) {
      throw Failure{FASTTOK_ERROR_ARGUMENT,
                    fmt::format("k {} and capacity {}: expected 1 or more", k, capacity)};
    }
    PrefixCache::Limits limits;
    limits.key_bytes = k;
    limits.max_entries = capacity;
    object->cache.reset(limits);
  });
}

int32_t fasttok_set_max_threads(fasttok* tokenizer, uint32_t n_threads) {
  return guarded_status([&] { tokenizers().get(tokenizer, "tokenizer")->max_threads = n_threads; });
}

fasttok_stream* fasttok_encode_stream_begin(fasttok* tokenizer, uint32_t flags) {
  return guarded(
      [&] {
        const auto object = tokenizers().get(tokenizer, "tokenizer");
        const telemetry::ScopedCounter counter(object->stage("Tokenizer::encode_stream_start"));
        auto stream = std::make_shared<StreamObject>(*object, encode_options(flags));
        stream->is_strict = (flags & FASTTOK_STRICT_UTF8) != 0;
        return streams().add(std::move(stream));
      },
      [](int32_t) { return static_cast<fasttok_stream*>(nullptr); });
}

int64_t fasttok_encode_stream_next(fasttok_stream* stream, const char* text, size_t n_bytes, int32_t* ids,
                                   size_t capacity) {
  return guarded_count([&] {
    const auto object = streams().get(stream, "stream");
    if (n_bytes > 0) require_pointer(text, "text");
    if (capacity > 0) require_pointer(ids, "ids");
    return stream_next(*object, n_bytes > 0 ? std::string_view(text, n_bytes) : std::string_view(), ids,
                       capacity);
  });
}

int64_t fasttok_encode_stream_end(fasttok_stream* stream, int32_t* ids, size_t capacity) {
  return guarded_count([&]() -> size_t {
    const auto object = streams().get(stream, "stream");
    size_t n = 0;
    try {
      if (ids != nullptr) n = end_stream(*object, ids, capacity);
    } catch (...) {
      streams().erase(stream);
      throw;
    }
    if (n == 0) streams().erase(stream);
    return n;
  });
}

int64_t fasttok_encode_batch(fasttok* tokenizer, const char* const* texts, const size_t* n_bytes,
                             size_t n_texts, uint32_t flags, int32_t* ids, size_t capacity, size_t* offsets) {
  return guarded_count([&] {
    const auto object = tokenizers().get(tokenizer, "tokenizer");
    const EncodeOptions options = encode_options(flags);
    if (n_texts > 0) {
      require_pointer(texts, "texts");
      require_pointer(n_bytes, "n_bytes");
    }
    require_pointer(offsets, "offsets");
    if (capacity > 0) require_pointer(ids, "ids");
    const auto views = text_views(texts, n_bytes, n_texts, (flags & FASTTOK_STRICT_UTF8) != 0);
    std::optional<EncodedBatch> batch = object->undelivered.take(views, options);
    if (!batch) batch = encode_all(*object, views, options);
    const std::span<int32_t> room = capacity > 0 ? std::span(ids, capacity) : std::span<int32_t>();
    return deliver(*object, views, options, std::move(*batch), room, offsets);
  });
}

int64_t fasttok_decode(fasttok* tokenizer, const int32_t* ids, size_t n_ids, uint32_t flags, char* text,
                       size_t capacity) {
  return guarded_count([&] {
    const auto object = tokenizers().get(tokenizer, "tokenizer");
    check_flags(flags, FASTTOK_SKIP_SPECIAL);
    if (n_ids > 0) require_pointer(ids, "ids");
    if (capacity > 0) require_pointer(text, "text");
    const std::span<const int32_t> all = n_ids > 0 ? std::span(ids, n_ids) : std::span<const int32_t>();
    const std::string decoded = value_or_throw(
        FASTTOK_ERROR_ENCODE, object->tokenizer->decode(all, (flags & FASTTOK_SKIP_SPECIAL) != 0));
    if (decoded.size() <= capacity) std::copy(decoded.begin(), decoded.end(), text);
    return decoded.size();
  });
}

int32_t fasttok_get_metrics(fasttok* tokenizer, fasttok_metrics* metrics) {
  return guarded_status([&] {
    const auto object = tokenizers().get(tokenizer, "tokenizer");
    require_pointer(metrics, "metrics");
    object->counters->report(*metrics);
    const PrefixCache::Counts counts = object->cache.counts();
    const uint64_t found = counts.hits + counts.prefix_hits;
    metrics->cache_hits = counts.hits;
    metrics->cache_prefix_hits = counts.prefix_hits;
    metrics->cache_misses = counts.misses;
    metrics->cache_hit_ratio =
        found == 0 ? 0 : static_cast<double>(found) / static_cast<double>(found + counts.misses);
  });
}

int32_t fasttok_flush_csv(const char* path) {
  return guarded_status([&] {
    require_pointer(path, "path");
    check_or_throw(FASTTOK_ERROR_FILE, telemetry::flush_csv(path));
  });
}

int32_t fasttok_write_trace(const char* path) {
  return guarded_status([&] {
    require_pointer(path, "path");
    check_or_throw(FASTTOK_ERROR_FILE, telemetry::write_trace(path));
  });
}
