// decode/TYPE/SEQUENCES/POSITION: a forward pass of synthetic:qwen3-0.6b of one token of each of so many
// sequences, each of which has so many positions before it.
#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/backends.h"
#include "kv/basic_kv_cache.h"
#include "model/batch.h"
#include "model/load.h"

namespace inferno {
namespace {

struct WeightType {
  const char* spec;
  DType dtype;
};

// One for all benchmarks of a type, which run one after the other.
model::LoadedModel& model_of(const WeightType& type) {
  static std::string loaded_spec;
  static std::unique_ptr<model::LoadedModel> loaded;
  const std::string spec = fmt::format("synthetic:qwen3-0.6b:{}", type.spec);
  if (loaded_spec != spec) {
    loaded.reset();
    auto opened = model::load_from_gguf_path(spec, *backend::create_backend("auto"));
    if (!opened) throw std::runtime_error(opened.error().message);
    loaded = std::make_unique<model::LoadedModel>(std::move(*opened));
    loaded->model->backend().settle(std::chrono::seconds(10));
    loaded_spec = spec;
  }
  return *loaded;
}

// Pages that nobody has written are all the same one, and in a cache.
void fill(const kv::KvCache& cache, int64_t n_layers, int32_t n_seqs, backend::Backend& backend) {
  for (int64_t i = 0; i < n_layers; ++i) {
    const kernels::KvLayerView layer = cache.layer(i);
    const auto rows = static_cast<size_t>(n_seqs * layer.block_size * layer.n_kv_heads);
    const std::vector<uint8_t> bytes(rows * row_bytes(layer.dtype, static_cast<size_t>(layer.head_dim)),
                                     0x11);
    for (void* to : {layer.k, layer.v}) {
      if (const Status status = backend.upload(to, bytes.data(), bytes.size()); !status)
        throw std::runtime_error(status.error().message);
    }
  }
}

void decode(benchmark::State& state, const WeightType& type, int32_t n_seqs, int64_t position) {
  model::LoadedModel& loaded = model_of(type);
  backend::Backend& backend = loaded.model->backend();
  const kv::Config config = loaded.model->kv_config(DType::kF16, n_seqs, position + 1);
  const auto cache = kv::BasicKvCache::create(backend, config);
  if (!cache) return state.SkipWithError(cache.error().message.c_str());
  fill(**cache, static_cast<int64_t>(config.layers.size()), n_seqs, backend);
  const std::vector<int32_t> token = {1};
  model::Batch batch;
  for (int32_t seq = 0; seq < n_seqs; ++seq) {
    if (!(*cache)->reserve(seq, position + 1)) return state.SkipWithError("no room for the positions");
    batch.append(**cache, seq, token, position, model::Batch::Logits::kLast);
  }
  const auto pass = [&] {
    if (!loaded.model->forward(batch, **cache, nullptr)) state.SkipWithError("the pass failed");
  };
  pass();
  backend.reset_counters();
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) pass();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const metrics::Cost& cost = backend.counters();
  state.SetBytesProcessed(static_cast<int64_t>(cost.bytes()));
  state.counters["tok/s"] =
      benchmark::Counter(static_cast<double>(n_seqs * state.iterations()), benchmark::Counter::kIsRate);
  const uint64_t pass_bytes = cost.bytes() / static_cast<uint64_t>(state.iterations());
  const bench::Limits limits = bench_support::limits_now(backend, std::string(name(type.dtype)), pass_bytes);
  set_share_of_ceiling(state, cost, seconds.count(), limits, bench_support::Operands::kInMemory);
}

const bool registered = [] {
  for (const WeightType type : {WeightType{"q8_0", DType::kQ8_0}, WeightType{"q4_k", DType::kQ4_K}}) {
    const auto add = [&](int32_t n_seqs, int64_t position) {
      const std::string title = fmt::format("decode/{}/{}/{}", name(type.dtype), n_seqs, position);
      benchmark::RegisterBenchmark(title.c_str(), decode, type, n_seqs, position)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    };
    for (const int32_t n_seqs : {1, 4, 16, 64}) add(n_seqs, 64);
    add(1, 4096);
  }
  return true;
}();

}  // namespace
}  // namespace inferno
