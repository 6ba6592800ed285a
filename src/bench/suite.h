// The seven configurations of the generation benchmark and the tiers that they make up.
// Source: the seed's generation benchmark log; the report names are those of its JSON files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sampling/sampler.h"

namespace inferno::bench {

struct Config {
  std::string key;          // "short": as tables and logs name it
  std::string report_name;  // "short-greedy": config_name in JSON reports
  int64_t prompt_tokens = 0;
  int64_t max_new_tokens = 0;
  sampling::SamplingParams sampling;
  std::string purpose;
};

// short, medium, prefill, decode, long, sampled, full-pipe.
std::span<const Config> configs();
// By either name. kInvalidArgument with the nearest name.
Result<Config> find_config(std::string_view name);
std::vector<std::string_view> config_names();  // both of each

// quick (2), standard (5) or full (7), in the order of configs(). kInvalidArgument with the nearest name.
Result<std::vector<Config>> suite(std::string_view tier);
std::vector<std::string_view> suite_names();

}  // namespace inferno::bench
