// Timeline: when what happened to one request. The latencies that the field compares engines by are each
// defined here, once; the names are those of vLLM's benchmarks and of the scheduler note (STIL, TTPS).
#pragma once

#include <chrono>
#include <optional>
#include <vector>

namespace inferno::metrics {

using TimePoint = std::chrono::steady_clock::time_point;
using Seconds = std::chrono::duration<double>;

struct Timeline {
  std::optional<TimePoint> enqueued;    // handed to the scheduler
  std::optional<TimePoint> dispatched;  // taken from the queue to be run
  std::vector<TimePoint> tokens;        // each new token leaving the sampler
  std::optional<TimePoint> finished;    // its last text delivered, or the request given up

  // Every figure is undefined (nullopt) until what it spans has happened.

  // Time to first token: from enqueued to the first token leaving the sampler.
  std::optional<Seconds> ttft() const;
  // Scheduler time in loop: from enqueued to dispatched.
  std::optional<Seconds> stil() const;
  // Inter-token latencies: from each token to the next, n_tokens - 1 of them.
  std::vector<Seconds> itl() const;
  // Time per output token after the first: the mean of itl(); undefined below two tokens.
  std::optional<Seconds> tpot() const;
  // End-to-end latency: from enqueued to finished.
  std::optional<Seconds> e2el() const;
  // Tokens per second of this request: new tokens / e2el; 0 when that took no time.
  std::optional<double> tps() const;
};

// Where the time of one request went. What no part claims is waiting and bookkeeping.
struct Phases {
  std::chrono::nanoseconds prefill{0};         // forward passes over the prompt
  std::chrono::nanoseconds decode{0};          // later forward passes
  std::chrono::nanoseconds sampling{0};        // logits to token
  std::chrono::nanoseconds detokenization{0};  // token to text, and handing it over
};

}  // namespace inferno::metrics
