// What a completion script knows of the commands: read off the options that they declare, so that there is no
// second list.
#pragma once

#include <string>
#include <vector>

#include "apps/command_line.h"

namespace inferno::apps {

struct CompletedValue {
  enum class Kind { kNone, kChoices, kFile, kModel, kFolder, kOther };
  Kind kind = Kind::kNone;
  std::vector<std::string> choices;
  std::string name;  // "FILE"
};

struct CompletedOption {
  std::vector<std::string> names;  // with their dashes
  std::string description;
  CompletedValue value;
  bool repeats = false;
};

struct CompletedSubcommand {
  std::string name;
  std::string description;
};

struct CompletedCommand {
  std::string path;  // "inferno bench compare"
  std::string name;  // the last word of it
  std::string description;
  std::vector<CompletedOption> options;
  std::vector<CompletedSubcommand> commands;
  std::vector<CompletedValue> arguments;
};

// The root, then every command below it, parents first.
std::vector<CompletedCommand> completed_commands(Command root);

// `inferno help`, which is no command of the root's: it takes the names of those that are, and these.
void add_help_command(std::vector<CompletedCommand>& commands, const std::vector<std::string>& topics);

// Whether it matters how many arguments there are already.
bool arguments_differ(const CompletedCommand& command);
// "inferno" of "inferno bench compare".
std::string program_of(const CompletedCommand& command);

// Of a command's names or a value's choices: words with a space between them.
std::string command_words(const CompletedCommand& command);
std::string option_words(const CompletedCommand& command);
// For a single-quoted shell string.
std::string shell_quoted(const std::string& text);

// Of `inferno` and all below it, and of each program.
std::string bash_completion(const std::vector<CompletedCommand>& commands);
std::string zsh_completion(const std::vector<CompletedCommand>& commands);
std::string fish_completion(const std::vector<CompletedCommand>& commands);

}  // namespace inferno::apps
