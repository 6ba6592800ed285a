#include "bench/runner.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/text.h"
#include "engine/engine.h"
#include "model/presets.h"
#include "support/fake_clock.h"
#include "support/load.h"
#include "support/tiny_model.h"

namespace inferno::bench {
namespace {

using std::chrono::milliseconds;

Config config(int64_t prompt, int64_t n) {
  Config config;
  config.key = "test";
  config.prompt_tokens = prompt;
  config.max_new_tokens = n;
  return config;
}

double seconds(Nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

class RunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = test::TinyModel({}).bytes();
    loaded_ = test::load_bytes(bytes_);
  }
  std::vector<ConfigResult> run(const std::vector<Config>& configs, const RunOptions& options,
                                const OnProgress& on_progress = {}) {
    Runner runner(loaded_, options, on_progress, nullptr, clock_);
    auto results = runner.run(configs);
    if (!results) throw std::runtime_error(results.error().message);
    return *results;
  }

  std::vector<std::byte> bytes_;
  model::LoadedModel loaded_;
  test::TickingClock clock_;
};

TEST_F(RunnerTest, EveryTrialHasTheConfigsLengthAndItsPartsSumToTheWall) {
  const auto results =
      run({config(5, 4), config(engine::kPrefillChunk + 72, 2)}, {.warmup_runs = 1, .trials = 3});
  ASSERT_EQ(results.size(), 2u);
  for (const ConfigResult& result : results) {
    EXPECT_EQ(result.warmup_runs, 1);
    ASSERT_EQ(result.trials.size(), 3u);
    EXPECT_FALSE(result.cut);
    for (const Trial& trial : result.trials) {
      EXPECT_EQ(trial.generated_tokens, result.config.max_new_tokens);
      EXPECT_EQ(trial.steps.size() + 1, static_cast<size_t>(trial.generated_tokens));
      EXPECT_EQ(trial.prefill + trial.decode + trial.sampling + trial.detokenization + trial.other,
                trial.wall);
      EXPECT_GT(trial.other.count(), 0);
      EXPECT_GT(trial.decode_cost.weight_bytes, 0u);
    }
  }
  // The ticking clock gives one millisecond to each pass: two chunks of the long prompt, each token once.
  EXPECT_EQ(results[0].trials[0].prefill, milliseconds(1));
  EXPECT_EQ(results[1].trials[0].prefill, milliseconds(2));
  EXPECT_EQ(results[0].trials[0].decode, milliseconds(3));
  // F16: 2 bytes of K and of V for 2 layers of 2 heads of 8.
  EXPECT_EQ(results[0].cache_bytes, (5u + 4u) * 2 * 2 * 2 * 8 * 2);
}

// By the real clock, as operations are timed.
TEST_F(RunnerTest, EveryTrialHasThePartsOfItsPrompt) {
  for (const bool use_kv_cache : {true, false}) {
    loaded_ = test::load_bytes(bytes_, "parallel");
    Runner runner(loaded_, {.warmup_runs = 1, .trials = 2, .use_kv_cache = use_kv_cache});
    const auto results = runner.run({config(engine::kPrefillChunk + 72, 4)});
    ASSERT_TRUE(results.ok());
    for (const Trial& trial : results->front().trials) {
      ASSERT_TRUE(trial.prompt_parts);
      const PromptParts& parts = *trial.prompt_parts;
      EXPECT_GT(parts.matrices.count(), 0);
      EXPECT_GT(parts.attention.count(), 0);
      EXPECT_GT(parts.rest.count(), 0);
      EXPECT_LE(seconds(parts.matrices + parts.attention + parts.rest), 1.05 * seconds(trial.prefill));
      EXPECT_GT(parts.matrix_flops, 0u);
      EXPECT_LE(parts.matrix_flops, trial.prefill_cost.flops - trial.prefill_cost.attention_flops);
    }
    // The two chunks of the last prompt, and nothing of what came after.
    metrics::Profile& profile = loaded_.model->backend().profile();
    EXPECT_EQ(profile.total("embed").calls, 2u);
    test::all_logits(*loaded_.model, std::vector<int32_t>{1, 2});
    EXPECT_EQ(profile.total("embed").calls, 2u);
  }
}

TEST_F(RunnerTest, APromptThatIsGivenUpIsProfiledNoLonger) {
  std::atomic<bool> cancelled{false};
  Runner runner(
      loaded_, {.warmup_runs = 0, .trials = 1}, [&](const Progress&) { cancelled = true; }, &cancelled,
      clock_);
  ASSERT_TRUE(runner.run({config(engine::kPrefillChunk + 72, 4)}).ok());
  metrics::Profile& profile = loaded_.model->backend().profile();
  EXPECT_EQ(profile.total("embed").calls, 1u);
  test::all_logits(*loaded_.model, std::vector<int32_t>{1, 2});
  EXPECT_EQ(profile.total("embed").calls, 1u);
}

TEST_F(RunnerTest, EveryTrialHasCeilingsWhereTheyAreAskedFor) {
  for (const bool asked : {false, true}) {
    const auto results = run({config(5, 4)}, {.warmup_runs = 1, .trials = 2, .measures_ceilings = asked});
    ASSERT_EQ(results[0].trials.size(), 2u);
    for (const Trial& trial : results[0].trials) {
      ASSERT_EQ(trial.ceilings.has_value(), asked);
      EXPECT_GT(trial.ceilings.value_or(backend::CeilingsNow{1, 1, ""}).gops, 0);
    }
  }
}

// A host that takes 100 ms during every run whose number is in `disturbed`, warm-ups included.
std::function<std::optional<Nanoseconds>()> host_that_disturbs(const std::set<int>& disturbed) {
  return [disturbed, calls = 0, stolen = Nanoseconds(0)]() mutable {
    const bool is_after_a_run = calls % 2 == 1;
    if (is_after_a_run && disturbed.contains(calls / 2)) stolen += milliseconds(100);
    ++calls;
    return std::optional(stolen);
  };
}

TEST_F(RunnerTest, ThereAreMoreTrialsUntilEnoughAreUndisturbed) {
  const RunOptions options = {.warmup_runs = 1, .trials = 3, .stolen_time = host_that_disturbs({0, 1, 3})};
  const auto results = run({config(5, 4)}, options);
  ASSERT_EQ(results[0].trials.size(), 3u);
  EXPECT_EQ(results[0].warmup_runs, 1);
  EXPECT_EQ(results[0].disturbed_trials, 2);
  for (const Trial& trial : results[0].trials) EXPECT_EQ(trial.stolen, 0.0);
  EXPECT_EQ(results[0].note,
            "2 more trials were run, since the host gave processor time to others (steal) or moved "
            "processors during some; the 3 least disturbed are used");
}

TEST_F(RunnerTest, AHostThatDisturbsAllTrialsIsNamed) {
  std::set<int> all;
  for (int i = 0; i < 100; ++i) all.insert(i);
  RunOptions options = {.warmup_runs = 0, .trials = 2, .stolen_time = host_that_disturbs(all)};
  const auto again = run({config(5, 4)}, options);
  ASSERT_EQ(again[0].trials.size(), 2u);
  EXPECT_EQ(again[0].disturbed_trials, 2);
  EXPECT_EQ(again[0].trials[0].stolen, 1.0) << "no more than all";
  EXPECT_NE(again[0].note.find("the host took up to 100 % of"), std::string::npos) << again[0].note;
  options.max_seconds = 1000;
  EXPECT_EQ(run({config(5, 4)}, options)[0].disturbed_trials, 0);
}

// Of 60 ns there and back, but for 300 in these readings: two before the first trial and two after each.
TEST_F(RunnerTest, ATrialInWhichTheHostMovesProcessorsIsDisturbed) {
  const auto trips = [](const std::set<int>& moved) {
    return [moved, readings = 0](unsigned) mutable {
      return std::optional(Nanoseconds(moved.contains(readings++) ? 300 : 60));
    };
  };
  // The second trial, between readings 3 and 4; the third, whose ceilings it is that stand apart.
  const auto results = run({config(5, 4)}, {.warmup_runs = 1, .trials = 2, .line_trip = trips({4, 5})});
  ASSERT_EQ(results[0].trials.size(), 2u);
  EXPECT_EQ(results[0].disturbed_trials, 2);
  for (const Trial& trial : results[0].trials) {
    ASSERT_TRUE(trial.line_trips.has_value());
    EXPECT_EQ(trial.line_trips->longest, Nanoseconds(60));
  }
  EXPECT_EQ(results[0].note.find("moved processors nearer"), std::string::npos) << results[0].note;
  std::set<int> every_other;
  for (int i = 0; i < 100; i += 2) every_other.insert(i);
  const auto all = run({config(5, 4)}, {.warmup_runs = 0, .trials = 2, .line_trip = trips(every_other)});
  EXPECT_EQ(all[0].disturbed_trials, 2);
  EXPECT_NE(all[0].note.find("during 2 of the trials used the host moved processors"), std::string::npos)
      << all[0].note;
}

// The system counts in steps of 10 ms, and its count may go back when a machine moves to another host.
TEST_F(RunnerTest, AStepOfTheCountOrOneBackIsNoDisturbance) {
  for (const auto step : {milliseconds(10), milliseconds(-500)}) {
    const auto host = [step, stolen = Nanoseconds(0)]() mutable { return std::optional(stolen += step); };
    const auto results = run({config(5, 4)}, {.warmup_runs = 0, .trials = 2, .stolen_time = host});
    EXPECT_EQ(results[0].disturbed_trials, 0);
    EXPECT_EQ(results[0].trials[0].stolen, 0.0);
    EXPECT_EQ(results[0].note, "");
  }
}

// A millisecond a look, but a second at every hundredth: a host that no count of the system's tells of.
class StallingClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override {
    clock_.advance(++looks_ % 100 == 0 ? milliseconds(1000) : milliseconds(1));
    return clock_.now();
  }

