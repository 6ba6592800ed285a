// Every family at many shapes against an independent double-precision forward: needs no data beside the
// clone.
#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/load.h"
#include "support/oracle_forward.h"
#include "support/tiny_model.h"

namespace inferno {
namespace {

struct Case {
  const char* name;
  test::TinySpec spec;
  size_t n_ids;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

class Families : public testing::TestWithParam<Case> {};

TEST_P(Families, LogitsEqualTheOracle) {
  const std::vector<std::byte> bytes = test::TinyModel(GetParam().spec).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  const auto ids = test::random_ids(GetParam().n_ids, GetParam().spec.vocab_size, 7);
  const std::vector<float> exact = test::oracle_logits(loaded.model->file(), ids);
  EXPECT_LE(test::nmse(test::all_logits(*loaded.model, ids), exact), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Families,
    testing::Values(
        Case{"qwen3", {.arch = "qwen3"}, 20}, Case{"qwen3_one_token", {.arch = "qwen3"}, 1},
        Case{"qwen3_wide_heads",
             {.arch = "qwen3", .dim = 16, .n_heads = 4, .n_kv_heads = 1, .head_dim = 24},
             17},
        Case{"qwen3_untied", {.arch = "qwen3", .tied = false}, 9}, Case{"qwen2_bias", {.arch = "qwen2"}, 20},
        Case{"llama_interleaved", {.arch = "llama"}, 20},
        Case{"llama_rope_freqs", {.arch = "llama", .rope_theta = 500000.0f, .rope_freqs = true}, 33},
        Case{"llama_linear_scaling", {.arch = "llama", .rope_scale = 4.0f}, 33},
        Case{"llama_no_groups", {.arch = "llama", .n_heads = 4, .n_kv_heads = 4, .tied = false}, 12},
        Case{"llama_window", {.arch = "llama", .window = 5}, 21},
        Case{"gemma3", {.arch = "gemma3", .n_layers = 7, .window = 6, .rope_theta = 1e6f}, 25},
        Case{"gemma3_scaled_globals",
             {.arch = "gemma3",
              .n_layers = 13,
              .n_kv_heads = 1,
              .window = 4,
              .rope_theta = 1e6f,
              .rope_scale = 8.0f},
             19},
        Case{"several_attention_chunks", {.arch = "qwen3", .n_layers = 1, .dim = 16, .hidden_dim = 16}, 300}),
    [](const auto& case_info) { return case_info.param.name; });

void expect_like_the_oracle(const test::TinyModel& tiny) {
  const std::vector<std::byte> bytes = tiny.bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  const auto ids = test::random_ids(25, 300, 7);
  EXPECT_LE(test::nmse(test::all_logits(*loaded.model, ids), test::oracle_logits(loaded.model->file(), ids)),
            1e-10);
}

TEST(FamiliesPerLayer, KeyValueHeadsAndMlpWidthsDiffer) {
  test::TinyModel tiny({.arch = "qwen3", .n_layers = 3});
  const std::vector<uint32_t> kv_heads = {1, 4, 2};
  const std::vector<uint32_t> hidden = {24, 48, 16};
  tiny.set_array("qwen3.attention.head_count_kv", kv_heads);
  tiny.set_array("qwen3.feed_forward_length", hidden);
  for (size_t i = 0; i < kv_heads.size(); ++i) {
    const std::string blk = fmt::format("blk.{}.", i);
    tiny.add_tensor(blk + "attn_k.weight", {kv_heads[i] * int64_t{8}, 32}, 0.2);
    tiny.add_tensor(blk + "attn_v.weight", {kv_heads[i] * int64_t{8}, 32}, 0.2);
    tiny.add_tensor(blk + "ffn_gate.weight", {hidden[i], 32}, 0.2);
    tiny.add_tensor(blk + "ffn_up.weight", {hidden[i], 32}, 0.2);
    tiny.add_tensor(blk + "ffn_down.weight", {32, hidden[i]}, 0.2);
  }
  expect_like_the_oracle(tiny);
}

TEST(FamiliesPerLayer, WindowsByLayer) {
  test::TinyModel tiny({.arch = "gemma3", .n_layers = 4, .window = 6, .rope_theta = 1e6f});
  tiny.set_bools("gemma3.attention.sliding_window_pattern", {false, true, true, false});
  expect_like_the_oracle(tiny);
}

TEST(FamiliesPartialRotary, OnlyTheFirstDimensionsOfAHeadTurn) {
  for (const char* arch : {"llama", "qwen3"}) {
    test::TinyModel tiny({.arch = arch});
    tiny.set(std::string(arch) + ".rope.dimension_count", uint32_t{4});
    expect_like_the_oracle(tiny);
  }
}

// The tests above must be able to fail: what tells families apart shows in the distance.
TEST(FamiliesBound, AWrongEpsilonOrRopeBaseIsSeen) {
  for (const auto& [key, value] : {std::pair{"qwen3.attention.layer_norm_rms_epsilon", 1e-4f},
                                   std::pair{"qwen3.rope.freq_base", 10100.0f}}) {
    test::TinyModel right({.arch = "qwen3"});
    test::TinyModel wrong = right;
    wrong.set(key, value);
    const std::vector<std::byte> right_bytes = right.bytes();
    const std::vector<std::byte> wrong_bytes = wrong.bytes();
    const model::LoadedModel loaded = test::load_bytes(wrong_bytes);
    const auto file = gguf::File::from_memory(right_bytes, "right");
    const auto ids = test::random_ids(20, 300, 7);
    EXPECT_GT(test::nmse(test::all_logits(*loaded.model, ids), test::oracle_logits(*file, ids)), 1e-10)
        << key;
  }
}

}  // namespace
}  // namespace inferno
