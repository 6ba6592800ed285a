// What a generation is reported as: the metrics, and how near decode came to the machine's read bandwidth.
#pragma once

#include <optional>
#include <string>

#include "backend/backend.h"
#include "base/json.h"
#include "engine/generate.h"
#include "metrics/metrics.h"
#include "model/load.h"

namespace inferno::apps {

struct Bandwidth {
  double bytes_per_token = 0;           // weights, cache and activations, each once
  double gb_per_s = 0;                  // those over the time of decode
  std::optional<double> peak_gb_per_s;  // measured on the spot, with the threads of the backend; or unknown
  unsigned threads = 1;                 // that the peak is of
  std::string device;                   // or the device whose peak it is; empty on the CPU
  bool steady = true;                   // false: the peak was measured while the machine was busy
};

// nullopt without a decode pass. Asks for the machine's ceilings, which the first time takes some seconds,
// unless the generation was cancelled; where they cannot be measured the peak stays unknown, with a warning.
std::optional<Bandwidth> measure_bandwidth(backend::Backend& backend, const engine::Generated& generated,
                                           const metrics::Metrics& metrics);

// A generation that has ended, and what it ran on; a view.
struct GenerationRun {
  const model::LoadedModel& loaded;
  double load_ms;
  const engine::Request& request;
  const engine::Generated& generated;
  const metrics::Metrics& metrics;
  const std::optional<Bandwidth>& bandwidth;
};

// "interrupted after 5 tokens"
std::string interrupted_text(const engine::Generated& generated);
// Says so before anything is generated, where the model's context has no room for all tokens of the request.
void warn_of_small_context(const model::LoadedModel& loaded, const engine::Request& request);
// Says so where the model's context has ended the text.
void warn_of_full_context(const model::LoadedModel& loaded, const engine::Generated& generated);

// "metrics:" and a line for each figure, values below each other: what ran, how long that took, and
// "bytes_per_token: 6.4 MB, read at 1.234 GB/s:" and below "8.9 % of the 13.9 GB/s that one thread can read
// from memory".
// with_passes adds a line for each forward pass.
std::string metrics_block(const GenerationRun& run, bool with_passes);

Json metrics_json(const GenerationRun& run);
// Where repacked weights came from or went to; null without --repack-cache.
Json repack_cache_json(const model::LoadedModel& loaded);

// n_requests, n_cancelled, n_failed, new_tokens, ttps, and each of ServingMetrics::rows() as an object of its
// statistics or null.
Json serving_json(const metrics::ServingMetrics& serving);
Json guesses_json(const engine::Guesses& guesses);
Json head_screen_json(const metrics::HeadScreenUse& use);
// Seconds of each part of a request, the rest as other_s; together its end-to-end latency.
Json phases_json(const engine::Generated& generated);

}  // namespace inferno::apps
