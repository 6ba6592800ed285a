#include <fmt/core.h>

#include <algorithm>

#include "apps/completion_words.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

using Kind = CompletedValue::Kind;

// As _arguments wants it after an option: ":NAME:what to offer".
std::string zsh_offer(const CompletedValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "";
    case Kind::kChoices:
      return fmt::format(":{}:({})", value.name, join(value.choices, " "));
    case Kind::kFile:
      return fmt::format(":{}:_files", value.name);
    case Kind::kModel:  // else folders, and all files where there are neither
      return fmt::format(":{}:_files -g \"*.gguf\"", value.name);
    case Kind::kFolder:
      return fmt::format(":{}:_files -/", value.name);
    case Kind::kOther:
      break;
  }
  return fmt::format(":{}: ", value.name);
}

// Brackets and colons end a description.
std::string plain(std::string description) {
  for (const char special : {'[', ']', ':'}) {
    std::replace(description.begin(), description.end(), special, ' ');
  }
  return description;
}

// An option that is given once excludes itself by all its names. A value comes as the next word or after =.
std::string option_specs(const CompletedCommand& command) {
  std::string specs;
  for (const CompletedOption& option : command.options) {
    const std::string times = option.repeats ? "*" : fmt::format("({})", join(option.names, " "));
    for (const std::string& name : option.names) {
      const bool takes_equals = option.value.kind != Kind::kNone && name.starts_with("--");
      specs += " \\\n    " + shell_quoted(fmt::format("{}{}{}[{}]{}", times, name, takes_equals ? "=" : "",
                                                      plain(option.description), zsh_offer(option.value)));
    }
  }
  return specs;
}

std::string function_name(const CompletedCommand& command) {
  std::string name = "_" + command.path;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string leaf_function(const CompletedCommand& command) {
  std::string arguments;
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const std::string place = i + 1 == command.arguments.size() ? "*" : std::to_string(i + 1);
    arguments += " \\\n    " + shell_quoted(place + zsh_offer(command.arguments[i]));
  }
  return fmt::format("{}() {{\n  _arguments{}{}\n}}\n", function_name(command), option_specs(command),
                     arguments);
}

std::string group_function(const CompletedCommand& command) {
  std::string words;
  std::string cases;
  for (const CompletedSubcommand& sub : command.commands) {
    words += fmt::format("    {}\n", shell_quoted(sub.name + ":" + sub.description));
    cases += fmt::format("    {}) {}_{} ;;\n", sub.name, function_name(command), sub.name);
  }
  return fmt::format(
      "{}() {{\n"
      "  local -a commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    if [[ $words[2] == -* ]]; then compadd -- {}; else _describe command commands; fi\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n{}"
      "  esac\n"
      "}}\n",
      function_name(command), words, option_words(command), cases);
}

}  // namespace

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  std::string programs;
  std::string text;
  std::string registered;
  for (const CompletedCommand& command : commands) {
    if (command.path == program_of(command)) {
      programs += " " + command.path;
      registered += fmt::format("compdef {} {}\n", function_name(command), command.path);
    }
    text += command.commands.empty() ? leaf_function(command) : group_function(command);
  }
  // As a file of $fpath the script is the first call of whatever completes the program; otherwise it is
  // sourced.
  return fmt::format(
      "#compdef{}\n{}{}if [[ $funcstack[1] == _inferno ]]; then $_comps[$service] \"$@\"; fi\n", programs,
      text, registered);
}

}  // namespace inferno::apps
