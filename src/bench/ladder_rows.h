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
  std::string device;  // what it ran on where that is not the ladder's device_name: "NVIDIA H200"; else empty
  std::string kv;      // "none", "F16"
  std::string absent;  // a sentence why there is nothing to measure here; empty when there is
  std::string note;    // how the row differs from what was asked for: that it was cut; mostly empty

  double bytes_per_token = 0;  // of a decode pass, counted by the backend
  double ttft_ms = 0;
  double decode_tps = 0;
  int64_t generated_tokens = 0;      // fewer than the ladder's when the row was cut
  std::vector<double> per_token_ms;  // the prefill's forward pass, then from each token to the next
  std::string bound;                 // which ceiling binds decode: "memory", "arithmetic", or empty
  std::optional<double> pct_of_ceiling;
};

struct Ladder {
  std::string model;
  std::string device_name;                          // the CPU's
  unsigned threads = 1;                             // of the rungs that use all
  int64_t prompt_tokens = 0, generated_tokens = 0;  // as asked for
  std::string timestamp, git_revision;
  std::vector<LadderRow> rows;
};

// How many times faster a rung decodes than the nearest one before it that was measured: by their decode_tps
// when both generated equally many tokens, else by the time of the tokens that both generated, the first
// apart. nullopt for the first rung, for absent ones and when there is no decoding in either.
std::optional<double> speed_up(std::span<const LadderRow> rows, size_t i);

std::string to_json(const Ladder& ladder);  // an object with "rungs"; ends with a newline
Result<Ladder> ladder_from_json(std::string_view text);

// "parallel"; of a device "cuda, NVIDIA H200".
std::string backend_text(const LadderRow& row);

// A row for each rung; below the table why one is absent, notes, and where a rung was cut what its speed-up
// is.
std::string ladder_table(const Ladder& ladder);

}  // namespace inferno::bench
