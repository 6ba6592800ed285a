// Text to ids and back with the demo model's tokenizer: ordinary text, and the worst case of byte pair
// encoding. Neither memory nor multiply-adds bind it.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/ceiling.h"
#include "gguf/file.h"
#include "models/demo/demo_model.h"
#include "tokenizer/tokenizer.h"

namespace inferno {
namespace {

std::shared_ptr<const tokenizer::Tokenizer> demo_tokenizer() {
  const auto file = gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
  return tokenizer::Tokenizer::from_gguf(*file).value();
}

std::string tale(size_t bytes) {
  std::string text;
  while (text.size() < bytes)
    text += "Once upon a time, there was a little girl who lived in a small town.\n";
  return text;
}

void tokenizer_load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(demo_tokenizer());
  bench_support::set_no_ceiling(state);
}
BENCHMARK(tokenizer_load);

void tokenizer_encode(benchmark::State& state, const std::string& text) {
  const auto tokenizer = demo_tokenizer();
  size_t ids = 0;
  for (auto _ : state) ids += tokenizer->encode(text).value().size();
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
  state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(ids), benchmark::Counter::kIsRate);
  bench_support::set_no_ceiling(state);
}
BENCHMARK_CAPTURE(tokenizer_encode, tale_64k, tale(1 << 16));
BENCHMARK_CAPTURE(tokenizer_encode, one_letter_64k, std::string(1 << 16, 'a'));

void tokenizer_decode(benchmark::State& state) {
  const auto tokenizer = demo_tokenizer();
  const auto ids = tokenizer->encode(tale(1 << 16)).value();
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->decode(ids));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(ids.size()));
  bench_support::set_no_ceiling(state);
}
BENCHMARK(tokenizer_decode);

}  // namespace
}  // namespace inferno
