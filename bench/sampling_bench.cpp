// Logits to a token with the vocabularies of today's models: greedy, and the transforms of the benchmark's
// sampled configurations.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

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
  const std::vector<float> values = logits(static_cast<size_t>(state.range(0)));
  std::vector<int32_t> history(512);
  for (size_t i = 0; i < history.size(); ++i) history[i] = static_cast<int32_t>(i * 7);
  sampling::Sampler sampler(params);
  uint64_t position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(sampler.sample(values, history, position++));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(values.size() * sizeof(float)));
  state.SetItemsProcessed(state.iterations());
}

sampling::SamplingParams params(float temperature, int32_t top_k, float top_p, float penalty) {
  sampling::SamplingParams p;
  p.temperature = temperature;
  p.top_k = top_k;
  p.top_p = top_p;
  p.repetition_penalty = penalty;
  return p;
}

BENCHMARK_CAPTURE(sample, greedy, params(0, 0, 1, 1))->Arg(151936)->Arg(262144);
BENCHMARK_CAPTURE(sample, temperature, params(0.8f, 0, 1, 1))->Arg(151936)->Arg(262144);
BENCHMARK_CAPTURE(sample, top_k_top_p, params(0.8f, 50, 0.9f, 1))->Arg(151936)->Arg(262144);
BENCHMARK_CAPTURE(sample, full_pipe, params(0.8f, 50, 0.9f, 1.1f))->Arg(151936)->Arg(262144);

}  // namespace
}  // namespace inferno
