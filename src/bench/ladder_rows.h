// What the ladder measured: one model climbing from the plainest way of running it to the fastest, a row for
// each rung. Plain data, its JSON and its table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferno::bench {

struct LadderRow {
  std::string name;  // "KV cache": what this rung adds
  std::string backend, dtype;
  std::string kv;      // "none", "F16"
  std::string absent;  // a sentence why there is nothing to measure here; empty when there is

  double bytes_per_token = 0;  // of a decode pass, counted by the backend
  double ttft_ms = 0;
  double decode_tps = 0;
  std::vector<double> per_forward_ms;  // prefill first
  std::string bound;                   // which ceiling binds decode: "memory", "arithmetic", or empty
  std::optional<double> pct_of_ceiling;
};

struct Ladder {
  std::string model;
  std::string device_name;
  unsigned threads = 1;  // of the rungs that use all
  int64_t prompt_tokens = 0, generated_tokens = 0;
  std::string timestamp, git_revision;
  std::vector<LadderRow> rows;
};

// decode_tps over that of the nearest rung before it that was measured; nullopt for the first, for absent
// ones and when either is 0.
std::optional<double> speed_up(std::span<const LadderRow> rows, size_t i);

std::string to_json(const Ladder& ladder);  // an object with "rungs"; ends with a newline
Result<Ladder> ladder_from_json(std::string_view text);

// A row for each rung, an absent one with its sentence below the table.
std::string ladder_table(const Ladder& ladder);

}  // namespace inferno::bench
