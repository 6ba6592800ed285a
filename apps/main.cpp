// One executable, many names: called as `model-generate`, `gguf-inspect`, `tokenizer-demo` or
// `bench-generation` it is that program, otherwise its first argument picks the sub-command.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/commands.h"
#include "apps/help_formatter.h"
#include "apps/output.h"
#include "apps/signals.h"
#include "backend/ceilings.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/text.h"
#include "metrics/telemetry.h"

namespace inferno::apps {
namespace {

std::string environment_help() {
  std::vector<HelpRow> rows;
  for (const environment::Variable& variable : environment::variables()) {
    rows.emplace_back(variable.name, variable.meaning);
  }
  return "The environment variables that inferno reads.\n" + help_section("Environment", rows);
}

// As other programs call it.
bool means_generate(std::string_view word) {
  return word == "run" || word == "chat";
}

// What --help and --version do without, and every command should know before it works for minutes.
int run_checked(const Run& run) {
  if (const auto fresh = backend::wants_fresh_ceilings(); !fresh) return fail(fresh.error());
  return run();
}

int run_inferno(int argc, char** argv) {
  Program program("inferno", "LLM inference with every speed beside its ceiling");
  Command root = program.command();
  root.require_command();
  root.set_footer(
      "Examples:\n"
      "  inferno generate                                    a tale by the demo model\n"
      "  inferno generate model.gguf \"Once upon a time\" 64   64 tokens by a model of yours\n"
      "  inferno inspect model.gguf                          what is in the file\n"
      "  inferno tokenize model.gguf \"Hello, world!\"         ids of a text\n\n"
      "`inferno COMMAND --help` shows a command's options, `inferno help environment` the variables that\n"
      "are read.");
  // What people try who know other programs.
  std::vector<char*> words(argv, argv + argc);
  std::string help = "--help";
  std::string version = "--version";
  if (argc > 1 && (words[1] == std::string_view("-v") || words[1] == std::string_view("-V")))
    words[1] = version.data();
  if (argc > 1 && words[1] == std::string_view("help")) {
    if (argc == 3 && words[2] == std::string_view(kEnvironmentTopic)) {
      write_stdout(environment_help());
      return finish_stdout();
    }
    words.erase(words.begin() + 1);
    words.push_back(help.data());
  }
  // The options of those that are not named would take a start longer than to read the command line;
  // completion scripts have them all.
  const auto is_named = [&](std::string_view name) {
    return std::ranges::find(words, name, [](const char* word) { return std::string_view(word); }) !=
           words.end();
  };
  std::vector<std::pair<Command, Run>> runs;
  for (const CommandRow& row : command_rows()) {
    if (row.name == nullptr) continue;
    const Command command = root.add_command(row.name, row.summary);
    const bool is_needed = is_named(row.name) || is_named(kCompletionCommand);
    runs.emplace_back(command, is_needed ? row.setup(command) : Run());
  }
  if (argc < 2) {
    std::fputs(root.help().c_str(), stderr);
    return 2;
  }
  // An unknown word in the place of the sub-command, before anything else is said about the rest.
  const std::string first = words[1];
  const auto is_first = [&](const auto& entry) { return first == entry.first.name(); };
  if (!first.starts_with('-') && std::ranges::none_of(runs, is_first)) {
    const int code =
        fail(make_error(ErrorCode::kInvalidArgument, "{} is not a command of inferno{}", quote(first),
                        means_generate(first) ? "; did you mean generate?" : root.suggestion(first)));
    std::fputs(help_pointer("inferno").c_str(), stderr);
    return code;
  }
  if (const auto code = program.read(argc, words.data())) return *code;
  for (const auto& [command, run] : runs) {
    if (command.is_given()) return run_checked(run);
  }
  return 2;
}

int run_program(int argc, char** argv) {
  const std::string name = std::filesystem::path(argc > 0 ? argv[0] : "inferno").filename().string();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of write(): finish_stdout()
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file that grows beyond the limit, of which nothing is left then
  install_missing_page_report();
  log::set_program(name);
  if (stderr_shares_stdout()) separate_log_from_text();
  if (Status status = log::configure_from_environment(); !status) {
    // RUST_LOG may speak to other programs.
    if (environment::get("INFERNO_LOG")) return fail(status.error());
    warn(status.error().message);
  }
  if (Status status = telemetry::configure_from_environment(); !status) return fail(status.error());
  for (const CommandRow& row : command_rows()) {
    if (row.link == nullptr || name != row.link) continue;
    Program program(name, row.summary);
    const Run run = row.setup(program.command());
    if (const auto code = program.read(argc, argv)) return *code;
    return run_checked(run);
  }
  return run_inferno(argc, argv);
}

}  // namespace
}  // namespace inferno::apps

int main(int argc, char** argv) {
  try {
    return inferno::apps::run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    return inferno::apps::fail({inferno::ErrorCode::kResource, "out of memory"});
  } catch (const std::exception& error) {
    return inferno::apps::fail({inferno::ErrorCode::kRuntime, error.what()});
  }
}
