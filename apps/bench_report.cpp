// inferno bench report FILES... -o OUT: a page with charts, or Markdown tables, of what was measured.
#include <memory>
#include <span>
#include <variant>

#include "apps/commands.h"
#include "apps/output.h"
#include "apps/output_file.h"
#include "base/atomic_file.h"
#include "base/text.h"
#include "bench/report/html.h"
#include "bench/report/markdown.h"
#include "bench/report/measurements.h"

namespace inferno::apps {
namespace {

struct BenchReportOptions {
  std::vector<std::string> files;
  std::string output;
  std::vector<std::string> logs;
  std::vector<std::string> previous;
};

// What a file holds, or why it cannot be shown; a history is one of --log's.
Result<std::variant<bench::Report, bench::Ladder>> read_file(const std::string& path) {
  auto measurements = bench::read_measurements(path);
  if (measurements) return measurements;
  const auto log = bench::read_log(path);
  if (!log || log->entries.empty()) return measurements;
  return make_error(ErrorCode::kInvalidArgument,
                    "{}: expected a report or a ladder, found a history of runs; give it as --log {}",
                    escaped(path, path.size()), escaped(path, path.size()));
}

Result<bench::Page> read_page(const BenchReportOptions& options) {
  bench::Page page;
  for (const std::string& path : options.files) {
    TRY_ASSIGN(auto measurements, read_file(path));
    if (auto* report = std::get_if<bench::Report>(&measurements)) {
      page.reports.push_back(std::move(*report));
    } else {
      page.ladders.push_back(std::get<bench::Ladder>(std::move(measurements)));
    }
  }
  for (const std::string& path : options.logs) {
    TRY_ASSIGN(bench::Log log, bench::read_log(path));
    if (log.entries.empty() && !log.warnings.empty()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "{}: expected a history of runs, a JSON object to a line, found no line that is one; "
                        "reports and ladders are given without --log",
                        escaped(path, path.size()));
    }
    std::move(log.entries.begin(), log.entries.end(), std::back_inserter(page.history));
    std::move(log.warnings.begin(), log.warnings.end(), std::back_inserter(page.warnings));
  }
  return page;
}

Result<std::string> markdown(const bench::Page& page, const BenchReportOptions& options) {
  std::vector<bench::Report> previous;
  for (const std::string& path : options.previous) {
    TRY_ASSIGN(bench::Report report, bench::read_report(path));
    previous.push_back(std::move(report));
  }
  std::string text = page.reports.empty() ? "" : bench::markdown(page.reports, previous);
  for (const bench::Ladder& ladder : page.ladders) {
    text += fmt::format("{}### Ladder of {}\n\n", text.empty() ? "" : "\n", escaped(ladder.model)) +
            bench::ladder_table(ladder);
  }
  return text;
}

Status check_usage(const BenchReportOptions& options) {
  const bool tables = options.output.ends_with(".md");
  if (!tables && !options.output.ends_with(".html")) {
    return make_error(ErrorCode::kInvalidArgument, "-o: expected a file name in .html or .md, found {}",
                      quote(options.output));
  }
  if (tables && !options.logs.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--log is shown in a page only: give -o a file name in .html"};
  }
  if (!tables && !options.previous.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--previous is for tables: give -o a file name in .md"};
  }
  if (options.files.empty() && options.logs.empty()) {
    return Error{ErrorCode::kInvalidArgument, "nothing to show: give reports or --log"};
  }
  return {};
}

Result<int> run(const BenchReportOptions& options) {
  TRY(check_usage(options));
  TRY(check_output_file(options.output));
  TRY_ASSIGN(const bench::Page page, read_page(options));
  for (const std::string& warning : page.warnings) warn(warning);
  std::string text;
  if (options.output.ends_with(".md")) {
    TRY_ASSIGN(text, markdown(page, options));
  } else {
    text = bench::html(page);
  }
  TRY(write_file_atomically(options.output, [&](const AppendFn& append) {
    return append(std::as_bytes(std::span(text.data(), text.size())));
  }));
  say_written(options.output);
  return 0;
}

}  // namespace

Run setup_bench_report(Command command) {
  auto options = std::make_shared<BenchReportOptions>();
  command.add_option("FILES", options->files, "JSON files of `inferno bench`: reports and ladders");
  command.add_option("-o,--output", options->output, "The file to write: a page (.html) or tables (.md)")
      .required()
      .value_name("FILE");
  command.add_option("--log", options->logs, "A history of runs (.jsonl) for the page; may be given again")
      .value_name("FILE")
      .repeatable();
  command
      .add_option("--previous", options->previous,
                  "An earlier report for the table of speed-ups; may be given again")
      .value_name("FILE")
      .repeatable();
  command.set_footer(
      "Examples:\n"
      "  inferno bench report benchmarks/reports/*.json -o report.html --log bench/log/generation.jsonl\n"
      "  inferno bench report after.json -o tables.md --previous before.json");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