 private:
  mutable test::FakeClock clock_;
  mutable int looks_ = 0;
};

TEST_F(RunnerTest, ADecodeThatStandsStillIsNamedAndItsTrialsCount) {
  const StallingClock clock;
  for (const bool stalls : {false, true}) {
    Runner runner(loaded_, {.warmup_runs = 0, .trials = 3}, {}, nullptr,
                  stalls ? static_cast<const Clock&>(clock) : clock_);
    const auto results = runner.run({config(5, 64)});
    ASSERT_TRUE(results.ok());
    const std::string& note = results->front().note;
    EXPECT_EQ(note.find("decode stood still for ") != std::string::npos, stalls) << note;
    EXPECT_EQ(results->front().trials.size(), 3u);
    EXPECT_EQ(results->front().disturbed_trials, 0);
  }
}

TEST_F(RunnerTest, WithoutCacheEachTokenReadsEverythingAgain) {
  const auto with = run({config(5, 4)}, {.warmup_runs = 0, .trials = 1});
  const auto without = run({config(5, 4)}, {.warmup_runs = 0, .trials = 1, .use_kv_cache = false});
  EXPECT_GT(without[0].trials[0].decode_cost.flops, 4 * with[0].trials[0].decode_cost.flops);
}

TEST_F(RunnerTest, AConfigBeyondTheContextIsNotRunAndSaysWhy) {
  const auto results = run({config(400, 200), config(4, 2)}, {.warmup_runs = 0, .trials = 1});
  EXPECT_TRUE(results[0].trials.empty());
  EXPECT_EQ(results[0].note, "not run: the model's context has 512 positions, 599 are needed");
  EXPECT_EQ(results[1].trials.size(), 1u);
}

