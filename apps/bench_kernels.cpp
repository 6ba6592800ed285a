// inferno bench kernels: runs kernels_bench, the Google Benchmark program that is built beside this one, and
// keeps its figures as CSV.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/commands.h"
#include "apps/output.h"
#include "apps/output_file.h"
#include "apps/signals.h"
#include "apps/text_input.h"
#include "apps/validators.h"
#include "base/atomic_file.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

constexpr const char* kDefaultOutput = "reports/kernels.csv";

struct BenchKernelsOptions {
  std::string filter = ".";
  std::string output = kDefaultOutput;
  std::optional<double> min_time;
};

Result<std::string> kernels_bench() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto program = self.parent_path() / "kernels_bench";
  if (!error && std::filesystem::exists(program, error)) return program.string();
  return make_error(ErrorCode::kUnavailable,
                    "kernels_bench is not beside this program; in the source folder: cmake --preset release "
                    "-DINFERNO_BENCH=ON && cmake --build build/release");
}

// In quotes where a comma or a quote is part of it.
std::string cell(const Json& row, const std::string& key) {
  const auto found = row.find(key);
  if (found == row.end()) return "";
  if (!found->is_string()) return json_text(*found);
  std::string text;
  for (const char c : found->get_ref<const std::string&>()) text += c == '"' ? "\"\"" : std::string(1, c);
  return text.find_first_of(",\"\n") == std::string::npos ? text : '"' + text + '"';
}

// A row for each benchmark, a column for each figure that any of them has, and the ceiling that
// pct_of_ceiling is of, which is the benchmark's label. "" without a row. (Google Benchmark's own CSV ends
// the program when one benchmark has a figure that another has not.)
std::string to_csv(const Json& json) {
  const auto rows = json.is_object() ? json.value("benchmarks", Json::array()) : Json::array();
  if (rows.empty()) return "";
  std::vector<std::string> columns = {"name", "iterations", "real_time", "cpu_time", "time_unit"};
  for (const auto& row : rows) {
    for (const auto& [key, value] : row.items()) {
      const bool is_new = std::find(columns.begin(), columns.end(), key) == columns.end();
      if (is_new && value.is_number_float()) columns.push_back(key);
    }
  }
  std::string csv = fmt::format("{},ceiling\n", join(columns, ","));
  columns.push_back("label");
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(cell(row, column));
    csv += fmt::format("{}\n", join(cells, ","));
  }
  return csv;
}

// The program writes beside the output, which appears when all of it is there.
Result<int> run(const BenchKernelsOptions& options) {
  install_signal_flag();  // Ctrl-C reaches the other program; we clear up after it
  TRY_ASSIGN(const std::string program, kernels_bench());
  if (options.output == kDefaultOutput) TRY(make_parent_folder(options.output));
  TRY(check_output_file(options.output));
  const std::string unfinished = options.output + ".unfinished";
  TRY(check_writable(unfinished));
  std::vector<std::string> arguments = {program, "--benchmark_filter=" + options.filter,
                                        "--benchmark_out=" + unfinished, "--benchmark_out_format=json"};
  if (options.min_time) arguments.push_back(fmt::format("--benchmark_min_time={}", *options.min_time));
  const Result<int> code = run_attached(arguments);
  const Result<std::string> text = read_text(unfinished);
  std::error_code error;
  std::filesystem::remove(unfinished, error);
  const Result<Json> json = text ? parse_json(*text) : text.error();
  const std::string csv = json ? to_csv(*json) : "";
  if (code && *code == 0 && !csv.empty()) {
    TRY(write_file_atomically(options.output,
                              [&](const AppendFn& append) { return append(std::as_bytes(std::span(csv))); }));
    say_written(options.output);
    return 0;
  }
  if (!code) return code;
  if (signal_exit_code() != 0) return signal_exit_code();
  if (*code != 0) return make_error(ErrorCode::kRuntime, "kernels_bench ended with exit code {}", *code);
  if (!json) return json.error();
  return make_error(ErrorCode::kInvalidArgument, "--filter {}: no benchmark matches", quote(options.filter));
}

}  // namespace

Run setup_bench_kernels(Command command) {
  auto options = std::make_shared<BenchKernelsOptions>();
  command.add_option("--filter", options->filter, "Benchmarks whose names match, such as gemv/.*/Q8_0")
      .show_default()
      .value_name("REGEX");
  command.add_option("--min-time", options->min_time, "Seconds to measure each at least")
      .check(seconds())
      .value_name("S");
  command.add_option("-o,--output", options->output, "Where the CSV goes")
      .show_default()
      .check(not_empty())
      .value_name("FILE");
  command.set_footer(
      "The warning of a library built as DEBUG is about the distribution's Google Benchmark, not about "
      "inferno.\n\n"
      "Example:\n  inferno bench kernels --filter 'gemv/.*'");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
