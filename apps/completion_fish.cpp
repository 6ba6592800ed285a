#include <fmt/core.h>

#include "apps/completion_words.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

using Kind = CompletedValue::Kind;

// Files that end so, then others.
constexpr const char* kModels = " -k -a '(__fish_complete_suffix .gguf)'";

// -x: nothing but what is offered; -r -F: a file.
std::string fish_offer(const CompletedValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "";
    case Kind::kChoices:
      return fmt::format(" -x -a '{}'", join(value.choices, " "));
    case Kind::kFile:
      return " -r -F";
    case Kind::kModel:
      return std::string(" -x") + kModels;
    case Kind::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case Kind::kOther:
      break;
  }
  return " -x";
}

// Whether the words before the cursor name exactly this command.
constexpr const char* kAt = R"(function __inferno_at
  set -l words (commandline -opc)
  set -l command (string replace -r '.*/' '' -- $words[1])
  for word in $words[2..-1]
    contains -- "$command $word" {}; or break
    set command "$command $word"
  end
  test "$command" = "$argv"
end
)";

// Whether they name the command of the words after the first of $argv, and give it as many arguments as that
// says.
constexpr const char* kArgument = R"(function __inferno_argument
  __inferno_at $argv[2..-1]; or return
  set -l n 0
  set -l skips no
  set -l first (count $argv)
  set -l words (commandline -opc)
  for word in $words[$first..-1]
    if test $skips = yes
      set skips no
    else if contains -- "$argv[2..-1] $word" {}
      set skips yes
    else if not string match -q -- '-?*' $word
      set n (math $n + 1)
    end
  end
  test $n = $argv[1]
end
)";

// One where all are alike, else one for each.
std::string argument_lines(const CompletedCommand& command, const std::string& at) {
  const auto line = [](const std::string& where, const CompletedValue& value) {
    if (value.kind == Kind::kFile) return std::string();
    if (value.kind == Kind::kModel) return where + " -f" + kModels + "\n";
    return where + " -f" + (value.choices.empty() ? "" : fmt::format(" -a '{}'", join(value.choices, " "))) +
           "\n";
  };
  if (command.arguments.empty()) return at + " -f\n";
  if (!arguments_differ(command)) return line(at, command.arguments.front());
  std::string text;
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    text += line(
        fmt::format("complete -c {} -n '__inferno_argument {} {}'", program_of(command), i, command.path),
        command.arguments[i]);
  }
  return text;
}

std::string lines_of(const CompletedCommand& command) {
  const std::string at =
      fmt::format("complete -c {} -n '__inferno_at {}'", program_of(command), command.path);
  std::string text;
  for (const CompletedSubcommand& sub : command.commands) {
    text += fmt::format("{} -f -a {} -d {}\n", at, sub.name, shell_quoted(sub.description));
  }
  text += argument_lines(command, at);
  for (const CompletedOption& option : command.options) {
    text += at;
    for (const std::string& name : option.names) {
      const bool is_long = name.starts_with("--");
      text += fmt::format(" -{} {}", is_long ? "l" : "s", name.substr(is_long ? 2 : 1));
    }
    text += fmt::format("{} -d {}\n", fish_offer(option.value), shell_quoted(option.description));
  }
  return text;
}

}  // namespace

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::string paths;
  std::string lines;
  std::string options;  // whose values are no arguments
  for (const CompletedCommand& command : commands) {
    for (const CompletedOption& option : command.options) {
      if (option.value.kind == Kind::kNone || !arguments_differ(command)) continue;
      for (const std::string& name : option.names) options += shell_quoted(command.path + " " + name) + " ";
    }
    paths += (paths.empty() ? "" : " ") + shell_quoted(command.path);
    lines += lines_of(command);
  }
  return fmt::format(kAt, paths) + fmt::format(kArgument, options) + lines;
}

}  // namespace inferno::apps