TEST_F(RunnerTest, MaxSecondsCutsRowsAndSaysSo) {
  // A run of 300 new tokens takes well over a second of the ticking clock.
  const auto results =
      run({config(4, 300), config(4, 300)}, {.warmup_runs = 0, .trials = 2, .max_seconds = 2});
  for (const ConfigResult& result : results) {
    ASSERT_EQ(result.trials.size(), 2u);
    EXPECT_TRUE(result.cut);
    EXPECT_LT(result.max_new_tokens, 300);
    EXPECT_GT(result.max_new_tokens, 10);
    EXPECT_EQ(result.trials[0].generated_tokens, result.trials[1].generated_tokens);
    EXPECT_EQ(result.note,
              fmt::format("cut by --max-seconds at {} of 300 new tokens", result.max_new_tokens));
  }
  const auto none = run({config(4, 3)}, {.warmup_runs = 0, .trials = 2, .max_seconds = 0.001});
  EXPECT_TRUE(none[0].trials.empty());
  EXPECT_EQ(none[0].note, "not run: --max-seconds was over before its first token");
}

double now(const Clock& clock) {
  return std::chrono::duration<double>(clock.now().time_since_epoch()).count();
}

TEST_F(RunnerTest, ScarceTimeDropsWarmUpsAndTheSuiteKeepsWithinIt) {
  const double begin = now(clock_);
  const auto results =
      run({config(4, 300), config(4, 20), config(4, 300)}, {.warmup_runs = 2, .trials = 3, .max_seconds = 2});
  // One token of this clock is less than 20 ms.
  EXPECT_LT(now(clock_) - begin, 2.02);
  EXPECT_TRUE(results[0].cut);
  for (const ConfigResult& result : results) {
    EXPECT_FALSE(result.trials.empty());
    EXPECT_EQ(result.warmup_runs, 0);
    EXPECT_NE(result.note.find("0 of 2 warm-up runs"), std::string::npos) << result.note;
  }
}

TEST_F(RunnerTest, ARowThatCannotFitIsSaidAtOnceAndItsTimeGoesToTheOthers) {
  // The ticking clock charges a pass by its layers, so without a cache every token costs as much as a prompt:
  // what makes the second row too dear is its length alone.
  const RunOptions options{.warmup_runs = 0, .trials = 1, .use_kv_cache = false, .max_seconds = 2};
  const double begin = now(clock_);
  const auto results = run({config(4, 12), config(400, 100), config(4, 12)}, options);
  EXPECT_LT(now(clock_) - begin, 2.02);
  EXPECT_TRUE(results[1].trials.empty());
  EXPECT_TRUE(results[1].note.starts_with("not run: its prompt of 400 and 16 new tokens take about "))
      << results[1].note;
  EXPECT_TRUE(results[1].note.ends_with("of --max-seconds are left for it")) << results[1].note;
  for (const size_t i : {size_t{0}, size_t{2}}) {
    EXPECT_EQ(results[i].note, "");
    EXPECT_EQ(results[i].trials.size(), 1u);
  }
}

