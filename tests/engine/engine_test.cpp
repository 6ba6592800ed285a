#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "metrics/telemetry.h"
#include "support/fake_clock.h"
#include "support/load.h"
#include "support/tiny_model.h"

namespace inferno::engine {
namespace {

using std::chrono::milliseconds;

class EngineTest : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = test::TinyModel({}).bytes();
    loaded_ = test::load_bytes(bytes_);
  }
  Request request(int64_t n, size_t prompt = 3) const {
    Request request;
    for (size_t i = 0; i < prompt; ++i) request.prompt_ids.push_back(static_cast<int32_t>(i % 200));
    request.max_new_tokens = n;
    request.ignore_end = true;
    return request;
  }
  Engine engine(Scheduler::Limits limits = {}) {
    return Engine(*loaded_.model, loaded_.tokenizer, limits, clock_);
  }

  std::vector<std::byte> bytes_;
  model::LoadedModel loaded_;
  test::TickingClock clock_;
};

// An engine keeps the cache of the request before: what that left there changes nothing.
TEST_F(EngineTest, ARequestDoesNotSeeTheOneBeforeIt) {
  loaded_ = test::load_bytes(bytes_, "parallel");
  Engine used = engine();
  const auto run = [](Engine& engine, const Request& request) {
    const RequestId id = *engine.submit(request);
    while (engine.has_work()) engine.step();
    return engine.take(id)->generated.value().ids;
  };
  std::vector<Request> requests = {request(20, 100), request(9, 3), request(9, 70), request(40, 100)};
  requests.push_back(request(9, 5));
  requests.back().kv_type = DType::kF32;
  requests.push_back(request(5, 5));
  for (const Request& request : requests) {
    Engine fresh = engine();
    EXPECT_EQ(run(used, request), run(fresh, request));
  }
}

TEST_F(EngineTest, AStepIsATokenAndAWholeRequestIsItsParts) {
  Engine engine = this->engine();
  const RequestId id = *engine.submit(request(4));
  EXPECT_TRUE(engine.has_work());
  for (int step = 0; step < 4; ++step) {
    EXPECT_FALSE(engine.take(id).has_value());
    engine.step();
  }
  EXPECT_FALSE(engine.has_work());
  const Outcome outcome = *engine.take(id);
  EXPECT_FALSE(engine.take(id).has_value()) << "an outcome is taken once";
  const Generated& generated = outcome.generated.value();
  EXPECT_EQ(generated.ids.size(), 4u);
  EXPECT_EQ(generated.timeline.tokens.size(), 4u);
  EXPECT_EQ(outcome.metrics.per_forward().size(), 4u);
  // By the ticking clock each timed part is one reading long, so the parts count the calls.
  EXPECT_EQ(generated.phases.prefill, milliseconds(1));
  EXPECT_EQ(generated.phases.decode, milliseconds(3));
  EXPECT_EQ(generated.phases.sampling, milliseconds(4));
  EXPECT_EQ(generated.phases.detokenization, milliseconds(5));  // each token, and the end
  EXPECT_LT(generated.phases.prefill + generated.phases.decode + generated.phases.sampling +
                generated.phases.detokenization,
            *generated.timeline.finished - *generated.timeline.enqueued);
}

TEST_F(EngineTest, ALongPromptIsOnePassOfSeveralSteps) {
  Engine engine = this->engine();
  const RequestId id = *engine.submit(request(2, kPrefillChunk + 44));
  int steps = 0;
  for (; engine.has_work(); ++steps) engine.step();
  EXPECT_EQ(steps, 3);  // a whole chunk and 44 tokens, then one token
  const Outcome outcome = *engine.take(id);
  EXPECT_EQ(outcome.metrics.per_forward().size(), 2u);
  EXPECT_EQ(outcome.metrics.per_forward()[0], milliseconds(2));
}

TEST_F(EngineTest, RequestsWaitForTheirTurnAndDoNotTouchEachOther) {
  Engine alone = engine();
  const RequestId only = *alone.submit(request(5));
  while (alone.has_work()) alone.step();
  const auto expected = alone.take(only)->generated->ids;

  Engine both = engine({.max_running = 2, .max_waiting = 4});
  const RequestId first = *both.submit(request(5));
  const RequestId second = *both.submit(request(5, 7));
  const RequestId third = *both.submit(request(5));
  while (both.has_work()) both.step();
  EXPECT_EQ(both.take(first)->generated->ids, expected);
  EXPECT_EQ(both.take(third)->generated->ids, expected);
  const Outcome other = *both.take(second);
  ASSERT_TRUE(other.generated.ok());
  EXPECT_EQ(both.metrics().n_requests(), 3u);
  EXPECT_EQ(both.metrics().new_tokens(), 15u);
}

