// Metrics: the durations of one request's forward passes, in order, and what follows from them. The first
// pass reads the prompt (prefill), each later one makes one more token (decode).
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace inferno::metrics {

class Metrics {
 public:
  using Duration = std::chrono::nanoseconds;

  // `clock` must outlive the metrics and their copies.
  explicit Metrics(const Clock& clock) : clock_(&clock) {}
  Metrics() : Metrics(steady_clock()) {}

  // Runs f, records how long it took, returns what it returned. If f throws, nothing is recorded: a pass that
  // did not finish made no token.
  template <class F>
  decltype(auto) record_timed(F&& f) {
    make_room();       // so that recording, in a destructor, cannot throw
    struct Recorder {  // records on return by value (movable or not), by reference and of void alike
      Metrics& metrics;
      int exceptions = std::uncaught_exceptions();
      std::chrono::steady_clock::time_point start = metrics.clock_->now();
      ~Recorder() {
        const auto end = metrics.clock_->now();
        if (std::uncaught_exceptions() == exceptions) metrics.per_forward_.push_back(end - start);
      }
    } recorder{*this};
    return std::forward<F>(f)();
  }

  // One sequence's share of a pass that served batch_size sequences; a batch of 0 records nothing.
  void record_forward_share(Duration batch_wall, size_t batch_size);

  const Clock& clock() const { return *clock_; }
  const std::vector<Duration>& per_forward() const { return per_forward_; }
  // Milliseconds of the first pass; nullopt before there is one.
  std::optional<double> time_to_first_token_ms() const;
  // Decode passes per second of decode; nullopt without any (undefined, not zero); 0 if they took no time at
  // all.
  std::optional<double> decode_tokens_per_second() const;

  // Names and values, an em dash where a figure is undefined; with_passes adds a row for each pass.
  struct Row {
    std::string name, value;
  };
  std::vector<Row> rows(bool with_passes) const;
  // The block that print_summary writes: "metrics:" and a line for each row, those of the passes included.
  std::string summary() const;
  // Writes summary() to stdout: the one place where this library prints, because the caller asked it to.
  void print_summary() const;

 private:
  // Sees to it that one more push_back does not allocate.
  void make_room();

  const Clock* clock_;
  std::vector<Duration> per_forward_;
};

}  // namespace inferno::metrics
