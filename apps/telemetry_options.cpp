#include "apps/telemetry_options.h"

#include "base/atomic_file.h"
#include "metrics/telemetry.h"

namespace inferno::apps {
namespace {

constexpr const char* kDefaultCsvPath = "reports/runtime_metrics.csv";

Status check_path(const std::string& path) {
  if (path.empty()) return {};
  TRY(make_parent_folder(path));
  return check_writable(path);
}

Status write(const TelemetryOptions& options) {
  if (!options.trace_path.empty()) TRY(telemetry::write_trace(options.trace_path));
  if (!options.csv_path.empty()) TRY(telemetry::flush_csv(options.csv_path));
  return {};
}

}  // namespace

void add_telemetry_options(CLI::App& app, TelemetryOptions& options) {
  app.add_option("--trace", options.trace_path, "Write every timed step for a trace viewer (ui.perfetto.dev)")
      ->type_name("FILE");
  app.add_option("--telemetry-csv", options.csv_path, "Write every timed step as stage,elapsed_us")
      ->type_name("FILE");
}

Result<int> with_telemetry(const TelemetryOptions& options, const std::function<Result<int>()>& command) {
  TelemetryOptions outputs = options;
  if (telemetry::enabled() && outputs.csv_path.empty()) outputs.csv_path = kDefaultCsvPath;
  TRY(check_path(outputs.trace_path));
  TRY(check_path(outputs.csv_path));
  if (!outputs.trace_path.empty() || !outputs.csv_path.empty()) telemetry::set_enabled(true);
  TRY_ASSIGN(const int code, command());
  telemetry::set_enabled(false);
  TRY(write(outputs));
  return code;
}

}  // namespace inferno::apps
