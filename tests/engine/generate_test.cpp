#include "engine/generate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "engine/engine.h"
#include "models/demo/demo_model.h"
#include "support/load.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"

namespace inferno::engine {
namespace {

class DemoModel : public testing::Test {
 protected:
  void SetUp() override {
    auto file = gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
    ASSERT_TRUE(file.ok());
    loaded_ = test::load(std::move(*file));
  }

  Request request(const std::string& prompt, int64_t n) const {
    Request request;
    request.prompt_ids = *loaded_.tokenizer->encode(prompt);
    request.max_new_tokens = n;
    return request;
  }

  Result<Generated> run(const Request& request) {
    metrics_ = {};
    return generate(*loaded_.model, loaded_.tokenizer, request, metrics_);
  }

  model::LoadedModel loaded_;
  metrics::Metrics metrics_;
};

TEST_F(DemoModel, TellsItsTale) {
  const auto generated = run(request("Once upon a time", 32));
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->text,
            ", there was a small girl who lived in a small town. Her name was Molly. She was kind and "
            "everyone liked "
            "her. She was not very big,");
  EXPECT_EQ(generated->finish_reason, FinishReason::kLength);
  EXPECT_EQ(metrics_.per_forward().size(), 32u);
  EXPECT_GT(generated->decode_cost.weight_bytes, 31 * loaded_.model->weights().bytes() * 9 / 10);
}

TEST_F(DemoModel, EndsByItself) {
  const auto generated = run(request("Once upon a time", 400));
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->finish_reason, FinishReason::kEnd);
  EXPECT_TRUE(loaded_.tokenizer->is_end(generated->ids.back()));
  EXPECT_EQ(generated->text.find("<|"), std::string::npos) << "the end token is not text";
}

TEST_F(DemoModel, GreedyGenerateReturnsPromptAndNewIds) {
  const auto prompt = *loaded_.tokenizer->encode("Once upon a time");
  metrics::Metrics metrics;
  const auto ids = greedy_generate(*loaded_.model, loaded_.tokenizer, prompt, 3, metrics);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(*ids, (std::vector<int32_t>{542, 495, 258, 420, 44, 373, 293}));
}

TEST_F(DemoModel, StreamsExactlyTheText) {
  std::string streamed;
  const auto generated = generate(*loaded_.model, loaded_.tokenizer, request("The little girl", 60), metrics_,
                                  [&](std::string_view text) {
                                    streamed += text;
                                    return true;
                                  });
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(streamed, generated->text);
}

TEST_F(DemoModel, StopStringEndsTheTextBeforeIt) {
  Request stopping = request("Once upon a time", 60);
  stopping.stop = {"Molly", "nowhere"};
  const auto generated = run(stopping);
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->finish_reason, FinishReason::kStop);
  EXPECT_EQ(generated->text, ", there was a small girl who lived in a small town. Her name was ");
}

TEST_F(DemoModel, SameSeedSameTextAnotherSeedAnother) {
  Request sampled = request("Once upon a time", 40);
  sampled.sampling.temperature = 1.0f;
  sampled.sampling.seed = 1;
  const auto first = run(sampled);
  const auto again = run(sampled);
  sampled.sampling.seed = 2;
  const auto other = run(sampled);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ(first->ids, again->ids);
  EXPECT_NE(first->ids, other->ids);
}

TEST_F(DemoModel, StopsAtTheEndOfTheContext) {
  Request longest = request("Once upon a time", 100000);
  longest.ignore_end = true;
  const auto generated = run(longest);
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->finish_reason, FinishReason::kContext);
  // The last token is made at the last position and never fed back.
  EXPECT_EQ(longest.prompt_ids.size() + generated->ids.size(), 513u);
}

TEST_F(DemoModel, NothingToGenerate) {
  const auto generated = run(request("Once upon a time", 0));
  ASSERT_TRUE(generated.ok());
  EXPECT_TRUE(generated->ids.empty());
  EXPECT_FALSE(metrics_.time_to_first_token_ms().has_value());
}

TEST_F(DemoModel, CancelledBeforeTheFirstToken) {
  const std::atomic<bool> cancelled{true};
  const auto generated =
      generate(*loaded_.model, loaded_.tokenizer, request("Once", 10), metrics_, {}, &cancelled);
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->finish_reason, FinishReason::kCancelled);
  EXPECT_TRUE(generated->ids.empty());
}

TEST_F(DemoModel, RefusesWhatMakesNoSense) {
  Request empty = request("Once", 4);
  empty.prompt_ids.clear();
  EXPECT_EQ(run(empty).error().code, ErrorCode::kInvalidArgument);

  Request outside = request("Once", 4);
  outside.prompt_ids.push_back(4096);
  EXPECT_EQ(run(outside).error().message, "prompt id 4096 at 1: expected 0 to 4095");

  Request long_prompt = request("Once", 4);
  long_prompt.prompt_ids.assign(513, 5);
  EXPECT_EQ(run(long_prompt).error().code, ErrorCode::kResource);

  Request bad_sampling = request("Once", 4);
  bad_sampling.sampling.top_p = 0.0f;
  EXPECT_EQ(run(bad_sampling).error().code, ErrorCode::kInvalidArgument);
}

