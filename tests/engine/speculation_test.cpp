#include "engine/speculation.h"

#include <gtest/gtest.h>

#include <utility>

#include "engine/engine.h"
#include "models/demo/demo_model.h"
#include "support/fake_clock.h"
#include "support/load.h"

namespace inferno::engine {
namespace {

using std::chrono::milliseconds;

// Drives a Speculation over a text that is known beforehand, with passes that take so long.
struct Drive {
  template <class Time>
  Drive(const std::vector<int32_t>& text, const Time& time_of) {
    Speculation speculation;
    for (size_t at = 1; at < text.size();) {
      const auto draft =
          speculation.draft(std::span(text).first(at), static_cast<int64_t>(text.size() - at) - 1);
      const std::vector<int32_t> guesses(draft.begin(), draft.end());
      const auto n_tokens = static_cast<int64_t>(guesses.size()) + 1;
      speculation.passed(n_tokens, time_of(n_tokens));
      time += time_of(n_tokens);
      longest = std::max(longest, guesses.size());
      for (size_t i = 0; i <= guesses.size(); ++i) {
        speculation.came(text[at++]);
        if (i == guesses.size() || guesses[i] != text[at - 1]) break;
      }
    }
  }
  milliseconds time{0};
  size_t longest = 0;
};

milliseconds flat(int64_t) {
  return milliseconds(100);
}
milliseconds proportional(int64_t n) {
  return milliseconds(100 * n);
}

std::vector<int32_t> loop(size_t n, int32_t period) {
  std::vector<int32_t> text;
  for (size_t i = 0; i < n; ++i) text.push_back(static_cast<int32_t>(i) % period);
  return text;
}

// The same two tokens again and again, each time with another one after them.
std::vector<int32_t> misleading(int32_t n) {
  std::vector<int32_t> text;
  for (int32_t i = 0; i < n; ++i) text.push_back(i % 3 == 2 ? 1000 + i : 1 + i % 3);
  return text;
}

TEST(Speculation, WhatRepeatsItselfIsGuessedFarAheadWhereTokensAreFree) {
  const Drive drive(loop(2000, 50), flat);
  EXPECT_EQ(drive.longest, static_cast<size_t>(Speculation::kMaxDraft));
  EXPECT_LT(drive.time, milliseconds(2000 * 100 / 8));
}

TEST(Speculation, WhereATokenCostsAPassItSwitchesItselfOff) {
  EXPECT_LT(Drive(loop(2000, 50), proportional).time, milliseconds(2000 * 100 * 103 / 100));
}

TEST(Speculation, WhereGuessesDoNotHoldItSwitchesItselfOff) {
  const auto tenth_more = [](int64_t n) { return milliseconds(90 + 10 * n); };
  EXPECT_LT(Drive(misleading(3000), tenth_more).time, milliseconds(3000 * 100 * 101 / 100));
}

// A first pass that something else held up must not make all others look cheap.
TEST(Speculation, APassThatWasDisturbedIsNotBelieved) {
  std::vector<int32_t> random_text;
  for (uint32_t i = 0, x = 7; i < 3000; ++i)
    random_text.push_back(static_cast<int32_t>((x = x * 1664525 + 1013904223) >> 30));
  bool is_first = true;
  const auto disturbed = [&](int64_t n) {
    return milliseconds(std::exchange(is_first, false) ? 1000 : 90 + 10 * n);
  };
  EXPECT_LT(Drive(random_text, disturbed).time, milliseconds(3000 * 100 * 105 / 100));
}

TEST(Speculation, NoMoreThanThereIsRoomFor) {
  const auto text = loop(300, 5);
  Speculation speculation;
  speculation.passed(1, milliseconds(100));
  EXPECT_FALSE(speculation.draft(text, Speculation::kMaxDraft).empty());
  EXPECT_EQ(speculation.draft(text, 2).size(), 2u);
  EXPECT_TRUE(speculation.draft(text, 0).empty());
}

// The engine with guesses and without, on the demo model.
class SpeculativeEngine : public testing::Test {
 protected:
  struct Run {
    Generated generated;
    size_t n_passes = 0;
    size_t n_recorded = 0;
  };
  Run run(Request request, bool speculate, const OnText& on_text = {}) {
    request.speculate = speculate;
    test::TickingClock clock;  // a pass takes a look at it, however many tokens it has
    Engine engine(*loaded_.model, loaded_.tokenizer, {}, clock);
    const RequestId id = engine.submit(request, on_text).value();
    Run run;
    for (; engine.has_work(); ++run.n_passes) engine.step();
    Outcome outcome = *engine.take(id);
    run.n_recorded = outcome.metrics.per_forward().size();
    run.generated = std::move(outcome.generated).value();
    return run;
  }
  Request request(const std::string& prompt, int64_t n) const {
    Request request;
    request.prompt_ids = loaded_.tokenizer->encode(prompt).value();
    request.max_new_tokens = n;
    return request;
  }
  const std::string rhyme_ = "One little duck, two little ducks, three little ducks. One little duck, two";

