#include "apps/usage_error.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "apps/help_formatter.h"
#include "apps/output.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

// The app that reads the command line in the end: the sub-command of a sub-command, as far as they were
// recognised. `command` becomes all their names.
const CLI::App& innermost(const CLI::App& app, std::string& command) {
  command += (command.empty() ? "" : " ") + app.get_name();
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front(), command);
}

bool has_commands(const CLI::App& app) {
  return !app.get_subcommands([](const CLI::App*) { return true; }).empty();
}

std::string unknown_word(const CLI::App& app, const std::string& command, const std::string& word) {
  if (word.starts_with('-')) {
    return fmt::format("{} is not an option here{}", quote(word), suggestion(app, word));
  }
  if (has_commands(app)) {
    return fmt::format("{} is not a command of {}{}", quote(word), command, suggestion(app, word));
  }
  return fmt::format("{} is one argument too many", quote(word));
}

// All options take one value and are given once; the library says so with the names of C++ types.
std::string wrong_number_of_values(const CLI::App& app, const CLI::ParseError& error) {
  const std::string message = error.what();
  const std::string name = message.substr(0, message.find(':'));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) return message;
  return option->count() > 1 ? fmt::format("{} is given {} times, expected once", name, option->count())
                             : fmt::format("{} needs a value", name);
}

std::string sentence(const CLI::App& app, const std::string& command, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (!unknown.empty()) return unknown_word(app, command, unknown.front());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return wrong_number_of_values(app, error);
  return error.what();
}

}  // namespace

std::string suggestion(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view nearest = nearest_name(word.substr(0, word.find('=')), views);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::string command;
  const CLI::App& target = innermost(app, command);
  const int code = fail({ErrorCode::kInvalidArgument, sentence(target, command, error)});
  const bool arguments_are_wrong =
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr || !target.remaining().empty();
  if (arguments_are_wrong) std::fputs(usage_line(target, command).c_str(), stderr);
  std::fputs(fmt::format("`{} --help` shows what there is\n", command).c_str(), stderr);
  return code;
}

}  // namespace inferno::apps
