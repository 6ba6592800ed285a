// Logits to a token with the vocabularies of today's models: greedy, and the transforms of the benchmark's
// sampled configurations.
#include <benchmark/benchmark.h>

#include <chrono>
#include <random>
#include <vector>

#include "bench/ceiling.h"
#include "sampling/sampler.h"

namespace inferno {
namespace {

// As a model gives them: most far below the best few.
std::vector<float> logits(size_t vocab) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(vocab);
  for (float& value : values) value = normal(random);
  return values;
}

void sample(benchmark::State& state, sampling::SamplingParams params) {
  // As after a forward pass, whose weights have gone through the caches: each time other logits.
  const size_t vocab = static_cast<size_t>(state.range(0));
  const auto copies = bench_support::copies_beyond_caches(vocab * sizeof(float));
  const std::vector<std::vector<float>> rows(copies.n, logits(vocab));
  std::vector<int32_t> history(512);
  for (size_t i = 0; i < history.size(); ++i) history[i] = static_cast<int32_t>(i * 7);
  sampling::Sampler sampler(params);
  const auto& ceilings = bench_support::ceilings_of("scalar");  // it runs on one thread of the host
  uint64_t position = 0;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    benchmark::DoNotOptimize(sampler.sample(rows[position % rows.size()], history, position));
    ++position;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const metrics::Cost cost{.activation_bytes = position * vocab * sizeof(float)};
  state.SetBytesProcessed(static_cast<int64_t>(cost.bytes()));
  state.SetItemsProcessed(state.iterations());
  const auto limits = ceilings ? bench::limits(*ceilings, {.device = "CPU"}, "F32") : bench::Limits{};
  bench_support::set_share_of_ceiling(state, cost, seconds.count(), limits, copies.operands);
}

sampling::SamplingParams params(float temperature, int32_t top_k, float top_p, float penalty,
                                float min_p = 0) {
  sampling::SamplingParams p;
  p.temperature = temperature;
  p.top_k = top_k;
  p.top_p = top_p;
  p.min_p = min_p;
  p.repetition_penalty = penalty;
  return p;
}

BENCHMARK_CAPTURE(sample, greedy, params(0, 0, 1, 1))->Arg(151936)->Arg(262144)->UseRealTime();
BENCHMARK_CAPTURE(sample, temperature, params(0.8f, 0, 1, 1))->Arg(151936)->Arg(262144)->UseRealTime();
BENCHMARK_CAPTURE(sample, top_p, params(0.8f, 0, 0.95f, 1))->Arg(151936)->Arg(262144)->UseRealTime();
BENCHMARK_CAPTURE(sample, min_p, params(0.8f, 0, 1, 1, 0.05f))->Arg(151936)->Arg(262144)->UseRealTime();
BENCHMARK_CAPTURE(sample, top_k_top_p, params(0.8f, 50, 0.9f, 1))->Arg(151936)->Arg(262144)->UseRealTime();
BENCHMARK_CAPTURE(sample, full_pipe, params(0.8f, 50, 0.9f, 1.1f))->Arg(151936)->Arg(262144)->UseRealTime();

}  // namespace
}  // namespace inferno
