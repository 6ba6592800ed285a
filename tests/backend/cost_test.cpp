// What a decode step must move and compute, against sums made by hand.
#include <gtest/gtest.h>

#include "kv/basic_kv_cache.h"
#include "support/load.h"
#include "support/tiny_model.h"

namespace inferno {
namespace {

// A prompt of `context` - 1 tokens, then one token more, whose cost is returned.
metrics::Cost decode_cost(model::Model& model, int64_t context, DType kv_type, bool profiling = false) {
  auto cache = *kv::BasicKvCache::create(model.backend(), model.kv_config(kv_type, 1, 64));
  model::Batch batch;
  batch.append(*cache, 0, test::random_ids(static_cast<size_t>(context - 1), 300, 1), 0,
               model::Batch::Logits::kNone);
  EXPECT_TRUE(model.forward(batch, *cache).ok());
  batch.clear();
  batch.append(*cache, 0, test::random_ids(1, 300, 2), context - 1, model::Batch::Logits::kLast);
  model.backend().reset_counters();
  model.backend().set_profiling(profiling);
  EXPECT_TRUE(model.forward(batch, *cache).ok());
  model.backend().set_profiling(false);
  return model.backend().counters();
}

class DecodeCost : public testing::Test {
 protected:
  static constexpr uint64_t kF32 = 4, kDim = 16, kHeads = 4, kKvHeads = 2, kHeadDim = 8, kHidden = 24,
                            kVocab = 300;
  static constexpr uint64_t kLayers = 2, kContext = 11;
  static constexpr uint64_t kQ = kHeads * kHeadDim, kKv = kKvHeads * kHeadDim;

  DecodeCost()
      : bytes_(test::TinyModel({.arch = "qwen3", .n_layers = kLayers, .dim = kDim, .hidden_dim = kHidden})
                   .bytes()),
        model_(test::load_bytes(bytes_)) {}

