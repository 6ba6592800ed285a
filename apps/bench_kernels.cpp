// inferno bench kernels: runs kernels_bench, the Google Benchmark program that is built beside this one, and
// keeps its figures as CSV.
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/commands.h"
#include "apps/output.h"
#include "apps/signals.h"
#include "base/atomic_file.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

struct Options {
  std::string filter = ".";
  std::string output = "reports/kernels.csv";
  std::optional<double> min_time;
};

Result<std::string> kernels_bench() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto program = self.parent_path() / "kernels_bench";
  if (!error && std::filesystem::exists(program, error)) return program.string();
  return make_error(ErrorCode::kUnavailable,
                    "kernels_bench is not beside this program: build it with cmake -DINFERNO_BENCH=ON");
}

// The program writes beside the output, which appears when all of it is there.
Result<int> run(const Options& options) {
  install_signal_flag();  // Ctrl-C reaches the other program; we clear up after it
  TRY_ASSIGN(const std::string program, kernels_bench());
  TRY(make_parent_folder(options.output));
  const std::string unfinished = options.output + ".unfinished";
  TRY(check_writable(unfinished));
  std::vector<std::string> arguments = {program, "--benchmark_filter=" + options.filter,
                                        "--benchmark_out=" + unfinished, "--benchmark_out_format=csv"};
  if (options.min_time) arguments.push_back(fmt::format("--benchmark_min_time={}", *options.min_time));
  const Result<int> code = run_attached(arguments);
  std::error_code error;
  const bool has_rows = std::filesystem::file_size(unfinished, error) > 0 && !error;
  if (code && *code == 0 && has_rows) {
    std::filesystem::rename(unfinished, options.output, error);
    if (!error) return 0;
    std::filesystem::remove(unfinished, error);
    return make_error(ErrorCode::kIo, "{}: cannot be written", escaped(options.output, 4096));
  }
  std::filesystem::remove(unfinished, error);
  if (!code) return code;
  if (signal_exit_code() != 0) return signal_exit_code();
  if (*code != 0) return make_error(ErrorCode::kRuntime, "kernels_bench ended with exit code {}", *code);
  return make_error(ErrorCode::kInvalidArgument, "--filter {}: no benchmark matches", quote(options.filter));
}

}  // namespace

Run setup_bench_kernels(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--filter", options->filter, "Benchmarks whose names match, such as gemv/.*/Q8_0")
      ->capture_default_str()
      ->type_name("REGEX");
  app.add_option("--min-time", options->min_time, "Seconds to measure each at least")
      ->check(CLI::PositiveNumber)
      ->type_name("S");
  app.add_option("-o,--output", options->output, "Where the CSV goes")
      ->capture_default_str()
      ->type_name("FILE");
  app.footer("Example:\n  inferno bench kernels --filter 'gemv/.*'");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
