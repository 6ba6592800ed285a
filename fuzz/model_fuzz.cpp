// Any bytes as a model: refused with one line, or three tokens run through it and the next is sampled,
// whatever the weights are.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "kv/basic_kv_cache.h"
#include "model/batch.h"
#include "model/model.h"
#include "sampling/sampler.h"

namespace inferno {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void require_one_line(const Error& error) {
  require(!error.message.empty() && error.message.find('\n') == std::string::npos);
}

void run(model::Model& model, DType kv_type) {
  constexpr int64_t kPositions = 4;
  const auto vocab = static_cast<int32_t>(model.config().vocab_size);
  auto cache = kv::BasicKvCache::create(model.backend(), model.kv_config(kv_type, 1, kPositions));
  if (!cache) {  // heads that are no whole blocks of Q8_0
    require(kv_type == DType::kQ8_0);
    return require_one_line(cache.error());
  }
  std::vector<int32_t> ids = {0, vocab - 1, vocab / 2};
  model::Batch batch;
  batch.append(**cache, 0, ids, 0, model::Batch::Logits::kAll);
  const auto logits = model.forward(batch, **cache);
  require(logits.ok());
  const auto row = std::span(logits->values.as<const float>(), static_cast<size_t>(vocab) * ids.size())
                       .last(static_cast<size_t>(vocab));
  for (const float temperature : {0.0f, 0.8f}) {
    sampling::Sampler sampler({.temperature = temperature, .top_p = 0.9f, .repetition_penalty = 1.1f});
    const auto sample = sampler.sample(row, ids, 3);
    if (!sample) {
      require(sample.error().code == ErrorCode::kRuntime);
      require_one_line(sample.error());
    } else {
      require(*sample >= 0 && *sample < vocab);
    }
  }
}

}  // namespace
}  // namespace inferno

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferno;
  static const auto backend = *backend::create_backend("scalar");
  auto file = gguf::File::from_memory(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!file) return 0;
  const auto model = model::Model::load(std::move(*file), backend);
  if (!model) {
    require_one_line(model.error());
    return 0;
  }
  // No bound on sizes is needed: weights of those sizes are in the input.
  for (const DType kv_type : kv::kTypes) run(**model, kv_type);
  return 0;
}
