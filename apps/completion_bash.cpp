#include <fmt/core.h>

#include "apps/completion_words.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

using Kind = CompletedValue::Kind;

// The function of the script that offers this value; `:` offers nothing.
std::string bash_offer(const CompletedValue& value) {
  switch (value.kind) {
    case Kind::kChoices:
      return fmt::format("_inferno_words '{}'", join(value.choices, " "));
    case Kind::kFile:
      return "_inferno_files -f";
    case Kind::kModel:
      return "_inferno_models";
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
    cases += fmt::format("    {}) {}; return ;;\n", patterns, bash_offer(option.value));
  }
  return cases;
}

// For $n of them before the cursor; what the last one takes stands for all after it.
std::string argument_offer(const CompletedCommand& command) {
  if (command.arguments.empty()) return ":";
  if (!arguments_differ(command)) return bash_offer(command.arguments.front());
  std::string cases;
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const bool is_last = i + 1 == command.arguments.size();
    cases += fmt::format(" {}) {} ;;", is_last ? "*" : std::to_string(i), bash_offer(command.arguments[i]));
  }
  return fmt::format("case $n in{} esac", cases);
}

// Counts the arguments of the commands in which they differ.
std::string argument_count(const std::vector<CompletedCommand>& commands) {
  std::string options;
  for (const CompletedCommand& command : commands) {
    if (!arguments_differ(command)) continue;
    for (const CompletedOption& option : command.options) {
      if (option.value.kind == Kind::kNone) continue;
      for (const std::string& name : option.names)
        options += fmt::format("{}'{} {}'", options.empty() ? "" : "|", command.path, name);
    }
  }
  return fmt::format(
      "  local n=0\n"
      "  for ((; i < COMP_CWORD; ++i)); do\n"
      "    case \"$command ${{COMP_WORDS[i]}}\" in\n"
      "      {}) if [ \"${{COMP_WORDS[i+1]}}\" != = ]; then ((++i)); fi; continue ;;\n"
      "    esac\n"
      "    case \"${{COMP_WORDS[i]}}\" in =) ((++i)) ;; -?*) ;; *) ((++n)) ;; esac\n"
      "  done\n",
      options);
}

std::string word_case(const CompletedCommand& command) {
  const std::string words = command_words(command);
  return fmt::format("    '{0} -') _inferno_words '{1}' ;;\n    '{0} ') {2} ;;\n", command.path,
                     option_words(command),
                     words.empty() ? argument_offer(command) : fmt::format("_inferno_words '{}'", words));
}

// Words are taken in either case, in theirs where there are such; of a model's name files that end in .gguf
// and folders, any file where there are none.
constexpr const char* kHelpers = R"(_inferno_words() {
  local word
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
  if [ ${#COMPREPLY[@]} -gt 0 ]; then return; fi
  for word in $1; do
    case "${word,,}" in "${current,,}"*) COMPREPLY+=("$word") ;; esac
  done
}
_inferno_models() {
  mapfile -t COMPREPLY < <(compgen -f -X '!*.gguf' -- "$current"; compgen -d -- "$current")
  if [ ${#COMPREPLY[@]} -eq 0 ]; then _inferno_files -f; fi
}
_inferno_files() {
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}
)";

// The command that the words before the cursor name, the word before it and the one that it is in, where
// $programs are all that there are. bash gives
// `--suite=full` as three words.
constexpr const char* kWhere =
    R"(  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" i
  local command="${COMP_WORDS[0]##*/}"
  case " $programs " in *" $command "*) ;; *) command=inferno ;; esac  # an alias
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
  std::string programs;
  for (const CompletedCommand& command : commands) {
    if (command.path == program_of(command)) programs += (programs.empty() ? "" : " ") + command.path;
    paths += fmt::format("{}'{}'", paths.empty() ? "" : "|", command.path);
    values += value_cases(command);
    words += word_case(command);
  }
  return fmt::format(
      "{}_inferno() {{\n  local programs='{}'\n{}"
      "      {}) command+=\" ${{COMP_WORDS[i]}}\" ;;\n"
      "      *) break ;;\n"
      "    esac\n"
      "  done\n{}"
      "  case \"$command $previous\" in\n{}"
      "  esac\n"
      "  local dash=''\n"
      "  case \"$current\" in -*) dash='-' ;; esac\n"
      "  case \"$command $dash\" in\n{}"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _inferno {}\n",
      kHelpers, programs, kWhere, paths, argument_count(commands), values, words, programs);
}

}  // namespace inferno::apps
