// inferno bench compare A.json B.json: medians, quartiles, verdicts; exit code 1 on a regression, a figure
// that is undecided or one that is missing.
#include <charconv>
#include <memory>

#include "apps/commands.h"
#include "apps/fitted_tables.h"
#include "apps/output.h"
#include "base/text.h"
#include "bench/compare.h"
#include "bench/report/measurements.h"

namespace inferno::apps {
namespace {

struct BenchCompareOptions {
  std::string a, b;
  std::string gate = "3%";
};

// "3%" or "3": a share of 0.03.
Result<double> share(const std::string& text) {
  const std::string digits = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  double percent = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, percent);
  if (error == std::errc() && stop == end && percent >= 0 && percent <= 1000) return percent / 100;
  return make_error(ErrorCode::kInvalidArgument, "--gate: expected a percentage such as 3%, found {}",
                    quote(text));
}

std::string verdict(const bench::Comparison& comparison, double gate) {
  std::string text;
  for (const std::string& line : bench::regressions(comparison, gate)) text += "regression: " + line + "\n";
  const std::vector<std::string> undecided = bench::undecided(comparison, gate);
  for (const std::string& line : undecided) text += "undecided: " + line + "\n";
  for (const std::string& line : comparison.missing) text += "missing: " + line + "\n";
  const bool failed = !text.empty();
  for (const std::string& line : bench::wide_spreads(comparison, gate)) text += "uncertain: " + line + "\n";
  text += fmt::format("gate of {:g} %: {}\n", 100 * gate, failed ? "failed" : "passed");
  if (undecided.empty()) return text;
  return text +
         "What is undecided fails the gate too: a median is worse, and only more trials tell whether B is. "
         "Measure A and B\nagain in turn, with more --trials.\n";
}

Result<int> run(const BenchCompareOptions& options) {
  TRY_ASSIGN(const double gate, share(options.gate));
  TRY_ASSIGN(const bench::Report a, bench::read_report(options.a));
  TRY_ASSIGN(const bench::Report b, bench::read_report(options.b));
  TRY_ASSIGN(const bench::Comparison comparison, bench::compare(a, b));
  for (const std::string& warning : comparison.warnings) warn(warning);
  write_stdout(fitted_tables(bench::comparison_table(comparison), stdout_columns()) + "\n" +
               verdict(comparison, gate));
  const int code = finish_stdout();
  const bool passed = comparison.missing.empty() && bench::regressions(comparison, gate).empty() &&
                      bench::undecided(comparison, gate).empty();
  return code == 0 && !passed ? 1 : code;
}

}  // namespace

Run setup_bench_compare(Command command) {
  auto options = std::make_shared<BenchCompareOptions>();
  command.add_option("A", options->a, "The report to compare with").required();
  command.add_option("B", options->b, "The report that is judged").required();
  command
      .add_option("--gate", options->gate,
                  "Fail when a median of E2E tok/s, decode tok/s or TTFT is worse by more than this")
      .value_name("PERCENT")
      .show_default();
  command.set_footer(
      "Exit code 1 on a regression, where a median is worse by more than the gate without a difference "
      "shown\n"
      "(undecided) or when B lacks what A measured; 2 when the reports cannot be compared.\n"
      "Verdicts are those of a rank-sum test at the 10 % level: with 3 trials a side only complete "
      "separation\n"
      "counts.\n\n"
      "Example:\n  inferno bench compare before.json after.json --gate 5%");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
