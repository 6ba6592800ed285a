#include "bench/perplexity.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/check.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "engine/generate.h"
#include "metrics/stats.h"

namespace inferno::bench {
namespace {

// log of the sum of e^logit.
double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

int64_t likeliest(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

Status check_same_vocabulary(const model::LoadedModel& a, const model::LoadedModel& b) {
  const auto differ = [&](const std::string& how) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} and {}: expected the same vocabulary, to compare predictions: {}",
                      escaped(a.model->file().path(), 4096), escaped(b.model->file().path(), 4096), how);
  };
  if (a.model->config().vocab_size != b.model->config().vocab_size) {
    return differ(fmt::format("one has {} ids, the other {}", a.model->config().vocab_size,
                              b.model->config().vocab_size));
  }
  if (a.tokenizer->vocab_size() != b.tokenizer->vocab_size()) {
    return differ(
        fmt::format("one has {} tokens, the other {}", a.tokenizer->vocab_size(), b.tokenizer->vocab_size()));
  }
  for (int32_t id = 0; id < a.tokenizer->vocab_size(); ++id) {
    const std::string_view x = a.tokenizer->spelling(id), y = b.tokenizer->spelling(id);
    if (x != y) return differ(fmt::format("id {} is {} in one and {} in the other", id, quote(x), quote(y)));
  }
  return {};
}

Result<int64_t> check_context(const model::LoadedModel& loaded, int64_t wanted) {
  constexpr int64_t kUsual = 512, kLeast = 4;
  const int64_t most = loaded.model->config().context_length;
  const int64_t context = wanted == 0 ? std::min(kUsual, most) : wanted;
  if (context >= kLeast && context <= most) return context;
  return make_error(ErrorCode::kInvalidArgument,
                    "{}: chunks of {} tokens: expected from {} to {}, the model's context",
                    escaped(loaded.model->file().path(), 4096), context, kLeast, most);
}

// The chunks, one after the other, of a text.
Result<std::vector<int32_t>> chunks_of(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                       int64_t context, int64_t max_chunks) {
  TRY_ASSIGN(std::vector<int32_t> ids, tokenizer.encode(text, {.add_bos = true, .parse_special = false}));
  int64_t n = static_cast<int64_t>(ids.size()) / context;
  if (n == 0) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "the text has {} tokens, expected at least {}, one chunk: give a longer text or a shorter context",
        ids.size(), context);
  }
  if (max_chunks > 0) n = std::min(n, max_chunks);
  ids.resize(static_cast<size_t>(n * context));
  if (tokenizer.adds_bos() && tokenizer.bos_id()) {
    for (int64_t i = 0; i < n; ++i) ids[static_cast<size_t>(i * context)] = *tokenizer.bos_id();
  }
  return ids;
}

// Measures chunk after chunk.
class Measurement {
 public:
  Measurement(const model::LoadedModel& loaded, const model::LoadedModel* base,
              const PerplexityOptions& options, int64_t context)
      : loaded_(loaded), base_(base), options_(options), pool_(options.n_threads) {
    report_.context = context;
    if (base != nullptr) report_.divergence.emplace();
  }

  Result<PerplexityReport> run(std::span<const int32_t> ids) {
    const auto context = static_cast<size_t>(report_.context);
    report_.n_all_chunks = static_cast<int64_t>(ids.size() / context);
    for (size_t begin = 0; begin < ids.size(); begin += context) {
      const Status measured = measure(ids.subspan(begin, context));
      if (!measured && measured.error().code == ErrorCode::kCancelled) break;
      TRY(measured);
      ++report_.n_chunks;
      if (options_.on_chunk) options_.on_chunk(report_);
    }
    return std::move(report_);
  }

 private:
  struct Score {
    double nll = 0, base_nll = 0, divergence = 0;
    bool same_top = false;
  };

  int64_t first_scored() const { return report_.context / 2; }

  Status measure(std::span<const int32_t> chunk) {
    const auto input = chunk.first(chunk.size() - 1);  // the last id predicts nothing here
    base_logits_.clear();
    if (base_ != nullptr) {
      const auto n_scored = input.size() - static_cast<size_t>(first_scored());
      TRY(reserve_base_logits(n_scored * static_cast<size_t>(base_->model->config().vocab_size)));
      TRY(logits_of(*base_, input, [&](std::span<const float> logits, int64_t) {
        base_logits_.insert(base_logits_.end(), logits.begin(), logits.end());
        return Status();
      }));
    }
    std::vector<Score> scores;
    const auto start = options_.clock->now();
    TRY(logits_of(loaded_, input, [&](std::span<const float> logits, int64_t n) {
      score(chunk, logits, n, scores);
      return Status();
    }));
    report_.seconds += std::chrono::duration<double>(options_.clock->now() - start).count();
    for (const Score& one : scores) add(one);
    return {};
  }

