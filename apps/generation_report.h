// What a generation is reported as: the metrics, and how near decode came to the machine's read bandwidth.
#pragma once

#include <optional>
#include <string>

#include "backend/backend.h"
#include "base/json.h"
#include "engine/generate.h"
#include "metrics/metrics.h"

namespace inferno::apps {

struct Bandwidth {
  double bytes_per_token = 0;           // weights, cache and activations, each once
  double gb_per_s = 0;                  // those over the time of decode
  std::optional<double> peak_gb_per_s;  // measured on the spot, with the threads of the backend; or unknown
  unsigned threads = 1;
  bool steady = true;  // false: the peak was measured while the machine was busy
};

// nullopt without a decode pass. Asks for the machine's ceilings, which the first time takes about a second,
// unless the generation was cancelled; where they cannot be measured the peak stays unknown, with a warning.
std::optional<Bandwidth> measure_bandwidth(backend::Backend& backend, const engine::Generated& generated,
                                           const metrics::Metrics& metrics);

// " bytes_per_token: 6.4 MB, read at 1.234 GB/s: 8.9 % of the 13.9 GB/s that one thread can read from memory"
std::string bandwidth_line(const std::optional<Bandwidth>& bandwidth);

Json metrics_json(const metrics::Metrics& metrics, const std::optional<Bandwidth>& bandwidth);

// n_requests, n_cancelled, n_failed, new_tokens, ttps, and each of ServingMetrics::rows() as an object of its
// statistics or null.
Json serving_json(const metrics::ServingMetrics& serving);
// Tokens guessed ahead (--speculative); empty if none were.
std::string guesses_line(const engine::Generated& generated);
Json guesses_json(const engine::Guesses& guesses);
// What the screen of the LM head has saved (--head-screen); empty without one.
std::string head_screen_line(const metrics::HeadScreenUse& use);
Json head_screen_json(const metrics::HeadScreenUse& use);
// Seconds of each part of a request, the rest as other_s; together its end-to-end latency.
Json phases_json(const engine::Generated& generated);

}  // namespace inferno::apps
