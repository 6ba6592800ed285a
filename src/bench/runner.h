// Runs the configurations of a suite on a loaded model: requests of forced length through the engine, one at
// a time, warm-ups first.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/result.h"
#include "bench/time_plan.h"
#include "engine/engine.h"
#include "model/load.h"

namespace inferno::bench {

// A trial is disturbed when the host took more than this share of it (Trial::stolen), or moved its processors
// meanwhile (places.h).
constexpr double kDisturbed = 0.02;

// A row's note tells when decode stood still for more than this share of its time (stalled_share).
constexpr double kStalled = 0.1;

struct RunOptions {
  int warmup_runs = 2;
  int trials = 3;
  bool use_kv_cache = true;
  DType kv_type = DType::kF16;
  // Before and after each trial, in a second or two, which count among max_seconds: where not all runs fit
  // beside them they take a quarter of it at most, and the note says how many of them had to be left out.
  bool measures_ceilings = false;
  // What the machine's host has taken so far (base/stolen_time.h). Where it is given and max_seconds is not,
  // there are more trials until enough are undisturbed, at most twice as many; the least disturbed count, and
  // the note says so.
  std::function<std::optional<Nanoseconds>()> stolen_time;
  // Likewise how long a cache line takes from one of so many threads' processors to another and back
  // (backend/line_trip.h).
  std::function<std::optional<Nanoseconds>(unsigned threads)> line_trip;
  std::optional<std::string> prompt;  // repeated or cut to a config's length; else a passage of our own
  // For the whole suite, shared among its configs as time_plan.h says. The first config has no plan before
  // its first token. A config's first trial ends with its part of the share, after the token that it is at;
  // its other trials are as long as the first. When all the time is over a prompt is given up before its next
  // layer, a token is finished.
  std::optional<double> max_seconds;
};

struct Progress {
  size_t config = 0, n_configs = 0;  // config counts from 0
  std::string_view key;
  bool warmup = false;
  int run = 0, n_runs = 0;  // run counts from 0, among warm-ups or among trials
  int64_t tokens = 0, max_new_tokens = 0;
  double elapsed_s = 0;
  // Of the whole suite, from the speed so far; unknown until there is a token.
  std::optional<double> left_s;
};
using OnProgress = std::function<void(const Progress&)>;

class Runner {
 public:
  // The model outlives the runner. `cancelled` ends the run before the next layer; trials that are whole by
  // then are kept.
  Runner(const model::LoadedModel& loaded, RunOptions options, OnProgress on_progress = {},
         const std::atomic<bool>* cancelled = nullptr, const Clock& clock = steady_clock());

  // A result for each config in order; one that does not fit the model's context, that time ran out for or
  // that failed has no trials and a note. Errors: kInvalidArgument when the prompt has no tokens.
  Result<std::vector<ConfigResult>> run(const std::vector<Config>& configs);

  // Prompt ids of exactly n tokens.
  Result<std::vector<int32_t>> prompt_ids(int64_t n) const;

  // Before the first trial; later calls do nothing. Lets the backend finish, for some seconds at most, what
  // it would do beside the work: huge pages pay for themselves with the time that a program runs.
  void settle();

 private:
  static constexpr double kForever = std::numeric_limits<double>::infinity();
  static constexpr double kCeilingsGuess_s = 1;  // before any were measured
  // A config whose turn it is, and those after it.
  struct Row {
    std::span<const Config> rest;
    double begin_s;  // on our clock: since the beginning of the suite
  };
  // Of what the pace is by now.
  RowPlan plan(const Row& row) const;
  int n_ceilings(const Row& row) const;
  void run_row(const Row& row, ConfigResult& result);
  std::optional<backend::CeilingsNow> ceilings_now(const Row& row, ConfigResult& result);
  void reset_peak_memory();
  void note_peak_memory(ConfigResult& result);
  Status run_trials(const Row& row, ConfigResult& result);
  // Since `before`, of the time of the trial's threads.
  std::optional<double> stolen_share(std::optional<Nanoseconds> before, const Trial& trial) const;
  bool has_enough_trials(const ConfigResult& result) const;
  bool has_time_again(const Row& row, const RowPlan& plan, const Trial& first) const;
  void add_note(ConfigResult& result) const;
  engine::Request request(const Config& config, const std::vector<int32_t>& ids,
                          int64_t max_new_tokens) const;
  // One request, of as many tokens as the result has by now, or fewer. nullopt when not even the first token
  // was there in time.
  Result<std::optional<Trial>> run_once(engine::Engine& engine, const Row& row,
                                        const std::vector<int32_t>& ids, const ConfigResult& result);
  // Of a run that began then: no token begins after it.
  double token_deadline(const Row& row, double begin, const ConfigResult& result) const;
  void report_progress(const Row& row, double begin);
  double end() const;  // of the whole suite
  double elapsed() const;
  bool is_cancelled() const;

  const model::LoadedModel& loaded_;
  RunOptions options_;
  OnProgress on_progress_;
  const std::atomic<bool>* cancelled_;
  const Clock& clock_;
  std::chrono::steady_clock::time_point begin_;
  Progress progress_;
  Pace pace_;
  double ceilings_s_ = kCeilingsGuess_s;  // that the last ones took
  double row_ceilings_s_ = 0;             // that those of the row have taken
  int row_n_ceilings_ = 0;
  bool peak_is_ours_ = true;  // whether the peak of memory is that of runs and nothing else
  bool is_settled_ = false;
  uint64_t pass_bytes_;  // that a token's pass reads, as the last run had it; of all weights before
};

// What a cache holds of `tokens` positions, every layer at full length, as the seed's log counts it:
// 2 * layers * kv heads * head_dim * bytes of an element * tokens.
uint64_t cache_bytes(const kv::Config& config, int64_t tokens);

}  // namespace inferno::bench
