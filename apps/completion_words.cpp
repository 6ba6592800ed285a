#include "apps/completion_words.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/help_formatter.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

using Kind = CompletedValue::Kind;

// A .gguf file, of which an argument's or an option's value is the name.
bool means_a_model(const CLI::Option& option, const std::string& name) {
  const bool is_argument = option.get_positional();
  return name == "MODEL" || (is_argument && (name == "FILE" || name == "IN" || name == "gguf_path"));
}

CompletedValue value_of(CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};  // a flag
  CompletedValue value{Kind::kOther, choices_of(option),
                       option.get_positional() ? option.get_name(true, false) : value_name(option)};
  if (!value.choices.empty()) {
    value.kind = Kind::kChoices;
  } else if (value.name == "FOLDER") {
    value.kind = Kind::kFolder;
  } else if (means_a_model(option, value.name)) {
    value.kind = Kind::kModel;
  } else if (option.get_positional() || value.name == "FILE" || value.name == "PROGRAM") {
    value.kind = Kind::kFile;
  }
  return value;
}

CompletedOption completed_option(CLI::Option& option) {
  CompletedOption result{{}, option.get_description(), value_of(option), option.get_expected_max() > 1};
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  return result;
}

void add_command(CLI::App& app, const std::string& parents, std::vector<CompletedCommand>& commands) {
  CompletedCommand command;
  command.name = app.get_name();
  command.path = parents + command.name;
  command.description = app.get_description();
  for (CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) {
      command.options.push_back(completed_option(*option));
    } else {
      command.arguments.push_back(value_of(*option));
    }
  }
  const auto below = app.get_subcommands([](CLI::App*) { return true; });
  for (const CLI::App* sub : below) command.commands.push_back({sub->get_name(), sub->get_description()});
  commands.push_back(command);
  for (CLI::App* sub : below) add_command(*sub, command.path + " ", commands);
}

}  // namespace

std::vector<CompletedCommand> completed_commands(Command root) {
  std::vector<CompletedCommand> commands;
  add_command(root.app(), "", commands);
  return commands;
}

void add_help_command(std::vector<CompletedCommand>& commands, const std::vector<std::string>& topics) {
  CompletedCommand& root = commands.front();
  CompletedCommand help;
  help.name = "help";
  help.path = root.path + " " + help.name;
  help.description = "Show a command's options, or the variables of the environment";
  CompletedValue topic{Kind::kChoices, topics, "COMMAND"};
  for (const CompletedSubcommand& command : root.commands) topic.choices.push_back(command.name);
  help.arguments.push_back(std::move(topic));
  root.commands.push_back({help.name, help.description});
  commands.push_back(std::move(help));
}

bool arguments_differ(const CompletedCommand& command) {
  const auto is_like_first = [&](const CompletedValue& value) {
    const CompletedValue& first = command.arguments.front();
    return value.kind == first.kind && value.choices == first.choices;
  };
  return !std::all_of(command.arguments.begin(), command.arguments.end(), is_like_first);
}

std::string program_of(const CompletedCommand& command) {
  return command.path.substr(0, command.path.find(' '));
}

std::string command_words(const CompletedCommand& command) {
  std::vector<std::string> names;
  for (const CompletedSubcommand& sub : command.commands) names.push_back(sub.name);
  return join(names, " ");
}

std::string option_words(const CompletedCommand& command) {
  std::vector<std::string> names;
  for (const CompletedOption& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return join(names, " ");
}

std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace inferno::apps