TEST_F(EngineTest, RealEventsFeedEveryFigure) {
  Engine engine = this->engine();
  ASSERT_TRUE(engine.submit(request(3)).ok());
  ASSERT_TRUE(engine.submit(request(3)).ok());
  while (engine.has_work()) engine.step();
  for (const auto& row : engine.metrics().rows()) {
    ASSERT_TRUE(row.values.has_value()) << row.name;
    EXPECT_GT(row.values->min, 0) << row.name;
  }
  EXPECT_GT(engine.metrics().ttps().value(), 0);
}

TEST_F(EngineTest, TheWaitInTheQueueIsASpan) {
  telemetry::clear();
  telemetry::set_enabled(true);
  Engine engine = this->engine();
  const RequestId first = *engine.submit(request(1));
  const RequestId second = *engine.submit(request(1));
  while (engine.has_work()) engine.step();
  telemetry::set_enabled(false);
  const auto stages = telemetry::summarize();
  telemetry::clear();
  const auto wait = std::find_if(stages.begin(), stages.end(),
                                 [](const auto& stage) { return stage.stage == "Scheduler::QueueWait"; });
  ASSERT_NE(wait, stages.end());
  EXPECT_EQ(wait->count, 2u);
  const auto waited = [&](RequestId id) { return *engine.take(id)->generated->timeline.stil(); };
  EXPECT_NEAR(wait->total_us * 1e-6, (waited(first) + waited(second)).count(), 1e-9);
}

TEST_F(EngineTest, AFullQueueRefuses) {
  Engine engine = this->engine({.max_running = 1, .max_waiting = 1});
  ASSERT_TRUE(engine.submit(request(1)).ok());
  const auto refused = engine.submit(request(1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResource);
  while (engine.has_work()) engine.step();
  EXPECT_TRUE(engine.submit(request(1)).ok());
}

TEST_F(EngineTest, CancellingWhileWaitingEndsItWhenItsTurnComes) {
  Engine engine = this->engine();
  std::atomic<bool> cancelled{false};
  const RequestId first = *engine.submit(request(3));
  const RequestId second = *engine.submit(request(3), {}, cancel_by(&cancelled));
  cancelled = true;
  while (engine.has_work()) engine.step();
  EXPECT_EQ(engine.take(first)->generated->finish_reason, FinishReason::kLength);
  const Outcome outcome = *engine.take(second);
  EXPECT_EQ(outcome.generated->finish_reason, FinishReason::kCancelled);
  EXPECT_TRUE(outcome.generated->ids.empty());
  EXPECT_EQ(engine.metrics().n_requests(), 2u);
  EXPECT_EQ(engine.metrics().n_cancelled(), 1u);
}

TEST_F(EngineTest, AFailureIsItsRequestsAlone) {
  test::TinyModel tiny({});
  tiny.tensors["output_norm.weight"].values[3] = std::numeric_limits<float>::quiet_NaN();
  const auto bytes = tiny.bytes();
  const model::LoadedModel broken = test::load_bytes(bytes);
  Engine engine(*broken.model, broken.tokenizer, {.max_running = 2, .max_waiting = 2}, clock_);
  const RequestId first = *engine.submit(request(3));
  const RequestId nothing = *engine.submit(request(0));
  while (engine.has_work()) engine.step();
  const Outcome failed = *engine.take(first);
  ASSERT_FALSE(failed.generated.ok());
  EXPECT_EQ(failed.generated.error().code, ErrorCode::kRuntime);
  EXPECT_EQ(failed.metrics.per_forward().size(), 1u) << "the pass was made";
  EXPECT_TRUE(engine.take(nothing)->generated.ok());
  EXPECT_EQ(engine.metrics().n_requests(), 1u);
  EXPECT_EQ(engine.metrics().n_failed(), 1u);
}

}  // namespace
}  // namespace inferno::engine
