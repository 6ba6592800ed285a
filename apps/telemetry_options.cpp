#include "apps/telemetry_options.h"

#include "apps/output_file.h"
#include "apps/table.h"
#include "base/atomic_file.h"
#include "base/log.h"
#include "metrics/telemetry.h"

namespace inferno::apps {
namespace {

constexpr std::string_view kModule = "inferno::telemetry";
constexpr const char* kDefaultCsvPath = "reports/runtime_metrics.csv";

// The stages by total time, under INFERNO_LOG=debug.
void log_stages() {
  if (!log::enabled(log::Level::kDebug, kModule)) return;
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.add_row({"stage", "spans", "total ms", "median us", "p95 us"});
  for (const telemetry::StageSummary& stage : telemetry::summarize()) {
    table.add_row({stage.stage, group_digits(stage.count), fmt::format("{:.3f}", stage.total_us * 1e-3),
                   fmt::format("{:.1f}", stage.median_us), fmt::format("{:.1f}", stage.p95_us)});
  }
  std::string text;
  for (const std::string& line : table.lines()) text += line + "\n";
  log::block(log::Level::kDebug, kModule, "stages", text);
}

Status write(const TelemetryOptions& options) {
  if (!options.trace_path.empty()) TRY(telemetry::write_trace(options.trace_path));
  if (!options.csv_path.empty()) TRY(telemetry::flush_csv(options.csv_path));
  return {};
}

void say(const TelemetryOptions& asked, const TelemetryOptions& written, Says says) {
  if (says == Says::kWhatItWrote) {
    for (const std::string& path : {asked.trace_path, asked.csv_path}) {
      if (!path.empty()) say_written(path);
    }
  }
  // Not on the command line, so that nobody would know of it.
  if (asked.csv_path != written.csv_path) say_written(written.csv_path, "INFENG_ENABLE_TELEMETRY");
}

}  // namespace

void add_telemetry_options(Command command, TelemetryOptions& options) {
  command
      .add_option("--trace", options.trace_path,
                  "Write every timed step for a trace viewer (ui.perfetto.dev)")
      .value_name("FILE");
  command.add_option("--telemetry-csv", options.csv_path, "Write every timed step as stage,elapsed_us")
      .value_name("FILE");
}

Result<int> with_telemetry(const TelemetryOptions& options, Says says,
                           const std::function<Result<int>()>& command) {
  TelemetryOptions outputs = options;
  if (telemetry::enabled() && outputs.csv_path.empty()) {
    outputs.csv_path = kDefaultCsvPath;
    TRY(make_parent_folder(outputs.csv_path));  // nobody named it
  }
  TRY(check_outputs_differ({{"--trace", outputs.trace_path}, {"--telemetry-csv", outputs.csv_path}}));
  TRY(check_output_file(outputs.trace_path));
  TRY(check_output_file(outputs.csv_path));
  if (!outputs.trace_path.empty() || !outputs.csv_path.empty()) telemetry::set_enabled(true);
  TRY_ASSIGN(const int code, command());
  telemetry::set_enabled(false);
  if (telemetry::usage().spans > 0) log_stages();
  TRY(write(outputs));
  say(options, outputs, says);
  return code;
}

}  // namespace inferno::apps