TEST(Generate, NotANumberInTheWeightsFailsTheRequestByName) {
  test::TinyModel tiny({});
  tiny.tensors["output_norm.weight"].values[3] = std::numeric_limits<float>::quiet_NaN();
  const auto bytes = tiny.bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  metrics::Metrics metrics;
  const auto generated = generate(*loaded.model, loaded.tokenizer,
                                  Request{.prompt_ids = {1, 2, 3}, .max_new_tokens = 4}, metrics);
  ASSERT_FALSE(generated.ok());
  EXPECT_EQ(generated.error().code, ErrorCode::kRuntime);
  EXPECT_NE(generated.error().message.find("NaN"), std::string::npos) << generated.error().message;
}

TEST(PromptLogits, FromAPositionOnAreTheEndOfAll) {
  const std::vector<std::byte> bytes = test::TinyModel({}).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  const std::vector<int32_t> ids = test::random_ids(150, 300, 1);
  const std::vector<float> all = test::all_logits(*loaded.model, ids);
  for (const size_t first : {size_t{1}, size_t{75}, size_t{149}}) {
    std::vector<float> end;
    ASSERT_TRUE(prompt_logits(
                    *loaded.model, ids, DType::kF32,
                    [&](std::span<const float> logits, int64_t) -> Status {
                      end.insert(end.end(), logits.begin(), logits.end());
                      return {};
                    },
                    static_cast<int64_t>(first))
                    .ok());
    EXPECT_EQ(end, std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(first * 300), all.end()))
        << first;
  }
}

TEST(PromptLogits, TellsHowFarItIs) {
  const std::vector<std::byte> bytes = test::TinyModel({}).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  std::vector<std::pair<uint64_t, uint64_t>> said;
  ASSERT_TRUE(prompt_logits(
                  *loaded.model, test::random_ids(150, 300, 1), DType::kF32,
                  [](auto, int64_t) { return Status(); }, 100, {},
                  [&](auto, uint64_t done, uint64_t total) { said.emplace_back(done, total); })
                  .ok());
  EXPECT_EQ(said, (std::vector<std::pair<uint64_t, uint64_t>>{{100, 150}, {150, 150}}));
}

TEST(Generate, TellsHowFarALongPromptIs) {
  const std::vector<std::byte> bytes = test::TinyModel({.context_length = 1024}).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  const auto said_of = [&](size_t n_prompt) {
    Request request;
    request.prompt_ids = test::random_ids(n_prompt, 300, 1);
    request.max_new_tokens = 3;
    request.ignore_end = true;
    metrics::Metrics metrics;
    std::vector<std::pair<uint64_t, uint64_t>> said;
    const auto on_prompt = [&](auto, uint64_t done, uint64_t total) { said.emplace_back(done, total); };
    EXPECT_TRUE(
        generate(*loaded.model, loaded.tokenizer, request, metrics, {}, nullptr, nullptr, on_prompt).ok());
    return said;
  };
  const uint64_t chunk = kPrefillChunk;
  const uint64_t total = 2 * chunk + 44;
  EXPECT_EQ(said_of(total), (std::vector<std::pair<uint64_t, uint64_t>>{{chunk, total}, {2 * chunk, total}}));
  EXPECT_TRUE(said_of(chunk).empty()) << "it is one pass";
}

TEST(PromptLogits, CanBeCancelled) {
  const std::vector<std::byte> bytes = test::TinyModel({}).bytes();
  const model::LoadedModel loaded = test::load_bytes(bytes);
  const Status status = prompt_logits(
      *loaded.model, test::random_ids(8, 300, 1), DType::kF32, [](auto, int64_t) { return Status(); }, 0,
      [] { return true; });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
}

// Text prompts, ids and texts of the F32 weights before quantization; where the smallest margin on the way is
// wide enough, Q8_0 says the same.
TEST_F(DemoModel, TextGoldens) {
  REQUIRE_SHARED_DATA("demo/text-goldens-f32.json");
  const auto goldens = parse_json(test::read_file(test::shared_data("demo/text-goldens-f32.json"))).value();
  int compared = 0;
  for (const auto& golden : goldens["goldens"]) {
    Request prompt = request(golden["prompt"], 32);
    prompt.ignore_end = true;
    EXPECT_EQ(prompt.prompt_ids, golden["ids"].get<std::vector<int32_t>>());
    if (golden["smallest_margin"].get<double>() < 0.02) continue;
    const auto generated = run(prompt);
    ASSERT_TRUE(generated.ok());
    EXPECT_EQ(generated->ids, golden["greedy"].get<std::vector<int32_t>>()) << golden["prompt"];
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

}  // namespace
}  // namespace inferno::engine
