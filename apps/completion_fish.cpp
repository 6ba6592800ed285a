#include <fmt/core.h>

#include "apps/completion_words.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

using Kind = CompletedValue::Kind;

// -x: nothing but what is offered; -r -F: a file.
std::string offer(const CompletedValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "";
    case Kind::kChoices:
      return fmt::format(" -x -a '{}'", join(value.choices, " "));
    case Kind::kFile:
      return " -r -F";
    case Kind::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case Kind::kOther:
      break;
  }
  return " -x";
}

// Whether the words before the cursor name exactly this command.
constexpr const char* kAt = R"(function __inferno_at
  set -l command inferno
  for word in (commandline -opc)[2..-1]
    contains -- "$command $word" {}; or break
    set command "$command $word"
  end
  test "$command" = "$argv"
end
)";

std::string lines_of(const CompletedCommand& command) {
  const std::string at = fmt::format("complete -c inferno -n '__inferno_at {}'", command.path);
  std::string text;
  for (const CompletedSubcommand& sub : command.commands) {
    text += fmt::format("{} -f -a {} -d {}\n", at, sub.name, shell_quoted(sub.description));
  }
  if (command.argument.kind == Kind::kChoices) {
    text += fmt::format("{} -f -a '{}'\n", at, join(command.argument.choices, " "));
  } else if (command.argument.kind != Kind::kFile) {
    text += at + " -f\n";
  }
  for (const CompletedOption& option : command.options) {
    text += at;
    for (const std::string& name : option.names) {
      const bool is_long = name.starts_with("--");
      text += fmt::format(" -{} {}", is_long ? "l" : "s", name.substr(is_long ? 2 : 1));
    }
    text += fmt::format("{} -d {}\n", offer(option.value), shell_quoted(option.description));
  }
  return text;
}

}  // namespace

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::string paths;
  std::string lines;
  for (const CompletedCommand& command : commands) {
    paths += (paths.empty() ? "" : " ") + shell_quoted(command.path);
    lines += lines_of(command);
  }
  return fmt::format(kAt, paths) + lines;
}

}  // namespace inferno::apps
