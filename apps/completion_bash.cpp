#include <fmt/core.h>

#include "apps/completion_words.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

using Kind = CompletedValue::Kind;

// The function of the script that offers this value; `:` offers nothing.
std::string offer(const CompletedValue& value) {
  switch (value.kind) {
    case Kind::kChoices:
      return fmt::format("_inferno_words '{}'", join(value.choices, " "));
    case Kind::kFile:
      return "_inferno_files -f";
    case Kind::kFolder:
      return "_inferno_files -d";
    default:
      return ":";
  }
}

std::string value_cases(const CompletedCommand& command) {
  std::string cases;
  for (const CompletedOption& option : command.options) {
    if (option.value.kind == Kind::kNone) continue;
    std::string patterns;
    for (const std::string& name : option.names) {
      patterns += fmt::format("{}'{} {}'", patterns.empty() ? "" : "|", command.path, name);
    }
    cases += fmt::format("    {}) {}; return ;;\n", patterns, offer(option.value));
  }
  return cases;
}

std::string word_case(const CompletedCommand& command) {
  const std::string words = command_words(command);
  return fmt::format("    '{0} -') _inferno_words '{1}' ;;\n    '{0} ') {2} ;;\n", command.path,
                     option_words(command),
                     words.empty() ? offer(command.argument) : fmt::format("_inferno_words '{}'", words));
}

constexpr const char* kHelpers = R"(_inferno_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}
_inferno_files() {
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}
)";

// The command that the words before the cursor name, the word before it and the one that it is in. bash gives
// `--suite=full` as three words.
constexpr const char* kWhere =
    R"(  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" i
  local command="inferno"
  COMPREPLY=()
  if [ "$current" = = ]; then current=''; fi
  if [ "$previous" = = ]; then previous="${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${COMP_WORDS[i]}" in
)";

}  // namespace

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  std::string paths;
  std::string values;
  std::string words;
  for (const CompletedCommand& command : commands) {
    paths += fmt::format("{}'{}'", paths.empty() ? "" : "|", command.path);
    values += value_cases(command);
    words += word_case(command);
  }
  return fmt::format(
      "{}_inferno() {{\n{}"
      "      {}) command+=\" ${{COMP_WORDS[i]}}\" ;;\n"
      "      *) break ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command $previous\" in\n{}"
      "  esac\n"
      "  local dash=''\n"
      "  case \"$current\" in -*) dash='-' ;; esac\n"
      "  case \"$command $dash\" in\n{}"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _inferno inferno\n",
      kHelpers, kWhere, paths, values, words);
}

}  // namespace inferno::apps
