#include "model/synthetic_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/tiny_preset.h"

namespace inferno::test {
namespace {

bool has(const std::vector<model::SyntheticTensor>& tensors, std::string_view name) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const model::SyntheticTensor& t) { return t.name == name; });
}

TEST(SyntheticTensors, AreThoseOfTheFamily) {
  const auto qwen = model::synthetic_tensors(tiny_preset("qwen3-0.6b"));
  EXPECT_TRUE(has(qwen, "blk.1.attn_q_norm.weight"));
  EXPECT_FALSE(has(qwen, "blk.2.attn_norm.weight"));
  EXPECT_FALSE(has(qwen, "output.weight"));
  EXPECT_FALSE(has(qwen, "rope_freqs.weight"));
  EXPECT_TRUE(has(model::synthetic_tensors(tiny_preset("qwen3-8b")), "output.weight"));
  EXPECT_TRUE(has(model::synthetic_tensors(tiny_preset("llama-3.2-1b")), "rope_freqs.weight"));
  EXPECT_TRUE(has(model::synthetic_tensors(tiny_preset("gemma-3-1b")), "blk.0.post_ffw_norm.weight"));
  model::Preset biased = tiny_preset("qwen3-0.6b");
  biased.arch = "qwen2";
  EXPECT_TRUE(has(model::synthetic_tensors(biased), "blk.0.attn_k.bias"));
}

}  // namespace
}  // namespace inferno::test
