// What telemetry costs: a scope with it off and on, and the share of a forward pass that its own spans make
// up.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "base/result.h"
#include "kv/basic_kv_cache.h"
#include "metrics/telemetry.h"
#include "model/batch.h"
#include "model/load.h"
#include "models/demo/demo_model.h"

namespace inferno {
namespace {

class TelemetryOn {
 public:
  TelemetryOn() { telemetry::set_enabled(true); }
  ~TelemetryOn() {
    telemetry::set_enabled(false);
    telemetry::clear();
  }
};

void scope_off(benchmark::State& state) {
  for (auto _ : state) {
    const telemetry::ScopedCounter counter("bench");
    benchmark::ClobberMemory();
  }
}
BENCHMARK(scope_off);

// The spans kept stay below the limit, as in a program that flushes.
void scope_on(benchmark::State& state) {
  const TelemetryOn on;
  int64_t n = 0;
  for (auto _ : state) {
    {
      const telemetry::ScopedCounter counter("bench");
      benchmark::ClobberMemory();
    }
    if (++n % (1 << 16) == 0) {
      state.PauseTiming();
      telemetry::clear();
      state.ResumeTiming();
    }
  }
}
BENCHMARK(scope_on)->Threads(1)->Threads(2);

// One token through the demo model, telemetry off and on in turn. The spans' own cost is their number times
// that of one, measured here: the difference of two passes is smaller than their noise.
void forward_pass(benchmark::State& state) {
  const bool on = state.range(0) != 0;
  const auto backend = backend::create_backend("auto").value();
  auto file = gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
  const model::LoadedModel loaded = model::load_from_gguf(std::move(file).value(), backend).value();
  const auto cache = kv::BasicKvCache::create(*backend, loaded.model->kv_config(DType::kF16, 1, 64)).value();
  if (!cache->reserve(0, 1)) std::abort();
  const std::vector<int32_t> token = {1};
  model::Batch batch;
  size_t n_spans = 0;
  telemetry::set_enabled(on);
  for (auto _ : state) {
    cache->truncate(0, 0);
    batch.clear();
    batch.append(*cache, 0, token, 0, model::Batch::Logits::kLast);
    benchmark::DoNotOptimize(loaded.model->forward(batch, *cache, nullptr));
    if (on) {
      state.PauseTiming();
      n_spans = telemetry::usage().spans;
      telemetry::clear();
      state.ResumeTiming();
    }
  }
  telemetry::set_enabled(false);
  telemetry::clear();
  state.counters["spans"] = static_cast<double>(n_spans);
}
BENCHMARK(forward_pass)->Arg(0)->Arg(1)->ArgName("telemetry")->Unit(benchmark::kMicrosecond);

// The same quotient as one figure: per cent of a pass that its spans take.
void share_of_a_forward_pass(benchmark::State& state) {
  const auto backend = backend::create_backend("auto").value();
  auto file = gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
  const model::LoadedModel loaded = model::load_from_gguf(std::move(file).value(), backend).value();
  const auto cache = kv::BasicKvCache::create(*backend, loaded.model->kv_config(DType::kF16, 1, 64)).value();
  if (!cache->reserve(0, 1)) std::abort();
  const std::vector<int32_t> token = {1};
  model::Batch batch;
  std::chrono::nanoseconds passes{0};
  std::chrono::nanoseconds spans{0};
  for (auto _ : state) {
    const TelemetryOn on;
    cache->truncate(0, 0);
    batch.clear();
    batch.append(*cache, 0, token, 0, model::Batch::Logits::kLast);
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(loaded.model->forward(batch, *cache, nullptr));
    const auto computed = std::chrono::steady_clock::now();
    const size_t n = telemetry::usage().spans;
    const auto again = std::chrono::steady_clock::now();
    for (size_t i = 0; i < n; ++i) {
      const telemetry::ScopedCounter counter("bench");
      benchmark::ClobberMemory();
    }
    spans += std::chrono::steady_clock::now() - again;
    passes += computed - start;
  }
  state.counters["% of a pass"] =
      100.0 * static_cast<double>(spans.count()) / static_cast<double>(std::max<int64_t>(passes.count(), 1));
}
BENCHMARK(share_of_a_forward_pass)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace inferno
