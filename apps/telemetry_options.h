// --trace and --telemetry-csv: what a command records while it runs, and where that is written.
#pragma once

#include <functional>
#include <string>

#include "apps/command_line.h"
#include "base/result.h"

namespace inferno::apps {

struct TelemetryOptions {
  std::string trace_path;
  // Empty: reports/runtime_metrics.csv if INFENG_ENABLE_TELEMETRY=1 turned telemetry on.
  std::string csv_path;
};

// Whether a command says on stderr which files it wrote.
enum class Says { kWhatItWrote, kNothing };

void add_telemetry_options(Command command, TelemetryOptions& options);

// Runs a command with telemetry on, if a path or INFENG_ENABLE_TELEMETRY asks for it, and then writes the
// files, and the stages by total time to the log (debug); after Ctrl-C too, but not after an error. Paths
// that cannot be written are an error before the command begins. A file that only the environment asked for
// is named on stderr in any case.
Result<int> with_telemetry(const TelemetryOptions& options, Says says,
                           const std::function<Result<int>()>& command);

}  // namespace inferno::apps
