#include "model/model.h"

#include <gtest/gtest.h>

#include "kv/basic_kv_cache.h"
#include "support/load.h"
#include "support/tiny_model.h"

namespace inferno {
namespace {

TEST(Model, AWideModelTakesFewerRowsAtOnce) {
  const auto narrow_bytes = test::TinyModel({}).bytes();
  EXPECT_EQ(test::load_bytes(narrow_bytes).model->max_batch(), 512);
  const auto wide_bytes = test::TinyModel({.n_layers = 1, .dim = 2, .hidden_dim = 1u << 17}).bytes();
  const model::LoadedModel wide = test::load_bytes(wide_bytes);
  EXPECT_LT(wide.model->max_batch(), 300);
  EXPECT_GT(wide.model->max_batch(), 200);
}

TEST(Model, ALoadIsCancelledBetweenTensors) {
  const auto bytes = test::TinyModel({}).bytes();
  auto file = gguf::File::from_memory(bytes, "tiny.gguf");
  ASSERT_TRUE(file.ok());
  int asked = 0;
  const auto loaded = model::load_from_gguf(
      std::move(*file), *backend::create_backend("scalar"),
      {.tensor_check = model::TensorCheck::kNone, .repack_cache = "", .progress = {}, .cancelled = [&] {
         return ++asked == 3;
       }});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(asked, 3);
}

TEST(Model, AForwardIsCancelledBetweenLayers) {
  const auto bytes = test::TinyModel({}).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  auto cache = *kv::BasicKvCache::create(loaded.model->backend(), loaded.model->kv_config(DType::kF32, 1, 8));
  model::Batch batch;
  batch.append(*cache, 0, test::random_ids(4, 300, 1), 0, model::Batch::Logits::kLast);
  const std::atomic<bool> cancelled{true};
  const auto result = loaded.model->forward(batch, *cache, cancel_by(&cancelled));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace inferno
