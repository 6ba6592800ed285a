// The history of benchmark runs: a file of JSON lines (bench/log/*.jsonl), one for each run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/result.h"

namespace inferno::bench {

// What of a run outlives its report: medians.
struct LogEntry {
  struct Medians {
    double e2e_tps = 0, ttft_ms = 0;
    std::optional<double> decode_tps;  // step to step, without the first token
    std::optional<double> step_p50_ms;
    std::optional<double> prefill_pct_of_ceiling, decode_pct_of_ceiling, decode_gb_per_s;
    std::optional<double> decode_pct_of_all_bytes;  // Figures::decode_of_all_bytes
    std::string decode_bound;                       // "memory", "arithmetic" or empty
    // Of the time of a prompt, what neither products with weights nor attention took, in %.
    std::optional<double> prefill_rest_pct;
  };
  // Of the trials where the host had the processors so far apart: places.h.
  struct Place : Medians {
    int64_t line_trip_ns = 0;
    int64_t trials = 0;
    std::optional<double> read_gb_per_s;
  };
  struct Config : Medians {
    std::string key;
    int64_t prompt_tokens = 0, generated_tokens = 0;  // as run
    int64_t asked_prompt_tokens = 0, asked_new_tokens = 0;
    bool cut = false;
    std::string note;           // why it was cut
    std::vector<Place> places;  // empty where nobody looked
  };
  std::string timestamp;  // UTC, ISO 8601: sorts as text
  std::string git_revision, engine_version;
  std::string model, dtype, kv_type, suite;
  bool use_kv_cache = true;
  std::string backend, device_name, isa;
  unsigned threads = 1;
  std::vector<Config> configs;  // those with trials

  // What runs that may stand on one line of a chart have in common.
  std::string series() const;
};

LogEntry log_entry(const Report& report);
std::string to_json_line(const LogEntry& entry);  // ends with a newline
Result<LogEntry> log_entry_from_json(std::string_view line);

// Whether append_to_log() could begin: asked before the work. Makes nothing. A file that is there and does
// not begin as a history does is refused.
Status check_log(const std::string& path);
// Adds a line to the file, which is made if need be: the whole line or nothing, also when several processes
// do it at once.
Status append_to_log(const std::string& path, const LogEntry& entry);

struct Log {
  std::vector<LogEntry> entries;      // as they stand in the file
  std::vector<std::string> warnings;  // one for each line that is no entry: "path:line: why"
};
// Empty lines do not count. An error only when the file cannot be read.
Result<Log> read_log(const std::string& path);

}  // namespace inferno::bench