  model::LoadedModel loaded_ =
      test::load(gguf::File::from_memory(demo::model_bytes(), demo::kModelName).value(), "simd");
};

TEST_F(SpeculativeEngine, TheSameTokensInFewerPasses) {
  Request greedy = request(rhyme_, 120);
  greedy.ignore_end = true;
  Request sampled = greedy;
  sampled.sampling.temperature = 0.7f;
  sampled.sampling.repetition_penalty = 1.05f;
  for (const Request& request : {greedy, sampled}) {
    const Run plain = run(request, false);
    const Run speculative = run(request, true);
    EXPECT_EQ(speculative.generated.ids, plain.generated.ids);
    EXPECT_EQ(speculative.generated.text, plain.generated.text);
    EXPECT_EQ(plain.generated.guesses.drafted, 0u);
    EXPECT_GT(speculative.generated.guesses.accepted, 0u);
    EXPECT_LE(speculative.generated.guesses.accepted, speculative.generated.guesses.drafted);
    EXPECT_EQ(speculative.n_passes + speculative.generated.guesses.accepted, plain.n_passes);
    EXPECT_EQ(speculative.n_recorded, speculative.generated.ids.size());
    EXPECT_EQ(speculative.generated.timeline.tokens.size(), speculative.generated.ids.size());
  }
}

TEST_F(SpeculativeEngine, EndsWhereItWouldHave) {
  Request long_one = request(rhyme_, 400);
  const Run plain = run(long_one, false);
  for (const int64_t n : {1, 2, 3, 5, 9, 17, 18, 33}) {
    EXPECT_EQ(run(request(rhyme_, n), true).generated.ids.size(), static_cast<size_t>(n));
  }
  const Run to_its_end = run(long_one, true);
  EXPECT_EQ(to_its_end.generated.ids, plain.generated.ids);
  EXPECT_EQ(to_its_end.generated.finish_reason, plain.generated.finish_reason);

  for (const Run& each : {plain, to_its_end}) {
    EXPECT_EQ(each.n_passes + each.generated.guesses.accepted, each.generated.ids.size());
  }

  Request stopped = long_one;
  stopped.stop = {plain.generated.text.substr(40, 6)};
  EXPECT_EQ(run(stopped, true).generated.ids, run(stopped, false).generated.ids);

  // A receiver that has had enough is asked for no more.
  for (const bool speculate : {false, true}) {
    int calls = 0;
    const Run refused = run(long_one, speculate, [&](std::string_view) { return ++calls < 20; });
    EXPECT_EQ(calls, 20);
    EXPECT_EQ(refused.generated.finish_reason, FinishReason::kCancelled);
  }
}

}  // namespace
}  // namespace inferno::engine
