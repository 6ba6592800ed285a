// One executable, many names: called as `model-generate`, `gguf-inspect` or `tokenizer-demo` it is that program,
// otherwise its first argument picks the sub-command.
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "apps/output.h"
#include "base/log.h"

namespace inferno::apps {
namespace {

struct Command {
  const char* name;
  const char* link;  // the name under which it is a program of its own, or nullptr
  const char* summary;
  Run (*setup)(CLI::App& app);
};

constexpr Command kCommands[] = {
    {"generate", nullptr, "Generate text with a model, or with the demo model inside", setup_generate},
    {"inspect", "gguf-inspect", "Show what is inside a GGUF file", setup_inspect},
    {"tokenize", nullptr, "Turn text into token ids", setup_tokenize},
    {"logits", nullptr, "Write the logits of a prompt to a .npy file", setup_logits},
    {nullptr, "model-generate", "Generate greedily and show every number", setup_model_generate},
    {nullptr, "tokenizer-demo", "Show the tokens of a text and the way back", setup_tokenizer_demo},
};

int parse_and_run(CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run();
}

int run_program(int argc, char** argv) {
  const std::string program = std::filesystem::path(argc > 0 ? argv[0] : "inferno").filename().string();
  log::set_program(program);
  if (Status status = log::configure_from_environment(); !status) return fail(status.error());
  for (const Command& command : kCommands) {
    if (command.link != nullptr && program == command.link) {
      CLI::App app(command.summary, program);
      return parse_and_run(app, argc, argv, command.setup(app));
    }
  }
  CLI::App app("LLM inference with every speed beside its ceiling", "inferno");
  app.set_version_flag("--version", "inferno " INFERNO_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Run>> runs;
  for (const Command& command : kCommands) {
    if (command.name == nullptr) continue;
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    runs.emplace_back(sub, command.setup(*sub));
  }
  return parse_and_run(app, argc, argv, [&] {
    for (auto& [sub, run] : runs) {
      if (sub->parsed()) return run();
    }
    return 2;
  });
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
