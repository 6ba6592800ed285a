// Reports as the Markdown tables of the seed's benchmark log: a row for each configuration, columns for each
// model; and beside them what the seed does not show: prefill's speed, quartiles, the ceilings, and where the
// time goes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/result.h"

namespace inferno::bench {

// The names of the reports' columns: the model, and as much more (weights' type, cache, backend, threads,
// number) as it takes to tell them apart.
std::vector<std::string> column_names(std::span<const Report> reports);

// Of a configuration's KV cache: "4.2"; "none" for runs without one.
std::string cache_mb(const Setting& setting, const ConfigResult& result);

// All tables. `previous` are earlier reports: each is set against the report of the same model, weights and
// cache in the table of speed-ups, which is absent without a pair.
std::string markdown(std::span<const Report> reports, std::span<const Report> previous = {});

}  // namespace inferno::bench
