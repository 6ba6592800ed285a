#include "bench/speculation.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/load.h"
#include "support/tiny_model.h"

namespace inferno::bench {
namespace {

class SpeculationReplayTest : public testing::Test {
 protected:
  Result<SpeculationReplay> replay(const std::vector<int32_t>& text, SpeculationOptions options = {}) {
    options.prompt_tokens = 40;
    options.new_tokens = 60;
    options.clock = &clock_;  // a pass takes one look, however many tokens it has
    return replay_with_speculation(loaded_, text, options);
  }

  std::vector<std::byte> bytes_ = test::TinyModel({}).bytes();
  model::LoadedModel loaded_ = test::load_bytes(bytes_);
  test::TickingClock clock_;
};

std::vector<int32_t> loop() {
  std::vector<int32_t> text;
  for (int32_t i = 0; i < 100; ++i) text.push_back(i % 10);
  return text;
}

TEST_F(SpeculationReplayTest, WhatRepeatsItselfGains) {
  const SpeculationReplay loop_replay = replay(loop()).value();
  EXPECT_EQ(loop_replay.guesses.accepted, loop_replay.guesses.drafted);
  EXPECT_EQ(static_cast<uint64_t>(loop_replay.n_passes) + loop_replay.guesses.accepted, 60u);
  EXPECT_GT(loop_replay.gain(), 4);
  std::vector<int32_t> counting;
  for (int32_t i = 0; i < 100; ++i) counting.push_back(i);
  const SpeculationReplay plain = replay(counting).value();
  EXPECT_EQ(plain.n_passes, 60);
  EXPECT_EQ(plain.guesses.drafted, 0u);
}

TEST_F(SpeculationReplayTest, AScreenOfTheHeadIsTimedBesides) {
  EXPECT_FALSE(replay(loop()).value().screened.has_value());
  loaded_ = model::load_from_gguf(
                gguf::File::from_memory(bytes_, "tiny.gguf").value(),
                backend::create_backend("simd", {.screened_heads = backend::ScreenedHeads::kAll}).value())
                .value();
  const SpeculationReplay beside = replay(loop()).value();
  ASSERT_TRUE(beside.screened.has_value());
  EXPECT_EQ(beside.screened->use.passes, 60u);
  EXPECT_GT(beside.screened->use.screened, 0u);
  EXPECT_DOUBLE_EQ(beside.screened->s, beside.plain_s) << "a token takes one pass, as without";
}

TEST_F(SpeculationReplayTest, RefusesAShortTextAndStopsWhenAsked) {
  EXPECT_NE(replay({1, 2, 3}).error().message.find("the text has 3 tokens, expected at least 100"),
            std::string::npos);
  SpeculationOptions options;
  options.cancelled = [] { return true; };
  EXPECT_EQ(replay(loop(), options).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace inferno::bench
