// inferno bench kernels: runs kernels_bench, the Google Benchmark program that is built beside this one, and
// keeps its figures as CSV.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "apps/commands.h"
#include "apps/output.h"
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

// Becomes the other program, so that its table comes as it is made.
Result<int> run(const Options& options) {
  TRY_ASSIGN(const std::string program, kernels_bench());
  std::vector<std::string> arguments = {program, "--benchmark_filter=" + options.filter,
                                        "--benchmark_out=" + options.output, "--benchmark_out_format=csv"};
  if (options.min_time) arguments.push_back(fmt::format("--benchmark_min_time={}", *options.min_time));
  const auto folder = std::filesystem::path(options.output).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
    return make_error(ErrorCode::kIo, "{}: the folder cannot be written to", escaped(options.output, 4096));
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  return make_error(ErrorCode::kIo, "{}: cannot be started", escaped(program, 4096));
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