  const std::vector<std::byte> bytes_;
  const model::LoadedModel model_;
};

TEST_F(DecodeCost, ADecodeStepReadsEveryWeightOnceAndOneRowOfTheEmbedding) {
  const uint64_t norms = 2 * kDim + 2 * kHeadDim;
  const uint64_t layer = norms + kQ * kDim + 2 * kKv * kDim + kDim * kQ + 3 * kHidden * kDim;
  const uint64_t elements =
      kDim + kLayers * layer + kDim + kVocab * kDim;  // row, layers, last norm, tied head
  EXPECT_EQ(decode_cost(*model_.model, kContext, DType::kF16).weight_bytes, elements * kF32);
}

TEST_F(DecodeCost, ADecodeStepWritesOnePositionAndReadsTheContext) {
  const uint64_t position = kLayers * 2 * kKv;
  EXPECT_EQ(decode_cost(*model_.model, kContext, DType::kF16).kv_bytes, (1 + kContext) * position * 2);
  EXPECT_EQ(decode_cost(*model_.model, kContext, DType::kF32).kv_bytes, (1 + kContext) * position * 4);
  EXPECT_EQ(decode_cost(*model_.model, 1 + kContext, DType::kF32).kv_bytes, (2 + kContext) * position * 4);
}

TEST_F(DecodeCost, BytesOfTheCacheAreThoseOfItsType) {
  EXPECT_EQ(decode_cost(*model_.model, kContext, DType::kBF16).kv_bytes,
            decode_cost(*model_.model, kContext, DType::kF16).kv_bytes);
  const std::vector<std::byte> bytes = test::TinyModel({.n_layers = 1, .head_dim = 64}).bytes();
  const model::LoadedModel wide = test::load_bytes(bytes);
  constexpr uint64_t kPosition = 2 * 2 * 64 / 32 * 34;  // k and v, heads, blocks of a head and their bytes
  EXPECT_EQ(decode_cost(*wide.model, kContext, DType::kQ8_0).kv_bytes, (1 + kContext) * kPosition);
}

TEST_F(DecodeCost, ActivationsCrossTheStepsOnce) {
  const uint64_t qkv = kDim + kQ;                         // x, q
  const uint64_t attention = 2 * kQ;                      // q, the result
  const uint64_t out_proj = kQ + 2 * kDim;                // the result, x twice
  const uint64_t mlp = 2 * kDim;                          // x twice
  const uint64_t ends = kDim + kHeadDim + kDim + kVocab;  // embedding, rope table, head's row, logits
  EXPECT_EQ(decode_cost(*model_.model, kContext, DType::kF16).activation_bytes,
            (ends + kLayers * (qkv + attention + out_proj + mlp)) * kF32);
}

TEST_F(DecodeCost, ProductsAndAttentionAreMostOfTheOperations) {
  const uint64_t layer = kQ * kDim + 2 * kKv * kDim + kDim * kQ + 3 * kHidden * kDim + 2 * kContext * kQ;
  const uint64_t products = 2 * (kLayers * layer + kVocab * kDim);
  const uint64_t flops = decode_cost(*model_.model, kContext, DType::kF16).flops;
  EXPECT_GT(flops, products);
  EXPECT_LT(flops, products + products / 10) << "norms, rope and activations";
}

// What the primitives of a step count is not counted once more.
TEST_F(DecodeCost, TheOutermostRowsOfAProfileAddUpToTheCounters) {
  const metrics::Cost counted = decode_cost(*model_.model, kContext, DType::kF16, /*profiling=*/true);
  metrics::Cost sum;
  int deepest = 0;
  for (const metrics::Profile::Row& row : model_.model->backend().profile().rows()) {
    deepest = std::max(deepest, row.depth);
    if (row.depth == 0) sum += row.cost;
  }
  EXPECT_EQ(deepest, 1);
  EXPECT_EQ(sum.weight_bytes, counted.weight_bytes);
  EXPECT_EQ(sum.kv_bytes, counted.kv_bytes);
  EXPECT_EQ(sum.activation_bytes, counted.activation_bytes);
  EXPECT_EQ(sum.flops, counted.flops);
  EXPECT_EQ(sum.attention_flops, counted.attention_flops);
  EXPECT_GT(counted.attention_flops, 0u);
  EXPECT_LT(counted.attention_flops, counted.flops);
}

TEST_F(DecodeCost, APrimitivesRowStandsInItsStep) {
  decode_cost(*model_.model, kContext, DType::kF16, /*profiling=*/true);
  std::string step;
  std::vector<std::string> steps_with_matmul;
  for (const metrics::Profile::Row& row : model_.model->backend().profile().rows()) {
    if (row.depth == 0) step = row.name;
    if (row.depth == 1 && row.name == "matmul")
      steps_with_matmul.push_back(fmt::format("{} {}", step, row.calls));
  }
  EXPECT_EQ(steps_with_matmul,
            (std::vector<std::string>{"qkv_step 6", "out_proj_step 2", "mlp_step 6", "lm_head_step 1"}));
}

// Heads are dimensions of a row, not rows of their own.
TEST_F(DecodeCost, TheMatmulOfAStepHasItsProducts) {
  decode_cost(*model_.model, kContext, DType::kF16, /*profiling=*/true);
  const uint64_t out_proj = kLayers * 2 * kDim * kQ;
  uint64_t matmul = 0;
  bool inside = false;
  for (const metrics::Profile::Row& row : model_.model->backend().profile().rows()) {
    if (row.depth == 0) inside = row.name == "out_proj_step";
    if (inside && row.name == "matmul") matmul += row.cost.flops;
  }
  EXPECT_EQ(matmul, out_proj);
}

TEST(DecodeCostOfWindows, AWindowBoundsWhatAttentionReads) {
  const std::vector<std::byte> bytes = test::TinyModel({.arch = "llama", .n_layers = 1, .window = 4}).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  constexpr uint64_t kPosition = 2 * 2 * 8 * 4;  // k and v, heads, head size, bytes
  EXPECT_EQ(decode_cost(*loaded.model, 3, DType::kF32).kv_bytes, (1 + 3) * kPosition);
  EXPECT_EQ(decode_cost(*loaded.model, 30, DType::kF32).kv_bytes, (1 + 4) * kPosition);
}

}  // namespace
}  // namespace inferno
