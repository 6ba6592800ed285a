#include "bench/suite.h"

#include <gtest/gtest.h>

namespace inferno::test {
namespace {

TEST(Suite, HasTheSeedsConfigurationsUnderBothNames) {
  struct Row {
    const char *key, *report_name;
    int64_t prompt, gen;
    float temperature, top_p, penalty;
    int32_t top_k;
  };
  constexpr Row kRows[] = {
      {"short", "short-greedy", 64, 64, 0, 1, 1, 0},
      {"medium", "medium-greedy", 256, 256, 0, 1, 1, 0},
      {"prefill", "prefill-heavy", 1024, 64, 0, 1, 1, 0},
      {"decode", "decode-heavy", 64, 1024, 0, 1, 1, 0},
      {"long", "long-context", 1024, 1024, 0, 1, 1, 0},
      {"sampled", "medium-sampled", 256, 256, 0.8f, 0.9f, 1, 50},
      {"full-pipe", "medium-full-pipeline", 256, 256, 0.8f, 0.9f, 1.1f, 50},
  };
  ASSERT_EQ(bench::configs().size(), std::size(kRows));
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const Row& row = kRows[i];
    const bench::Config& config = bench::configs()[i];
    EXPECT_EQ(config.key, row.key);
    EXPECT_EQ(config.report_name, row.report_name);
    EXPECT_EQ(config.prompt_tokens, row.prompt);
    EXPECT_EQ(config.max_new_tokens, row.gen);
    EXPECT_EQ(config.sampling.temperature, row.temperature);
    EXPECT_EQ(config.sampling.top_k, row.top_k);
    EXPECT_EQ(config.sampling.top_p, row.top_p);
    EXPECT_EQ(config.sampling.repetition_penalty, row.penalty);
    EXPECT_EQ(config.sampling.seed, 42u);
    EXPECT_EQ(bench::find_config(row.key)->report_name, row.report_name);
    EXPECT_EQ(bench::find_config(row.report_name)->key, row.key);
  }
}

TEST(Suite, TiersAreThoseOfTheSeed) {
  const auto keys = [](const char* tier) {
    std::string text;
    for (const bench::Config& config : bench::suite(tier).value()) text += config.key + " ";
    return text;
  };
  EXPECT_EQ(keys("quick"), "short medium ");
  EXPECT_EQ(keys("standard"), "short medium prefill decode sampled ");
  EXPECT_EQ(keys("full"), "short medium prefill decode long sampled full-pipe ");
}

TEST(Suite, UnknownNamesGetTheNearest) {
  const auto tier = bench::suite("fulll");
  ASSERT_FALSE(tier.ok());
  EXPECT_EQ(tier.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(tier.error().message,
            "suite: expected one of quick, standard, full, found \"fulll\"; did you mean full?");
  const auto config = bench::find_config("medum");
  ASSERT_FALSE(config.ok());
  EXPECT_NE(config.error().message.find("did you mean medium?"), std::string::npos) << config.error().message;
  EXPECT_FALSE(bench::suite("").ok());
  EXPECT_EQ(bench::suite("\x1b[31m").error().message.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace inferno::test
