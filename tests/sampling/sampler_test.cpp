#include "sampling/sampler.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/check.h"

namespace inferno::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Logits = std::vector<float>;
using Ids = std::vector<int32_t>;

// The definition, the slow way: one step after the other over the whole vocabulary, in double.
struct SlowDistribution {
  std::vector<double> p;      // of each token to be drawn
  std::vector<size_t> order;  // the tokens, likeliest first, of equals the lowest id first
};

SlowDistribution slow_distribution(const SamplingParams& params, const Logits& logits, const Ids& history) {
  std::vector<double> x(logits.begin(), logits.end());
  const std::set<int32_t> seen(history.begin(), history.end());
  for (const int32_t id : seen) {
    double& value = x[static_cast<size_t>(id)];
    value = value > 0 ? value / params.repetition_penalty : value * params.repetition_penalty;
    value = static_cast<float>(value);  // a penalized logit is a logit
  }
  for (double& value : x) value /= params.temperature;
  const double highest = *std::max_element(x.begin(), x.end());
  std::vector<double> p(x.size());
  for (size_t id = 0; id < x.size(); ++id) p[id] = std::exp(x[id] - highest);

  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] > x[b]; });
  const auto drop_from_rank = [&](size_t rank) {
    for (; rank < order.size(); ++rank) p[order[rank]] = 0;
  };
  const auto normalize = [&] {
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& value : p) value /= sum;
  };
  if (params.top_k > 0) drop_from_rank(static_cast<size_t>(params.top_k));
  normalize();
  double sum = 0;
  size_t rank = 0;
  while (rank < order.size() && sum < params.top_p) sum += p[order[rank++]];
  if (params.top_p < 1) drop_from_rank(rank);
  normalize();
  const double bound = params.min_p * *std::max_element(p.begin(), p.end());
  for (double& value : p) value = value < bound ? 0 : value;
  normalize();
  return {p, order};
}

// The token where the cumulative distribution passes the position's uniform number.
size_t slow_draw(const SlowDistribution& distribution, RngKey key) {
  const double u = uniform(key);
  double cumulative = 0;
  for (const size_t id : distribution.order) {
    cumulative += distribution.p[id];
    if (cumulative > u) return id;
  }
  return distribution.order.back();
}

// How often each token comes over n positions.
std::vector<int> draw_counts(const SamplingParams& params, const Logits& logits, const Ids& history, int n) {
  Sampler sampler(params);
  std::vector<int> counts(logits.size());
  for (int position = 0; position < n; ++position) {
    const auto sample = sampler.sample(logits, history, static_cast<uint64_t>(position));
    EXPECT_TRUE(sample) << sample.error().message;
    if (!sample) break;
    ++counts[static_cast<size_t>(*sample)];
  }
  return counts;
}

// Chi-square of n draws against the definition; tokens it excludes must never come.
void expect_distribution(const SamplingParams& params, const Logits& logits, const Ids& history = {},
                         int n = 20'000) {
  const std::vector<double> p = slow_distribution(params, logits, history).p;
  const std::vector<int> counts = draw_counts(params, logits, history, n);
  double chi_square = 0;
  double freedom = -1;
  for (size_t id = 0; id < p.size(); ++id) {
    if (p[id] == 0) {
      EXPECT_EQ(counts[id], 0) << "token " << id << " was to be excluded";
      continue;
    }
    const double expected = n * p[id];
    chi_square += (counts[id] - expected) * (counts[id] - expected) / expected;
    ++freedom;
  }
  // Mean = freedom, variance = 2 freedom: six deviations and a little for the skew of few degrees.
  EXPECT_LT(chi_square, freedom + 6 * std::sqrt(2 * freedom) + 12);
}

const Logits kLogits = {1.0f, -0.5f, 2.0f, 0.25f, 2.0f, -3.0f, 0.0f, 1.5f};

SamplingParams warm(float temperature = 1.0f) {
  SamplingParams params;
  params.temperature = temperature;
  return params;
}

