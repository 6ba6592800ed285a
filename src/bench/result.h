// What a run of the generation benchmark measured: plain data, as the clock gave it. Everything that is
// derived from it (medians, rates, shares of ceilings) is in figures.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "bench/suite.h"
#include "metrics/profile.h"

namespace inferno::bench {

using Nanoseconds = std::chrono::nanoseconds;

inline double seconds(Nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// What the operations of the prompt's forward passes took; without a KV cache the first of all passes is
// that. The parts sum to the time of all of them, which is that of the passes but for what is between
// operations.
struct PromptParts {
  Nanoseconds matrices{0};    // products with weights
  Nanoseconds attention{0};   // Trial::prefill_cost has its operations
  Nanoseconds rest{0};        // norms, activations, sums, what is stored, and what a step does between these
  uint64_t matrix_flops = 0;  // of `matrices`
};

// One timed request of forced length. The five parts sum to the wall time: `other` is what is left.
struct Trial {
  Nanoseconds wall{0};            // from the request being handed in to its last token's text
  Nanoseconds prefill{0};         // the forward pass over the prompt
  Nanoseconds decode{0};          // all later forward passes
  Nanoseconds sampling{0};        // logits to token, the first included
  Nanoseconds detokenization{0};  // token to text
  Nanoseconds other{0};

  Nanoseconds ttft{0};             // from the request being handed in to the first token leaving the sampler
  std::vector<Nanoseconds> steps;  // of each later token: from the token before it to it leaving the sampler
  int64_t generated_tokens = 0;    // 1 + steps.size()
  metrics::Cost prefill_cost, decode_cost;  // the least to move and compute, counted by the backend
  metrics::HeadScreenUse head_screen;
  // Absent where timing operations would slow them down (Backend::profiling_waits).
  std::optional<PromptParts> prompt_parts;
  // What the machine gave right before and right after it, on average, or once of the two. Absent: the
  // setting's hold.
  std::optional<backend::CeilingsNow> ceilings;
  // What the machine's host took from all processors meanwhile, as a share of the time of the trial's
  // threads, at most 1; absent where nobody looked or the system does not tell.
  std::optional<double> stolen;
  // How long a cache line took from one processor to another and back (backend/line_trip.h), before and after
  // the trial and what was measured beside it (once, after a warm-up that became a trial): the shortest and
  // the longest. Absent where nobody looked.
  struct LineTrips {
    Nanoseconds shortest, longest;
  };
  std::optional<LineTrips> line_trips;
};

struct ConfigResult {
  Config config;
  int64_t prompt_tokens = 0;  // as run
  // Fewer than asked for when --max-seconds ended the run; max_new_tokens may be cut as well, and is said so.
  int64_t max_new_tokens = 0;
  bool cut = false;
  std::string note;           // why it was cut, or why it was not run at all (no trials)
  std::vector<Trial> trials;  // in the order they ran; warm-up runs are not among them
  int warmup_runs = 0;
  int disturbed_trials = 0;  // that were run besides and do not count (RunOptions::stolen_time, line_trip)
  uint64_t cache_bytes = 0;  // 2 * layers * kv heads * head_dim * bytes * (prompt + generated tokens)
  uint64_t peak_host_bytes = 0;  // highest resident set of the process during these runs
  // Allocated on the device: most during these runs, and after them; absent on the CPU.
  std::optional<uint64_t> peak_gpu_bytes, end_gpu_bytes;
};

// Where and with what it ran: the same for all configs of a report.
struct Setting {
  std::string model;  // a name for people; what stands in file names is slug(model), see report/report_json.h
  std::string model_path;  // as given: a path's last component, "synthetic:…" or "demo"
  std::string dtype;       // of the weights: "Q8_0"
  std::string kv_type;     // "F16"
  bool use_kv_cache = true;
  std::string suite;  // "quick", "standard", "full" or "custom"
  uint64_t seed = 42;
  backend::DeviceInfo device;
  std::string device_name;  // "AMD EPYC …", "NVIDIA H200"
  backend::Ceilings ceilings;
  std::string engine_version;
  std::string git_revision;                     // of the build; "-dirty" appended; empty outside a repository
  std::string timestamp;                        // UTC, ISO 8601
  uint64_t model_bytes = 0;                     // of all weights
  std::optional<uint64_t> post_load_gpu_bytes;  // allocated on the device; absent on the CPU
};

struct Report {
  Setting setting;
  std::vector<ConfigResult> results;
};

}  // namespace inferno::bench
