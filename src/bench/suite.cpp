#include "bench/suite.h"

#include <algorithm>

#include "base/text.h"

namespace inferno::bench {
namespace {

constexpr sampling::SamplingParams kGreedy{};
constexpr sampling::SamplingParams kSampled{.temperature = 0.8f, .top_k = 50, .top_p = 0.9f};
constexpr sampling::SamplingParams kFullPipe{
    .temperature = 0.8f, .top_k = 50, .top_p = 0.9f, .repetition_penalty = 1.1f};

struct Tier {
  std::string_view name;
  std::vector<std::string_view> keys;
};

const std::vector<Tier>& tiers() {
  static const std::vector<Tier> tiers = {
      {"quick", {"short", "medium"}},
      {"standard", {"short", "medium", "prefill", "decode", "sampled"}},
      {"full", {"short", "medium", "prefill", "decode", "long", "sampled", "full-pipe"}},
  };
  return tiers;
}

Error unknown(std::string_view what, std::string_view word, const std::vector<std::string_view>& names) {
  const std::string_view nearest = nearest_name(word, names);
  return make_error(ErrorCode::kInvalidArgument, "{}: expected one of {}, found {}{}", what,
                    join(names, ", "), quote(word),
                    nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

}  // namespace

std::span<const Config> configs() {
  static const std::vector<Config> configs = {
      {"short", "short-greedy", 64, 64, kGreedy, "Quick Q&A, baseline latency"},
      {"medium", "medium-greedy", 256, 256, kGreedy, "Standard chat (headline number)"},
      {"prefill", "prefill-heavy", 1024, 64, kGreedy, "Isolates prefill performance"},
      {"decode", "decode-heavy", 64, 1024, kGreedy, "Isolates decode performance"},
      {"long", "long-context", 1024, 1024, kGreedy, "Stress test, longest sequence"},
      {"sampled", "medium-sampled", 256, 256, kSampled, "Sampling transform overhead"},
      {"full-pipe", "medium-full-pipeline", 256, 256, kFullPipe, "All transforms active"},
  };
  return configs;
}

Result<Config> find_config(std::string_view name) {
  for (const Config& config : configs()) {
    if (name == config.key || name == config.report_name) return config;
  }
  return unknown("configuration", name, config_names());
}

std::vector<std::string_view> config_names() {
  std::vector<std::string_view> names;
  for (const Config& config : configs()) names.insert(names.end(), {config.key, config.report_name});
  return names;
}

Result<std::vector<Config>> suite(std::string_view tier) {
  const auto is_it = [&](const Tier& candidate) { return candidate.name == tier; };
  const auto found = std::find_if(tiers().begin(), tiers().end(), is_it);
  if (found == tiers().end()) return unknown("suite", tier, suite_names());
  std::vector<Config> result;
  for (const std::string_view key : found->keys) {
    TRY_ASSIGN(Config config, find_config(key));
    result.push_back(std::move(config));
  }
  return result;
}

std::vector<std::string_view> suite_names() {
  std::vector<std::string_view> names;
  for (const Tier& tier : tiers()) names.push_back(tier.name);
  return names;
}

}  // namespace inferno::bench