  Status reserve_base_logits(size_t n) {
    const uint64_t bytes = uint64_t{n} * sizeof(float);
    const auto available = available_memory();
    if (base_logits_.capacity() < n && available && bytes > *available) {
      return make_error(
          ErrorCode::kResource,
          "the base's logits of a chunk of {} tokens need {}, {} are available; ask for shorter "
          "chunks (--ctx)",
          report_.context, human_bytes(bytes), human_bytes(*available));
    }
    base_logits_.reserve(n);
    return {};
  }

  Status logits_of(const model::LoadedModel& loaded, std::span<const int32_t> input,
                   const engine::OnLogits& on_logits) const {
    const uint64_t n_passes = base_ == nullptr ? 1 : 2;
    ProgressFn progress;
    if (options_.progress) {
      progress = [&](std::string_view what, uint64_t done, uint64_t total) {
        options_.progress(what, (&loaded == base_ ? 0 : n_passes - 1) * total + done, n_passes * total);
      };
    }
    return engine::prompt_logits(*loaded.model, input, options_.kv_type, on_logits, first_scored(),
                                 options_.cancelled, progress);
  }

  // Rows are shared among the threads; what they add up to is added in order.
  void score(std::span<const int32_t> chunk, std::span<const float> logits, int64_t n,
             std::vector<Score>& scores) {
    const size_t first = scores.size();
    scores.resize(first + static_cast<size_t>(n));
    const size_t vocab = logits.size() / static_cast<size_t>(n);
    pool_.parallel_for(static_cast<size_t>(n), [&](size_t i) {
      const auto row = logits.subspan(i * vocab, vocab);
      const int32_t id = chunk[static_cast<size_t>(first_scored()) + first + i + 1];
      Score& one = scores[first + i];
      one.nll = negative_log_likelihood(row, id);
      if (base_ == nullptr) return;
      const auto base_row = std::span(base_logits_).subspan((first + i) * vocab, vocab);
      one.base_nll = negative_log_likelihood(base_row, id);
      one.divergence = kl_divergence(base_row, row);
      one.same_top = likeliest(base_row) == likeliest(row);
    });
  }

  void add(const Score& one) {
    report_.perplexity.nll.add(one.nll);
    if (!report_.divergence) return;
    report_.divergence->base.nll.add(one.base_nll);
    report_.divergence->values.push_back(one.divergence);
    report_.divergence->n_same_top += one.same_top ? 1 : 0;
  }

  const model::LoadedModel& loaded_;
  const model::LoadedModel* base_;
  const PerplexityOptions& options_;
  ThreadPool pool_;
  PerplexityReport report_;
  std::vector<float> base_logits_;  // of the chunk's second half
};

}  // namespace

double negative_log_likelihood(std::span<const float> logits, int32_t id) {
  return log_sum_exp(logits) - logits[static_cast<size_t>(id)];
}

double kl_divergence(std::span<const float> base, std::span<const float> logits) {
  CHECK(base.size() == logits.size(), "{} and {} logits", base.size(), logits.size());
  const double base_norm = log_sum_exp(base), norm = log_sum_exp(logits);
  double sum = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    const double log_p = base[i] - base_norm;
    sum += std::exp(log_p) * (log_p - (logits[i] - norm));
  }
  return std::max(sum, 0.0);  // rounding may leave it just below
}

void Mean::add(double x) {
  const double distance = x - value;
  ++n;
  value += distance / static_cast<double>(n);
  squares += distance * (x - value);
}

double Mean::error() const {
  return n < 2 ? 0 : std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
}

double Perplexity::value() const {
  return std::exp(nll.value);
}

double Perplexity::error() const {
  return nll.error() * value();
}

Mean Divergence::mean() const {
  Mean result;
  for (const double value : values) result.add(value);
  return result;
}

double Divergence::percentile(double share) const {
  return metrics::percentile(values, share).value_or(0);
}

double PerplexityReport::tokens_per_second() const {
  return seconds > 0 ? static_cast<double>(n_chunks * context) / seconds : 0;
}

Result<PerplexityReport> measure_perplexity(const model::LoadedModel& loaded, std::string_view text,
                                            const PerplexityOptions& options,
                                            const model::LoadedModel* base) {
  TRY_ASSIGN(const int64_t context, check_context(loaded, options.context));
  if (base != nullptr) {
    TRY(check_same_vocabulary(loaded, *base));
    TRY(check_context(*base, context));
  }
  TRY_ASSIGN(const std::vector<int32_t> ids, chunks_of(*loaded.tokenizer, text, context, options.max_chunks));
  return Measurement(loaded, base, options, context).run(ids);
}

}  // namespace inferno::bench
