// Loading models in tests: a failure to load fails the test with the error's text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/generate.h"
#include "model/load.h"

namespace inferno::test {

inline model::LoadedModel load(gguf::File file, const std::string& backend_name = "scalar") {
  auto backend = backend::create_backend(backend_name);
  EXPECT_TRUE(backend.ok());
  auto loaded = model::load_from_gguf(std::move(file), *backend);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return std::move(*loaded);
}

inline model::LoadedModel load_path(const std::string& path, const std::string& backend_name = "scalar") {
  auto file = gguf::File::open(path);
  if (!file) throw std::runtime_error(file.error().message);
  return load(std::move(*file), backend_name);
}

// `names`, and those of the devices that are here.
inline std::vector<std::string> with_devices(std::vector<std::string> names) {
  if (backend::create_backend("cuda").ok()) names.emplace_back("cuda");
  return names;
}

// `bytes` outlives the model.
inline model::LoadedModel load_bytes(const std::vector<std::byte>& bytes,
                                     const std::string& backend_name = "scalar") {
  auto file = gguf::File::from_memory(bytes, "tiny.gguf");
  if (!file) throw std::runtime_error(file.error().message);
  return load(std::move(*file), backend_name);
}

// Logits of every position of the prompt.
inline std::vector<float> all_logits(model::Model& model, std::span<const int32_t> ids,
                                     DType kv_type = DType::kF32) {
  std::vector<float> logits;
  const Status status =
      engine::prompt_logits(model, ids, kv_type, [&](std::span<const float> rows, int64_t) -> Status {
        logits.insert(logits.end(), rows.begin(), rows.end());
        return {};
      });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return logits;
}

}  // namespace inferno::test
