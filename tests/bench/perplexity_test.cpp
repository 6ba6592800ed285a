#include "bench/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/fake_clock.h"
#include "support/load.h"
#include "support/tiny_model.h"

namespace inferno::test {
namespace {

// 200 tokens of a tiny model, a byte each.
const std::string kText = [] {
  std::string text;
  for (const int32_t id : random_ids(200, 26, 3)) text += static_cast<char>('a' + id);
  return text;
}();

bench::PerplexityReport measure(const model::LoadedModel& loaded, const bench::PerplexityOptions& options,
                                const model::LoadedModel* base = nullptr) {
  auto report = bench::measure_perplexity(loaded, kText, options, base);
  if (!report) throw std::runtime_error(report.error().message);
  return std::move(*report);
}

TEST(Perplexity, OfOneRowIsASoftmaxInDouble) {
  const std::vector<float> logits = {0.0f, std::log(3.0f), 0.0f};
  EXPECT_NEAR(bench::negative_log_likelihood(logits, 0), std::log(5), 1e-7);
  EXPECT_NEAR(bench::negative_log_likelihood(logits, 1), std::log(5.0 / 3), 1e-7);
  const std::vector<float> far = {10000.0f, -10000.0f};
  EXPECT_EQ(bench::negative_log_likelihood(far, 0), 0);
  EXPECT_EQ(bench::negative_log_likelihood(far, 1), 20000);
}

TEST(Perplexity, DivergenceOfTwoRows) {
  const std::vector<float> half = {2.0f, 2.0f}, quarter = {0.0f, std::log(3.0f)};
  EXPECT_EQ(bench::kl_divergence(half, half), 0);
  EXPECT_NEAR(bench::kl_divergence(half, quarter), 0.5 * std::log(2) + 0.5 * std::log(2.0 / 3), 1e-7);
  EXPECT_NEAR(bench::kl_divergence(quarter, half), 0.25 * std::log(0.5) + 0.75 * std::log(1.5), 1e-7);
}

TEST(Perplexity, AMeanHasAStandardError) {
  bench::Mean mean;
  EXPECT_EQ(mean.error(), 0);
  for (const double value : {1.0, 2.0, 3.0, 6.0}) mean.add(value);
  EXPECT_DOUBLE_EQ(mean.value, 3);
  EXPECT_DOUBLE_EQ(mean.error(),
                   std::sqrt(14.0 / 3 / 4));  // deviation of the sample over the root of its size
}

TEST(Perplexity, OfUniformPredictionsIsTheVocabulary) {
  TinyModel tiny({.tied = false});
  for (float& value : tiny.tensors.at("output.weight").values) value = 0;
  const auto bytes = tiny.bytes();
  const bench::PerplexityReport report = measure(load_bytes(bytes), {.context = 50});
  EXPECT_NEAR(report.perplexity.value(), 300, 1e-9);
  EXPECT_EQ(report.perplexity.error(), 0);
  EXPECT_EQ(report.n_chunks, 4);
  EXPECT_EQ(report.perplexity.nll.n, 4 * (50 - 1 - 25));
}

TEST(Perplexity, ScoresTheSecondHalfOfEachChunkAfterItsBos) {
  TinyModel tiny({});
  tiny.set("tokenizer.ggml.add_bos_token", true);
  const auto bytes = tiny.bytes();
  const model::LoadedModel loaded = load_bytes(bytes);
  const bench::PerplexityReport report =
      measure(loaded, {.context = 32, .max_chunks = 2, .kv_type = DType::kF32});

  std::vector<int32_t> ids = *loaded.tokenizer->encode(kText);
  bench::Mean expected;
  for (size_t chunk = 0; chunk < 2; ++chunk) {
    const auto now = std::span(ids).subspan(chunk * 32, 32);
    now[0] = 257;
    const std::vector<float> logits = all_logits(*loaded.model, now);
    for (size_t p = 16; p < 31; ++p) {
      expected.add(bench::negative_log_likelihood(std::span(logits).subspan(p * 300, 300), now[p + 1]));
    }
  }
  EXPECT_EQ(report.perplexity.nll.n, expected.n);
  EXPECT_EQ(report.perplexity.nll.value, expected.value);
  EXPECT_EQ(report.perplexity.nll.squares, expected.squares);
  EXPECT_DOUBLE_EQ(report.perplexity.value(), std::exp(expected.value));
}

TEST(Perplexity, AgainstABaseTellsHowFarPredictionsAre) {
  const auto bytes = TinyModel({.tied = false}).bytes(),
             other_bytes = TinyModel({.tied = false, .seed = 2}).bytes();
  const model::LoadedModel loaded = load_bytes(bytes), other = load_bytes(other_bytes);
  const bench::PerplexityReport same = measure(loaded, {.context = 40}, &loaded);
  ASSERT_TRUE(same.divergence.has_value());
  EXPECT_EQ(same.divergence->percentile(1), 0);
  EXPECT_EQ(same.divergence->n_same_top, same.perplexity.nll.n);

  const bench::PerplexityReport far = measure(loaded, {.context = 40, .n_threads = 1}, &other);
  const bench::PerplexityReport threads = measure(loaded, {.context = 40, .n_threads = 3}, &other);
  EXPECT_EQ(far.perplexity.nll.value, same.perplexity.nll.value);
  EXPECT_EQ(far.divergence->base.nll.value, measure(other, {.context = 40}).perplexity.nll.value);
  EXPECT_GT(far.divergence->mean().value, 0.01);
  EXPECT_LT(far.divergence->mean().value, far.divergence->percentile(0.99));
  EXPECT_LT(far.divergence->n_same_top, far.perplexity.nll.n / 2);
  EXPECT_EQ(far.divergence->values, threads.divergence->values);
}

TEST(Perplexity, TheClockSeesTheModelAlone) {
  const auto bytes = TinyModel({}).bytes();
  const model::LoadedModel loaded = load_bytes(bytes);
  const TickingClock clock;
  const bench::PerplexityReport report = measure(loaded, {.context = 50, .clock = &clock}, &loaded);
  EXPECT_DOUBLE_EQ(report.seconds, 0.004);  // two looks a chunk
  EXPECT_DOUBLE_EQ(report.tokens_per_second(), 200 / 0.004);
}

TEST(Perplexity, CancelledKeepsWhatWasMeasured) {
  const auto bytes = TinyModel({}).bytes();
  const model::LoadedModel loaded = load_bytes(bytes);
  bool stop = false;
  const bench::PerplexityReport report =
      measure(loaded, {.context = 50,
                       .on_chunk = [&](const auto& so_far) { stop = so_far.n_chunks == 2; },
                       .cancelled = [&] { return stop; }});
  EXPECT_EQ(report.n_chunks, 2);
  EXPECT_EQ(report.n_all_chunks, 4);
  EXPECT_EQ(report.perplexity.nll.n, 2 * 24);
}

TEST(Perplexity, RefusesWhatHasNoMeaning) {
  const auto bytes = TinyModel({}).bytes();
  const model::LoadedModel loaded = load_bytes(bytes);
  const auto refusal = [&](std::string_view text, int64_t context, const model::LoadedModel* base = nullptr) {
    const auto report = bench::measure_perplexity(loaded, text, {.context = context}, base);
    if (report.ok()) return std::string("measured");
    EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
    return report.error().message;
  };
  EXPECT_NE(refusal("", 8).find("the text has 0 tokens, expected at least 8"), std::string::npos);
  EXPECT_NE(refusal("seven..", 8).find("the text has 7 tokens"), std::string::npos);
  EXPECT_EQ(refusal("eight...", 8), "measured");
  EXPECT_NE(refusal(kText, 0).find("expected at least 512"), std::string::npos) << "the usual context";
  EXPECT_NE(refusal(kText, 513).find("expected from 4 to 512"), std::string::npos);
  EXPECT_NE(refusal(kText, 3).find("expected from 4 to 512"), std::string::npos);

  const auto larger_bytes = TinyModel({.vocab_size = 301}).bytes();
  const model::LoadedModel larger = load_bytes(larger_bytes);
  EXPECT_NE(refusal(kText, 8, &larger).find("one has 300 ids, the other 301"), std::string::npos);
  TinyModel renamed({});
  std::vector<std::string> tokens;
  for (int32_t id = 0; id < 300; ++id) tokens.emplace_back(loaded.tokenizer->spelling(id));
  tokens[270] = "<|other|>";
  renamed.set_array("tokenizer.ggml.tokens", tokens);
  const auto renamed_bytes = renamed.bytes();
  const model::LoadedModel other = load_bytes(renamed_bytes);
  EXPECT_NE(
      refusal(kText, 8, &other).find("id 270 is \"<|unused270|>\" in one and \"<|other|>\" in the other"),
      std::string::npos)
      << refusal(kText, 8, &other);
  const auto short_bytes = TinyModel({.context_length = 16}).bytes();
  const model::LoadedModel short_context = load_bytes(short_bytes);
  EXPECT_NE(refusal(kText, 32, &short_context).find("expected from 4 to 16"), std::string::npos);
}

}  // namespace
}  // namespace inferno::test