TEST(Sampler, TemperatureAloneGivesTheSoftmax) {
  expect_distribution(warm(1.0f), kLogits, {}, 500'000);
  expect_distribution(warm(0.5f), kLogits);
  expect_distribution(warm(2.5f), kLogits);
}

TEST(Sampler, TopKKeepsTheLikeliestAndOfEqualsTheLowestIds) {
  for (const int32_t k : {1, 2, 3, 5, 8, 100}) {
    SamplingParams params = warm();
    params.top_k = k;
    expect_distribution(params, kLogits);
  }
  SamplingParams one = warm();
  one.top_k = 1;
  EXPECT_EQ(draw_counts(one, kLogits, {}, 100)[2], 100);  // tokens 2 and 4 are equal
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  for (const float p : {1e-6f, 0.3f, 0.5f, 0.6f, 0.9f, 0.999f}) {
    SamplingParams params = warm();
    params.top_p = p;
    expect_distribution(params, kLogits);
  }
  // Exactly one half each for two tokens: reaching 0.5 takes one, a little more takes both.
  SamplingParams half = warm();
  half.top_p = 0.5f;
  EXPECT_EQ(draw_counts(half, {-kInfinity, 1, 1}, {}, 100)[1], 100);
  half.top_p = 0.51f;
  EXPECT_LT(draw_counts(half, {-kInfinity, 1, 1}, {}, 100)[1], 100);
}

TEST(Sampler, MinPDropsWhatIsUnlikelyBesideTheLikeliest) {
  for (const float p : {0.01f, 0.1f, 0.3f, 0.7f, 0.99f}) {
    SamplingParams params = warm();
    params.min_p = p;
    expect_distribution(params, kLogits);
  }
}

TEST(Sampler, RepetitionPenaltyDividesPositiveAndMultipliesNegativeLogits) {
  SamplingParams params = warm();
  params.repetition_penalty = 1.7f;
  expect_distribution(params, kLogits, {2, 5, 6});
  expect_distribution(params, kLogits, {2, 5, 2, 2, 5});  // once each, however often they stand there
  params.repetition_penalty = 0.6f;
  expect_distribution(params, kLogits, {2, 5, 0});
}

TEST(Sampler, TheStepsComposeInTheirOrder) {
  SamplingParams params = warm(1.4f);
  params.repetition_penalty = 1.3f;
  params.top_k = 6;
  params.top_p = 0.92f;
  params.min_p = 0.12f;
  expect_distribution(params, kLogits, {4, 7, 1});
  params.top_k = 0;
  expect_distribution(params, kLogits, {4, 7, 1});
}

// Several pieces and groups, all kinds of neighbours, ties, tokens that are ruled out; kept sets from one
// token to nearly all.
TEST(Sampler, DrawsWhatTheDefinitionDrawsOfALargeVocabulary) {
  Logits logits(5001);
  for (size_t id = 0; id < logits.size(); ++id) {
    const uint32_t hash = static_cast<uint32_t>(id) * 2654435761u;
    logits[id] = id % 7 == 3 ? -kInfinity : static_cast<float>(hash % 997) / 120.0f;
  }
  for (const float temperature : {0.2f, 1.0f, 30.0f}) {
    for (const float top_p : {1.0f, 0.8f, 0.05f}) {
      for (const int32_t top_k : {0, 1, 40, 100, 2500, 4900}) {
        for (const float min_p : {0.0f, 0.05f}) {
          SamplingParams params = warm(temperature);
          params.top_p = top_p;
          params.top_k = top_k;
          params.min_p = min_p;
          const SlowDistribution expected = slow_distribution(params, logits, {});
          Sampler sampler(params);
          for (uint64_t position = 0; position < 60; ++position) {
            ASSERT_EQ(*sampler.sample(logits, {}, position), slow_draw(expected, {params.seed, position}))
                << "temperature " << temperature << ", top_p " << top_p << ", top_k " << top_k << ", min_p "
                << min_p << ", position " << position;
          }
        }
      }
    }
  }
}

// Where sums in float32 and in double differ by as much as is to be left out.
TEST(Sampler, ATopPOfNearlyOneKeepsTheLikeliest) {
  for (const size_t vocab : {31, 2048, 32000}) {
    Logits logits(vocab, -5.123f);
    logits[1] = 3.3f;
    for (const float top_p : {0.9999f, 0.999997f, 0.999998f, 0.999999f, 0.99999994f}) {
      SamplingParams params = warm(0.508446f);
      params.top_p = top_p;
      const SlowDistribution expected = slow_distribution(params, logits, {});
      const std::vector<int> counts = draw_counts(params, logits, {}, 300);
      EXPECT_NEAR(counts[1], 300 * expected.p[1], 12) << vocab << ' ' << top_p;
    }
  }
}

TEST(Sampler, MinPDropsWhatIsBelowItByTheLeastStep) {
  SamplingParams params = warm(1e-6f);
  params.min_p = 0.5f;
  const Logits logits = {16, std::nextafter(16.0f, 0.0f)};  // 0.385 times as likely
  EXPECT_EQ(draw_counts(params, logits, {}, 1000)[1], 0);
  params.min_p = 0.3f;
  EXPECT_GT(draw_counts(params, logits, {}, 1000)[1], 200);
}

TEST(Sampler, AnUnsetFilterChangesNothing) {
  SamplingParams all_kept = warm();
  all_kept.top_k = static_cast<int32_t>(kLogits.size());
  Sampler plain(warm());
  Sampler with_top_k(all_kept);
  for (uint64_t position = 0; position < 1000; ++position) {
    EXPECT_EQ(*plain.sample(kLogits, {}, position), *with_top_k.sample(kLogits, {}, position));
  }
}

TEST(Sampler, GreedyTakesTheHighestLogitAndOfEqualsTheLowestId) {
  Sampler greedy{SamplingParams{}};
  EXPECT_EQ(*greedy.sample(kLogits, {}, 0), 2);
  EXPECT_EQ(*greedy.sample(Logits{-kInfinity, -5, -5}, {}, 0), 1);
  EXPECT_EQ(*greedy.sample(Logits{-0.0f, 0.0f}, {}, 0), 0);
  EXPECT_EQ(*greedy.sample(Logits{-3.4e38f}, {}, 0), 0);
}

TEST(Sampler, GreedyAppliesTheRepetitionPenaltyFirst) {
  SamplingParams params;
  params.repetition_penalty = 1.5f;
  Sampler greedy(params);
  EXPECT_EQ(*greedy.sample(kLogits, Ids{2}, 0), 4);
  EXPECT_EQ(*greedy.sample(kLogits, Ids{2, 4}, 0), 7);
  EXPECT_EQ(*greedy.sample(Logits{-1.0f, -1.2f}, Ids{0, 0}, 0), 1);
}

// Vectors of lanes and what is left behind them.
TEST(Sampler, GreedyFindsTheFirstOfTheHighestAndEveryUnusableLogit) {
  Sampler greedy{SamplingParams{}};
  for (const size_t n : {1, 31, 32, 33, 64, 100, 2047, 2050, 4097}) {
    const size_t step = n <= 100 ? 1 : 97;
    for (size_t at = 0; at < n; at += step) {
      Logits logits(n, -2.0f);
      logits[at] = 3.0f;
      logits.back() = 3.0f;
      EXPECT_EQ(*greedy.sample(logits, {}, 0), static_cast<int32_t>(at));
      for (const float unusable : {kInfinity, std::nanf("")}) {
        logits[at] = unusable;
        const auto sample = greedy.sample(logits, {}, 0);
        ASSERT_FALSE(sample);
        EXPECT_NE(sample.error().message.find(fmt::format("token {} is", at)), std::string::npos);
      }
    }
  }
}

TEST(Sampler, ProbabilityIsTheModelsOwnWhateverTheParameters) {
  SamplingParams params = warm(0.3f);
  params.top_k = 2;
  params.repetition_penalty = 2.0f;
  Sampler sampler(params);
  double sum = 0;
  for (const float logit : kLogits) sum += std::exp(static_cast<double>(logit));
  for (uint64_t position = 0; position < 50; ++position) {
    const auto sample = sampler.sample(kLogits, Ids{2, 0}, position);
    ASSERT_TRUE(sample);
    EXPECT_FLOAT_EQ(probability(kLogits, *sample),
                    static_cast<float>(std::exp(double{kLogits[static_cast<size_t>(*sample)]}) / sum));
  }
  EXPECT_EQ(probability(Logits{-kInfinity, 3e38f, -3e38f}, 1), 1.0f);
}

TEST(Sampler, NeverDrawsATokenOfMinusInfinity) {
  const Logits logits = {-kInfinity, 0.1f, -kInfinity, 0.0f, -kInfinity};
  for (const float temperature : {1e-3f, 1.0f, 1e30f}) {
    const std::vector<int> counts = draw_counts(warm(temperature), logits, {}, 5000);
    EXPECT_EQ(counts[1] + counts[3], 5000);
    EXPECT_GT(counts[1], 0);
  }
}

TEST(Sampler, ExtremesNeitherOverflowNorBecomeNan) {
  const Logits logits = {-3e38f, 3e38f, 1, -kInfinity};
  for (const float temperature : {1e-45f, 1e-30f, 3e38f}) {
    SamplingParams params = warm(temperature);
    for (const float penalty : {1e-45f, 1.0f, 3e38f}) {
      params.repetition_penalty = penalty;
      Sampler sampler(params);
      for (uint64_t position = 0; position < 20; ++position) {
        const auto sample = sampler.sample(logits, Ids{0, 1, 2, 3}, position);
        ASSERT_TRUE(sample);
        EXPECT_NE(*sample, 3);
        EXPECT_TRUE(std::isfinite(probability(logits, *sample)));
      }
    }
  }
  EXPECT_EQ(draw_counts(warm(1e-30f), kLogits, {}, 1000)[5], 0);
  EXPECT_EQ(draw_counts(warm(1e-30f), Logits{1.0f, 1.0000001f, 0}, {}, 100)[1], 100);
}

TEST(Sampler, ATokenDependsOnSeedAndPositionAlone) {
  Sampler fresh(warm());
  Sampler used(warm());
  const Logits other(300, 0.5f);
  for (uint64_t position = 200; position-- > 0;) {
    static_cast<void>(used.sample(other, {}, position * 7));
    EXPECT_EQ(*fresh.sample(kLogits, {}, position), *used.sample(kLogits, {}, position));
  }
  SamplingParams reseeded = warm();
  reseeded.seed = 43;
  Sampler differs(reseeded);
  int n_different = 0;
  for (uint64_t position = 0; position < 200; ++position) {
    if (*fresh.sample(kLogits, {}, position) != *differs.sample(kLogits, {}, position)) ++n_different;
  }
  EXPECT_GT(n_different, 50);
}

TEST(Sampler, RefusesLogitsThatAreNoNumbers) {
  Sampler greedy{SamplingParams{}};
  const auto error = [&](const Logits& logits) {
    const auto sample = greedy.sample(logits, {}, 12);
    if (sample) return std::string("(sampled)");
    EXPECT_EQ(sample.error().code, ErrorCode::kRuntime);
    return sample.error().message;
  };
  EXPECT_EQ(error({0, kNan}),
            "position 12: the logit of token 1 is NaN, expected a finite number; `inferno inspect "
            "--check-tensors` finds damaged weights (and, with --repack-cache, those of a cache), --kv-type "
            "f32 rules out keys and values beyond F16");
  EXPECT_EQ(error({0, 1, kInfinity}),
            "position 12: the logit of token 2 is +inf, expected a finite number; `inferno inspect "
            "--check-tensors` finds damaged weights (and, with --repack-cache, those of a cache), --kv-type "
            "f32 rules out keys and values beyond F16");
  EXPECT_EQ(error({kNan, kInfinity}),
            "position 12: the logit of token 0 is NaN, expected a finite number; `inferno inspect "
            "--check-tensors` finds damaged weights (and, with --repack-cache, those of a cache), --kv-type "
            "f32 rules out keys and values beyond F16");
  EXPECT_EQ(error({-kInfinity, -kInfinity}),
            "position 12: all logits of tokens 0 to 1 are -inf, so none can follow");
}

// What a device has found takes the place of the logits.
TEST(Sampler, TheHighestLogitAloneGivesTheSameTokenAndErrors) {
  Sampler greedy{SamplingParams{}};
  const auto outcome = [](const Result<int32_t>& sample) {
    return sample ? fmt::format("{}", *sample) : sample.error().message;
  };
  const std::vector<std::pair<Logits, int32_t>> rows = {
      {kLogits, 2},   {{-5, -5}, 0},          {{-kInfinity, -kInfinity}, 0},
      {{0, kNan}, 1}, {{0, 1, kInfinity}, 2}, {{kInfinity, kNan}, 0}};
  for (const auto& [logits, token_id] : rows) {
    const HighestLogit highest = {token_id, logits[static_cast<size_t>(token_id)]};
    EXPECT_EQ(outcome(greedy.sample_highest(highest, logits.size(), 12)),
              outcome(greedy.sample(logits, {}, 12)));
  }
  EXPECT_THROW(static_cast<void>(Sampler(warm()).sample_highest({0, 1}, 2, 12)), InternalError);
}

TEST(Sampler, ValidateNamesFieldRangeAndValue) {
  const auto error = [](auto SamplingParams::*field, auto value) {
    SamplingParams params;
    params.*field = value;
    const Status status = validate(params);
    if (status) return std::string();
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THROW(Sampler{params}, InternalError);
    return status.error().message;
  };
  using P = SamplingParams;
  EXPECT_EQ(error(&P::temperature, -0.5f), "temperature: expected a finite number >= 0, found -0.5");
  EXPECT_EQ(error(&P::top_k, -1), "top_k: expected 0 (keep all) or more, found -1");
  EXPECT_EQ(error(&P::top_p, 0.0f), "top_p: expected a number in (0, 1], found 0");
  EXPECT_EQ(error(&P::top_p, 1.5f), "top_p: expected a number in (0, 1], found 1.5");
  EXPECT_EQ(error(&P::min_p, 1.0f), "min_p: expected a number in [0, 1), found 1");
  EXPECT_EQ(error(&P::min_p, -0.25f), "min_p: expected a number in [0, 1), found -0.25");
  EXPECT_EQ(error(&P::repetition_penalty, 0.0f), "repetition_penalty: expected a finite number > 0, found 0");
  for (const auto field : {&P::temperature, &P::top_p, &P::min_p, &P::repetition_penalty}) {
    EXPECT_NE(error(field, kNan), "");
    EXPECT_NE(error(field, kInfinity), "");
  }
  EXPECT_EQ(error(&P::temperature, 0.0f), "");
  EXPECT_EQ(error(&P::top_p, 1.0f), "");
  EXPECT_EQ(error(&P::min_p, 0.999f), "");
}

TEST(Sampler, ChecksThatTheHistoryIsInTheVocabulary) {
  SamplingParams params;
  params.repetition_penalty = 1.1f;
  Sampler sampler(params);
  EXPECT_THROW(static_cast<void>(sampler.sample(kLogits, Ids{8}, 0)), InternalError);
  EXPECT_THROW(static_cast<void>(sampler.sample(kLogits, Ids{-1}, 0)), InternalError);
  EXPECT_THROW(static_cast<void>(sampler.sample({}, {}, 0)), InternalError);
}

// Any parameters on any logits: each token is the one that the definition gives.
RC_GTEST_PROP(Sampler, DrawsWhatTheDefinitionDraws, ()) {
  const auto vocab = *rc::gen::inRange<size_t>(1, 600);
  // Multiples of 1/8 make ties; their distance keeps rounding away from every bound below.
  const auto eighths = *rc::gen::container<std::vector<int>>(vocab, rc::gen::inRange(-64, 65));
  Logits logits(vocab);
  std::transform(eighths.begin(), eighths.end(), logits.begin(),
                 [](int e) { return static_cast<float>(e) / 8; });
  const auto history = *rc::gen::container<Ids>(rc::gen::inRange(0, static_cast<int32_t>(vocab)));
  SamplingParams params;
  params.temperature = static_cast<float>(*rc::gen::inRange(1, 40)) / 10;
  params.top_k = *rc::gen::inRange(0, static_cast<int32_t>(vocab) + 2);
  params.top_p = static_cast<float>(*rc::gen::inRange(1, 101)) / 100;
  params.min_p = static_cast<float>(*rc::gen::inRange(0, 100)) / 100;
  params.repetition_penalty = static_cast<float>(*rc::gen::inRange(5, 30)) / 10;
  params.seed = *rc::gen::arbitrary<uint64_t>();
  const SlowDistribution expected = slow_distribution(params, logits, history);
  Sampler sampler(params);
  for (uint64_t position = 0; position < 20; ++position) {
    const auto sample = sampler.sample(logits, history, position);
    RC_ASSERT(sample.ok());
    RC_ASSERT(static_cast<size_t>(*sample) == slow_draw(expected, {params.seed, position}));
  }
}

}  // namespace
}  // namespace inferno::sampling
