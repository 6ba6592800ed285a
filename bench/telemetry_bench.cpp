// What telemetry costs: a scope with it off and on, and the share of a forward pass that its own spans make
// up; no claim on what the machine can do at best, so no ceiling.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "bench/ceiling.h"
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
  bench_support::set_no_ceiling(state);
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
  bench_support::set_no_ceiling(state);
}
BENCHMARK(scope_on)->Threads(1)->Threads(2);

// One token through the demo model, again and again.
class DemoPass {
 public:
  DemoPass()
      : backend_(backend::create_backend("auto").value()),
        loaded_(model::load_from_gguf(gguf::File::from_memory(demo::model_bytes(), demo::kModelName).value(),
                                      backend_)
                    .value()),
        cache_(kv::BasicKvCache::create(*backend_, loaded_.model->kv_config(DType::kF16, 1, 64)).value()) {}

  void run() {
    cache_->truncate(0, 0);
    CHECK(cache_->reserve(0, 1), "no room for one position");
    batch_.clear();
    batch_.append(*cache_, 0, token_, 0, model::Batch::Logits::kLast);
    benchmark::DoNotOptimize(loaded_.model->forward(batch_, *cache_, nullptr));
  }

 private:
  std::shared_ptr<backend::Backend> backend_;
  model::LoadedModel loaded_;
  std::unique_ptr<kv::KvCache> cache_;
  std::vector<int32_t> token_ = {1};
  model::Batch batch_;
};

void forward_pass_off(benchmark::State& state) {
  DemoPass pass;
  for (auto _ : state) pass.run();
  bench_support::set_no_ceiling(state);
}
BENCHMARK(forward_pass_off)->Unit(benchmark::kMicrosecond);

// The spans' share is their number times the cost of one, measured in the same breath: the difference between
// passes with telemetry and without is smaller than their noise.
void forward_pass_on(benchmark::State& state) {
  DemoPass pass;
  const Clock& clock = steady_clock();
  std::chrono::nanoseconds in_passes{0};
  std::chrono::nanoseconds in_spans{0};
  size_t n_spans = 0;
  for (auto _ : state) {
    const TelemetryOn on;
    const auto start = clock.now();
    pass.run();
    const auto end = clock.now();
    state.SetIterationTime(std::chrono::duration<double>(end - start).count());
    in_passes += end - start;
    n_spans = telemetry::usage().spans;
    const auto again = clock.now();
    for (size_t i = 0; i < n_spans; ++i) {
      const telemetry::ScopedCounter counter("bench");
      benchmark::ClobberMemory();
    }
    in_spans += clock.now() - again;
  }
  state.counters["spans"] = static_cast<double>(n_spans);
  state.counters["% of the pass"] = 100.0 * static_cast<double>(in_spans.count()) /
                                    static_cast<double>(std::max<int64_t>(in_passes.count(), 1));
  bench_support::set_no_ceiling(state);
}
BENCHMARK(forward_pass_on)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace inferno
