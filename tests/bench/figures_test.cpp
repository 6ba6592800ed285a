#include "bench/figures.h"

#include <gtest/gtest.h>

#include "support/bench_reports.h"

namespace inferno::test {
namespace {

using bench::Bound;

// Three tokens: 10 ms of prefill, passes of 4 and 6 ms, 1 ms of sampling a token, 0.5 ms of text a token.
bench::Trial three_tokens() {
  bench::Trial trial;
  trial.prefill = milliseconds(10);
  trial.decode = milliseconds(10);
  trial.sampling = milliseconds(3);
  trial.detokenization = microseconds(1500);
  trial.other = microseconds(500);
  trial.wall = milliseconds(25);
  trial.ttft = milliseconds(11);
  trial.steps = {microseconds(5500), microseconds(7500)};
  trial.generated_tokens = 3;
  trial.prefill_cost = {
      .weight_bytes = 100'000'000, .kv_bytes = 0, .activation_bytes = 0, .flops = 2'400'000'000};
  trial.decode_cost = {.weight_bytes = 160'000'000,
                       .kv_bytes = 30'000'000,
                       .activation_bytes = 10'000'000,
                       .flops = 300'000'000};
  return trial;
}

bench::ConfigResult result_of(std::vector<bench::Trial> trials) {
  bench::ConfigResult result;
  result.prompt_tokens = 20;
  result.trials = std::move(trials);
  return result;
}

TEST(Figures, FollowFromATrialWorkedOutByHand) {
  const auto f = bench::figures(result_of({three_tokens()}), make_setting());
  ASSERT_TRUE(f);
  EXPECT_EQ(f->generated_tokens, 3);
  EXPECT_DOUBLE_EQ(f->wall_s.p50, 0.025);
  EXPECT_DOUBLE_EQ(f->ttft_ms.p50, 11);
  EXPECT_DOUBLE_EQ(f->prompt_tps.p50, 2000);
  EXPECT_DOUBLE_EQ(f->e2e_tps.p50, 120);                    // 3 / 25 ms
  EXPECT_DOUBLE_EQ(f->decode_tps->p50, 2 / 0.013);          // 2 tokens, 5.5 + 7.5 ms
  EXPECT_DOUBLE_EQ(f->decode_forward_tps->p50, 2 / 0.010);  // the passes alone
  EXPECT_DOUBLE_EQ(f->decode_seed_tps->p50, 3 / 0.010);     // N instead of N - 1
  EXPECT_DOUBLE_EQ(f->step_ms->mean, 6.5);
  EXPECT_DOUBLE_EQ(f->step_ms->min, 5.5);
  EXPECT_DOUBLE_EQ(f->step_ms->max, 7.5);
  EXPECT_DOUBLE_EQ(f->bytes_per_token, 100e6);
  EXPECT_DOUBLE_EQ(f->decode->gb_per_s, 20);
  EXPECT_DOUBLE_EQ(f->decode->gflop_per_s, 30);
  EXPECT_DOUBLE_EQ(f->decode->flops_per_byte, 1.5);
}

TEST(Figures, SharesSumToOne) {
  const auto f =
      bench::figures(result_of({three_tokens(), make_trial(64, 64, microseconds(777))}), make_setting());
  const bench::Shares& s = f->shares;
  EXPECT_NEAR(s.prefill + s.decode + s.sampling + s.detokenization + s.other, 1, 1e-12);
  const auto one = bench::figures(result_of({three_tokens()}), make_setting());
  EXPECT_DOUBLE_EQ(one->shares.prefill, 0.4);
  EXPECT_DOUBLE_EQ(one->shares.sampling, 0.12);
  EXPECT_DOUBLE_EQ(one->shares.detokenization, 0.06);
}

TEST(StalledShare, IsWhatLongStepsTookBeyondTheMiddleOne) {
  bench::Trial trial = make_trial(64, 11, milliseconds(10));
  EXPECT_EQ(bench::stalled_share(trial), 0.0);
  trial.steps[3] = milliseconds(20);  // twice the middle one is no stall yet
  EXPECT_EQ(bench::stalled_share(trial), 0.0);
  trial.steps[5] = milliseconds(90);
  EXPECT_DOUBLE_EQ(*bench::stalled_share(trial), 80.0 / 190);
}

// A pass without a KV cache takes longer with each token, one with it hardly so: neither is a stall.
TEST(StalledShare, IsNothingWhereStepsGrowWithTheText) {
  bench::Trial trial = make_trial(1, 101, milliseconds(1));
  for (size_t i = 0; i < trial.steps.size(); ++i) trial.steps[i] = milliseconds(1) * (i + 1);
  EXPECT_EQ(bench::stalled_share(trial), 0.0);
}

TEST(StalledShare, IsNotKnownOfFewStepsOrOfNoTime) {
  EXPECT_FALSE(bench::stalled_share(make_trial(64, 8, milliseconds(10))));
  EXPECT_TRUE(bench::stalled_share(make_trial(64, 9, milliseconds(10))));
  EXPECT_FALSE(bench::stalled_share(make_trial(64, 9, microseconds(0))));
}

TEST(Figures, StallsAreThoseOfTheMiddleTrial) {
  bench::Trial stalled = make_trial(64, 11, milliseconds(10));
  stalled.steps[5] = milliseconds(110);
  const bench::Trial quiet = make_trial(64, 11, milliseconds(10));
  EXPECT_EQ(bench::figures(result_of({quiet, stalled, quiet}), make_setting())->stalled, 0.0);
  EXPECT_DOUBLE_EQ(*bench::figures(result_of({stalled, quiet, stalled}), make_setting())->stalled, 0.5);
  EXPECT_FALSE(bench::figures(result_of({three_tokens()}), make_setting())->stalled);
}

TEST(OfCeiling, OfWhatLiesInCachesIsThatOfTheArithmetic) {
  const metrics::Cost cost{.weight_bytes = 200'000'000, .flops = 300'000'000};
  bench::Limits limits = bench::limits(make_setting().ceilings, make_setting().device, "Q8_0");
  EXPECT_DOUBLE_EQ(bench::of_ceiling(cost, 0.010, limits)->pct, 50);  // 200 MB at 40 GB/s
  limits.read_gb_per_s.reset();
  const auto of = bench::of_ceiling(cost, 0.010, limits);
  EXPECT_DOUBLE_EQ(of->pct, 10);
  EXPECT_EQ(of->bound, Bound::kArithmetic);
  EXPECT_TRUE(of->partial);
  EXPECT_FALSE(bench::of_ceiling(cost, 0.010, {}));
  EXPECT_FALSE(bench::of_ceiling(cost, 0, limits));
  EXPECT_FALSE(bench::limits({}, make_setting().device, "Q8_0").read_gb_per_s);
}

TEST(OfCeiling, AttentionIsComputedInFp32WhateverTheProductsAre) {
  const metrics::Cost cost{.flops = 600'000'000, .attention_flops = 300'000'000};
  bench::Limits limits{.gops = 300, .arithmetic = "int8", .fp32_gops = 100};
  const auto of = bench::of_ceiling(cost, 0.010, limits);  // 1 ms and 3 ms
  EXPECT_DOUBLE_EQ(of->pct, 40);
  EXPECT_EQ(of->ceiling, "300.0 G int8/s, attention 100.0 G fp32/s");
  limits.arithmetic = "bf16";
  EXPECT_DOUBLE_EQ(bench::of_ceiling(cost, 0.010, limits)->pct, 40);
  limits.arithmetic = "fp32";
  EXPECT_DOUBLE_EQ(bench::of_ceiling(cost, 0.010, limits)->pct, 20);
  limits = {.gops = 300, .arithmetic = "int8"};
  EXPECT_DOUBLE_EQ(bench::of_ceiling(cost, 0.010, limits)->pct, 20);
}

TEST(Figures, NameTheCeilingThatBinds) {
  // 40 GB/s: 200 MB take 5 ms, of 10. 300 G int8/s: 300 M operations take 1 ms.
  const auto f = bench::figures(result_of({three_tokens()}), make_setting());
  EXPECT_EQ(f->decode->of_ceiling->bound, Bound::kMemory);
  EXPECT_DOUBLE_EQ(f->decode->of_ceiling->pct, 50);
  EXPECT_EQ(f->decode->of_ceiling->ceiling, "40.0 GB/s read");
  // 100 MB take 2.5 ms; 2.4 G operations 8 ms, of 10.
  EXPECT_EQ(f->prefill->of_ceiling->bound, Bound::kArithmetic);
  EXPECT_DOUBLE_EQ(f->prefill->of_ceiling->pct, 80);
  EXPECT_EQ(f->prefill->of_ceiling->ceiling, "300.0 G int8/s");
  EXPECT_FALSE(f->prefill->of_ceiling->partial);
}

TEST(Figures, WhatWasNotReadCountsForAllBytes) {
  bench::Trial trial = three_tokens();  // 200 MB in 10 ms: 50 % of 40 GB/s
  EXPECT_FALSE(bench::figures(result_of({trial}), make_setting())->decode_of_all_bytes);
  // Three passes, of which the prompt's is none of decode: 20 MB less in each of the other two.
  trial.head_screen = {.passes = 3, .screened = 3, .head_bytes = 150'000'000, .read_bytes = 90'000'000};
  const auto f = bench::figures(result_of({trial}), make_setting());
  EXPECT_DOUBLE_EQ(f->decode->of_ceiling->pct, 50);
  ASSERT_TRUE(f->decode_of_all_bytes);
  EXPECT_DOUBLE_EQ(f->decode_of_all_bytes->pct, 60);  // 240 MB
  EXPECT_DOUBLE_EQ(f->bytes_per_token, 100e6);
  // Of trials, the middle one: with 50, 50 and 60 %.
  const auto mixed = bench::figures(result_of({three_tokens(), trial, three_tokens()}), make_setting());
  EXPECT_DOUBLE_EQ(mixed->decode_of_all_bytes->pct, 50);
  // As many bytes again that the file has and nobody reads: 440 MB.
  trial.decode_cost.spared_bytes = 200'000'000;
  EXPECT_DOUBLE_EQ(bench::figures(result_of({trial}), make_setting())->decode_of_all_bytes->pct, 110);
  EXPECT_DOUBLE_EQ(bench::figures(result_of({trial}), make_setting())->decode->of_ceiling->pct, 50);
  // A screen that read more than the head does not add to the file's: 400 MB less 20 in each of two passes.
  trial.head_screen.read_bytes = 210'000'000;
  EXPECT_DOUBLE_EQ(bench::figures(result_of({trial}), make_setting())->decode_of_all_bytes->pct, 90);
  trial.decode_cost.spared_bytes = 0;
  trial.head_screen.read_bytes = 151'000'000;  // a screen that saved nothing
  EXPECT_FALSE(bench::figures(result_of({trial}), make_setting())->decode_of_all_bytes);
}

TEST(Figures, TheArithmeticIsTheBestThatTheWeightsAllow) {
  bench::Setting setting = make_setting();
  setting.ceilings.peaks = {{"fp32", "a", 2, 100}, {"bf16", "a", 2, 200},          {"fp16", "a", 2, 90},
                            {"int8", "a", 2, 400}, {"int8_in_int16", "a", 2, 500}, {"int8", "a", 1, 900}};
  const auto limit = [&](const char* dtype) {
    setting.dtype = dtype;
    const bench::Limits limits = bench::limits(setting);
    return fmt::format("{} {}", limits.arithmetic, limits.gops.value_or(0));
  };
  EXPECT_EQ(limit("F32"), "fp32 100");
  EXPECT_EQ(limit("BF16"), "bf16 200");
  EXPECT_EQ(limit("F16"), "fp32 100");
  EXPECT_EQ(limit("Q8_0"), "int8 400");
  EXPECT_EQ(limit("IQ4_XS"), "int8 400");
  EXPECT_EQ(limit("Q4_K"), "int8_in_int16 500");
  EXPECT_EQ(limit("Q6_K"), "int8_in_int16 500");
}

TEST(Figures, OfAGpuTheArithmeticIsThatOfItsMatrixUnits) {
  bench::Setting setting = make_setting();
  setting.device = {.backend = "cuda", .device = "NVIDIA H200", .isa = "sm_90"};
  setting.ceilings.peaks = {{"bf16", "sm_90", 1, 700000}};
  for (const char* dtype : {"BF16", "F16", "Q8_0", "Q4_K"}) {
    setting.dtype = dtype;
    EXPECT_EQ(bench::limits(setting).arithmetic, "bf16") << dtype;
    EXPECT_EQ(bench::limits(setting).gops, 700000) << dtype;
  }
  setting.dtype = "F32";
  EXPECT_FALSE(bench::limits(setting).gops) << "its matrix units compute no float32";
}

TEST(Figures, WithoutCeilingsThereIsNoShareAndWithOneItIsPartial) {
  bench::Setting setting = make_setting();
  setting.ceilings.peaks.clear();
  const auto one = bench::figures(result_of({three_tokens()}), setting);
  EXPECT_EQ(one->prefill->of_ceiling->bound, Bound::kMemory);
  EXPECT_DOUBLE_EQ(one->prefill->of_ceiling->pct, 25);
  EXPECT_TRUE(one->prefill->of_ceiling->partial);
  setting.ceilings = {};
  const auto none = bench::figures(result_of({three_tokens()}), setting);
  EXPECT_FALSE(none->prefill->of_ceiling);
  EXPECT_FALSE(none->decode->of_ceiling);
  EXPECT_DOUBLE_EQ(none->decode->gb_per_s, 20);
}

TEST(Figures, QuartilesAreOverTrialsAndStepsOverAllTrials) {
  const auto f = bench::figures(
      make_result("short", {microseconds(1000), microseconds(3000), microseconds(2000)}), make_setting());
  EXPECT_EQ(f->decode_tps->n, 3u);
  EXPECT_NEAR(f->decode_tps->p50, 500, 1e-9);
  EXPECT_NEAR(f->decode_tps->p25, (1000.0 / 3 + 500) / 2, 1e-9);
  EXPECT_NEAR(f->decode_tps->p75, 750, 1e-9);
  EXPECT_EQ(f->step_ms->n, 3u * 63);
  EXPECT_DOUBLE_EQ(f->step_ms->p99, 3);
}

TEST(Figures, TrialsOfAnotherLengthThanTheLastAreLeftOut) {
  const bench::Trial full = make_trial(64, 64, microseconds(1000));
  const bench::Trial cut = make_trial(64, 9, microseconds(3000));
  const auto mixed = bench::figures(result_of({full, cut, cut}), make_setting());
  const auto alone = bench::figures(result_of({cut, cut}), make_setting());
  EXPECT_EQ(mixed->generated_tokens, 9);
  EXPECT_EQ(mixed->e2e_tps.n, 2u);
  EXPECT_DOUBLE_EQ(mixed->e2e_tps.p50, alone->e2e_tps.p50);
  EXPECT_DOUBLE_EQ(mixed->decode->of_ceiling->pct, alone->decode->of_ceiling->pct);
  EXPECT_EQ(mixed->step_ms->n, 2u * 8);
}

TEST(Figures, BandwidthAndItsShareAreMediansOfTheSameTrials) {
  bench::Trial slow = three_tokens();  // 20 GB/s, half of the ceiling
  slow.decode = milliseconds(100);
  bench::Trial fast = three_tokens();
  fast.decode = milliseconds(8);
  const auto f = bench::figures(result_of({fast, three_tokens(), slow}), make_setting());
  EXPECT_DOUBLE_EQ(f->decode->gb_per_s, 20);
  EXPECT_DOUBLE_EQ(f->decode->gflop_per_s, 30);
  EXPECT_DOUBLE_EQ(f->decode->of_ceiling->pct, 50);
}

TEST(Figures, ATrialIsHeldAgainstTheCeilingsBesideIt) {
  bench::Trial half = three_tokens();  // 20 GB/s; its prompt 240 G/s
  half.ceilings = {40, 300, "int8"};
  bench::Trial full = three_tokens();
  full.ceilings = {20, 240, "int8"};
  bench::Trial quarter = three_tokens();
  quarter.ceilings = {80, 480, "int8"};
  const auto f = bench::figures(result_of({quarter, full, half}), make_setting());
  EXPECT_DOUBLE_EQ(f->decode->of_ceiling->pct, 50);
  EXPECT_DOUBLE_EQ(f->prefill->of_ceiling->pct, 80);
  EXPECT_DOUBLE_EQ(*f->limits.read_gb_per_s, 40);
  EXPECT_DOUBLE_EQ(*f->limits.gops, 300);
  EXPECT_EQ(f->decode->of_ceiling->ceiling, "40.0 GB/s read");
  // No ceilings but those of a trial that took no time.
  bench::Setting setting = make_setting();
  setting.ceilings = {};
  half.decode = milliseconds(0);
  bench::Trial bare = three_tokens();
  EXPECT_FALSE(bench::figures(result_of({half, bare}), setting)->decode->of_ceiling);
  half = three_tokens();
  // What could not be measured beside it is the setting's.
  half.ceilings = {0, 0, "int8"};
  EXPECT_DOUBLE_EQ(bench::figures(result_of({half}), make_setting())->decode->of_ceiling->pct, 50);
}

TEST(Figures, ATrialIsHeldAgainstWhatTheMachineGaveMostOfTheTime) {
  bench::Trial trial = three_tokens();  // 20 GB/s; its prompt 240 G/s
  trial.ceilings = {40, 480, "int8"};
  EXPECT_FALSE(bench::figures(result_of({trial}), make_setting())->decode->of_ceiling->pct_of_typical);
  trial.ceilings->typical_read_gb_per_s = 25;
  trial.ceilings->typical_gops = 320;
  const auto f = bench::figures(result_of({trial}), make_setting());
  EXPECT_DOUBLE_EQ(f->decode->of_ceiling->pct, 50);
  EXPECT_DOUBLE_EQ(f->decode->of_ceiling->pct_of_typical.value_or(0), 80);
  EXPECT_DOUBLE_EQ(f->prefill->of_ceiling->pct_of_typical.value_or(0), 75);
}

// Of 10 ms: 1.2 G operations in matrices in 8, 30 M in attention in 1.
bench::Trial trial_with_parts() {
  bench::Trial trial = three_tokens();
  trial.prefill_cost.attention_flops = 30'000'000;
  trial.prompt_parts = {milliseconds(8), milliseconds(1), milliseconds(1), 1'200'000'000};
  return trial;
}

TEST(Figures, SayWhereTheTimeOfAPromptGoes) {
  EXPECT_FALSE(bench::figures(result_of({three_tokens()}), make_setting())->prompt_parts);
  bench::Trial slow = trial_with_parts();
  slow.prompt_parts = {milliseconds(12), milliseconds(1), milliseconds(7), 1'200'000'000};
  bench::Trial fast = trial_with_parts();
  fast.prompt_parts = {milliseconds(4), milliseconds(2), milliseconds(0), 1'200'000'000};
  // One that nobody profiled and one that took no time say nothing.
  bench::Trial timeless = trial_with_parts();
  timeless.prompt_parts = bench::PromptParts{};
  const auto f =
      bench::figures(result_of({slow, fast, three_tokens(), timeless, trial_with_parts()}), make_setting());
  ASSERT_TRUE(f->prompt_parts);
  EXPECT_DOUBLE_EQ(f->prompt_parts->matrices.share, 4.0 / 6);
  EXPECT_DOUBLE_EQ(f->prompt_parts->attention.share, 0.1);
  EXPECT_DOUBLE_EQ(f->prompt_parts->rest, 0.1);
  EXPECT_DOUBLE_EQ(f->prompt_parts->matrices.pct.value_or(0), 50);   // 150 of 300 G int8/s
  EXPECT_DOUBLE_EQ(f->prompt_parts->attention.pct.value_or(0), 30);  // 30 of 100 G fp32/s
  EXPECT_FALSE(f->prompt_parts->matrices.pct_of_typical);
}

TEST(Figures, PartsOfAPromptAreHeldAgainstTheArithmeticThatTheyAreComputedIn) {
  bench::Trial trial = trial_with_parts();
  trial.ceilings = {40, 600, "int8", 60, 0, 200, 15};
  const auto f = bench::figures(result_of({trial}), make_setting())->prompt_parts;
  EXPECT_DOUBLE_EQ(f->matrices.pct.value_or(0), 25);
  EXPECT_DOUBLE_EQ(f->matrices.pct_of_typical.value_or(0), 75);
  EXPECT_DOUBLE_EQ(f->attention.pct.value_or(0), 50);
  EXPECT_DOUBLE_EQ(f->attention.pct_of_typical.value_or(0), 200);
  bench::Setting setting = make_setting();
  setting.ceilings.peaks = {{"int8", "avx2", 2, 300}};
  const auto without = bench::figures(result_of({trial_with_parts()}), setting)->prompt_parts;
  EXPECT_TRUE(without->matrices.pct);
  EXPECT_FALSE(without->attention.pct);
  EXPECT_DOUBLE_EQ(without->attention.share, 0.1);
}

TEST(Figures, WhatWasNotMeasuredIsAbsent) {
  EXPECT_FALSE(bench::figures(result_of({}), make_setting()));
  bench::Trial one_token = three_tokens();
  one_token.steps.clear();
  one_token.decode = milliseconds(0);
  one_token.generated_tokens = 1;
  const auto f = bench::figures(result_of({one_token}), make_setting());
  EXPECT_FALSE(f->decode_tps);
  EXPECT_FALSE(f->decode_forward_tps);
  EXPECT_FALSE(f->decode_seed_tps);
  EXPECT_FALSE(f->step_ms);
  EXPECT_FALSE(f->decode);
  EXPECT_EQ(f->bytes_per_token, 0);
  EXPECT_TRUE(bench::figures(result_of({bench::Trial{}}), make_setting()));
}

}  // namespace
}  // namespace inferno::test
