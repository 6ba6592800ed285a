#include "apps/sampling_options.h"

#include <algorithm>
#include <limits>

#include "apps/output.h"
#include "apps/validators.h"

namespace inferno::apps {

void add_sampling_options(Command command, sampling::SamplingParams& params) {
  const auto add = [&](const char* name, auto& value, const Check& check, const char* description) {
    command.add_option(name, value, description).check(check).show_default();
  };
  add("-t,--temperature", params.temperature, number(), "0 takes the likeliest token, more is more varied");
  add("--top-k", params.top_k, whole_number(), "Draw from the k likeliest tokens; 0 keeps all");
  add("--top-p", params.top_p, number(),
      "Draw from the likeliest tokens that reach this share of the probability");
  add("--min-p", params.min_p, number(), "Drop tokens less likely than this share of the likeliest");
  add("--repetition-penalty", params.repetition_penalty, number(),
      "Above 1 discourages what was there before");
  add("--seed", params.seed, whole_number(std::numeric_limits<uint64_t>::max()), "Same seed, same text");
}

// The parameters are named as their options are: top_p is --top-p.
Status check_sampling(const sampling::SamplingParams& params) {
  Status status = sampling::validate(params);
  if (status) return status;
  std::string message = status.error().message;
  std::replace(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(message.find(':')), '_', '-');
  return make_error(ErrorCode::kInvalidArgument, "--{}", message);
}

void warn_of_idle_options(const sampling::SamplingParams& params) {
  if (params.temperature >= 2 && params.top_k != 1) {
    warn(fmt::format("-t {} makes the text all but random: -t is the temperature, threads are --threads",
                     params.temperature));
  }
  if (params.temperature > 0) return;
  const auto idle = [](const char* flag) {
    warn(fmt::format("{} changes nothing at temperature 0; add -t 1 to draw", flag));
  };
  if (params.top_k > 0) idle("--top-k");
  if (params.top_p < 1) idle("--top-p");
  if (params.min_p > 0) idle("--min-p");
  if (params.seed != sampling::SamplingParams().seed) idle("--seed");
}

}  // namespace inferno::apps