TEST_F(RunnerTest, CeilingsTakeNoMoreThanTheirShareOfTheTime) {
  RunOptions options{.warmup_runs = 0, .trials = 2, .measures_ceilings = true, .max_seconds = 1};
  const auto none = run({config(4, 12)}, options);
  ASSERT_EQ(none[0].trials.size(), 2u);
  EXPECT_FALSE(none[0].trials[0].ceilings.has_value());
  EXPECT_EQ(none[0].note, "--max-seconds left time for 0 of 3 measurements of the machine's ceilings");
  options.max_seconds = 1000;
  const auto all = run({config(4, 12)}, options);
  ASSERT_EQ(all[0].trials.size(), 2u);
  EXPECT_TRUE(all[0].trials[1].ceilings.has_value());
  EXPECT_EQ(all[0].note, "");
}

TEST_F(RunnerTest, EnoughTimeChangesNothing) {
  const auto results =
      run({config(4, 5), config(8, 3)}, {.warmup_runs = 2, .trials = 3, .max_seconds = 1000});
  for (const ConfigResult& result : results) {
    EXPECT_EQ(result.warmup_runs, 2);
    EXPECT_EQ(result.trials.size(), 3u);
    EXPECT_EQ(result.note, "");
  }
}

TEST_F(RunnerTest, ProgressSaysWhereItIsAndWhatIsLeft) {
  std::vector<Progress> seen;
  run({config(4, 3), config(4, 3)}, {.warmup_runs = 1, .trials = 2},
      [&](const Progress& progress) { seen.push_back(progress); });
  ASSERT_EQ(seen.size(), 2u * 3 * 3);
  EXPECT_TRUE(seen.front().warmup);
  EXPECT_FALSE(seen.front().left_s.has_value());
  EXPECT_EQ(seen.back().config, 1u);
  EXPECT_EQ(seen.back().run, 1);
  EXPECT_EQ(seen.back().n_runs, 2);
  ASSERT_TRUE(seen.back().left_s.has_value());
  EXPECT_LT(*seen.back().left_s, seen.back().elapsed_s);
}

TEST_F(RunnerTest, AnInterruptKeepsWhatWasMeasured) {
  std::atomic<bool> cancelled{false};
  Runner runner(
      loaded_, {.warmup_runs = 0, .trials = 3},
      [&](const Progress& progress) {
        if (progress.run == 1 && progress.tokens == 2) cancelled = true;
      },
      &cancelled, clock_);
  const auto results = runner.run({config(4, 5), config(4, 5)});
  ASSERT_TRUE(results.ok());
  ASSERT_EQ(results->size(), 1u);
  EXPECT_EQ(results->front().trials.size(), 1u);
  EXPECT_EQ(results->front().note, "interrupted");
}

// The seed's log: MB of short, medium, prefill and long for its three models.
TEST(CacheBytes, ReproduceTheSeedsRows) {
  const std::pair<const char*, const char*> rows[] = {{"llama-3.2-1b", "4.2 16.8 35.7 67.1"},
                                                      {"qwen3-1.7b", "14.7 58.7 124.8 234.9"},
                                                      {"gemma-3-1b", "3.4 13.6 29.0 54.5"}};
  for (const auto& [name, expected] : rows) {
    const model::Preset& preset = *model::find_preset(name);
    const kv::Config config{.layers = std::vector<kv::LayerShape>(static_cast<size_t>(preset.n_layers),
                                                                  {preset.n_kv_heads, preset.head_dim}),
                            .dtype = DType::kF16};
    std::vector<std::string> mb;
    for (const int64_t tokens : {64 + 64, 256 + 256, 1024 + 64, 1024 + 1024}) {
      mb.push_back(fmt::format("{:.1f}", static_cast<double>(cache_bytes(config, tokens)) / 1e6));
    }
    EXPECT_EQ(join(mb, " "), expected) << name;
  }
}

TEST_F(RunnerTest, PromptsHaveExactlyTheirLength) {
  const Runner runner(loaded_, {.prompt = "ab"}, {}, nullptr, clock_);
  const auto unit = *loaded_.tokenizer->encode("ab");
  ASSERT_EQ(unit.size(), 2u);
  EXPECT_EQ(*runner.prompt_ids(5), (std::vector<int32_t>{unit[0], unit[1], unit[0], unit[1], unit[0]}));
  EXPECT_EQ(runner.prompt_ids(1)->size(), 1u);
}

}  // namespace
}  // namespace inferno::bench
