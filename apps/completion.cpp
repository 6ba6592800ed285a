// inferno completion bash|zsh|fish: a completion script made from the very options that the commands declare.
#include <memory>

#include "apps/commands.h"
#include "apps/output.h"
#include "apps/validators.h"

namespace inferno::apps {
namespace {

struct Word {
  std::string text;
  std::string description;
};

// "--backend" and its help for every long option; short ones where there is no long one.
std::vector<Word> option_words(const CLI::App& app) {
  std::vector<Word> words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    const std::string name = option->get_lnames().empty() ? fmt::format("-{}", option->get_snames().front())
                                                          : fmt::format("--{}", option->get_lnames().front());
    words.push_back({name, option->get_description()});
  }
  return words;
}

std::vector<const CLI::App*> subcommands(const CLI::App& root) {
  return root.get_subcommands([](const CLI::App*) { return true; });
}

std::string joined(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += (text.empty() ? "" : " ") + word.text;
  return text;
}

// For a single-quoted shell string.
std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string bash(const CLI::App& root) {
  std::string names;
  std::string cases;
  for (const CLI::App* sub : subcommands(root)) {
    names += (names.empty() ? "" : " ") + sub->get_name();
    cases += fmt::format("    {}) words={} ;;\n", sub->get_name(), shell_quoted(joined(option_words(*sub))));
  }
  return fmt::format(
      "_inferno() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words=''\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- \"$current\")\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n"
      "{}"
      "  esac\n"
      "  case \"$current\" in\n"
      "    -*) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\") ;;\n"
      "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _inferno inferno\n",
      names, cases);
}

std::string zsh(const CLI::App& root) {
  std::string commands;
  std::string cases;
  for (const CLI::App* sub : subcommands(root)) {
    commands += fmt::format("    {}\n", shell_quoted(sub->get_name() + ":" + sub->get_description()));
    std::string options;
    for (const Word& word : option_words(*sub)) {
      std::string description = word.description;
      for (const char special : {'[', ']', ':'})
        std::replace(description.begin(), description.end(), special, ' ');
      options += " " + shell_quoted(fmt::format("{}[{}]", word.text, description));
    }
    cases += fmt::format("    {}) _arguments{} '*:file:_files' ;;\n", sub->get_name(), options);
  }
  return fmt::format(
      "#compdef inferno\n"
      "_inferno() {{\n"
      "  local -a commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n{}"
      "  esac\n"
      "}}\n"
      "compdef _inferno inferno\n",
      commands, cases);
}

std::string fish(const CLI::App& root) {
  std::string text;
  for (const CLI::App* sub : subcommands(root)) {
    text += fmt::format("complete -c inferno -n __fish_use_subcommand -f -a {} -d {}\n", sub->get_name(),
                        shell_quoted(sub->get_description()));
    for (const Word& word : option_words(*sub)) {
      const bool is_long = word.text.starts_with("--");
      text += fmt::format("complete -c inferno -n '__fish_seen_subcommand_from {}' -{} {} -d {}\n",
                          sub->get_name(), is_long ? "l" : "s", word.text.substr(is_long ? 2 : 1),
                          shell_quoted(word.description));
    }
  }
  return text;
}

}  // namespace

Run setup_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(one_of({"bash", "zsh", "fish"}));
  app.footer(
      "Examples:\n"
      "  source <(inferno completion bash)\n"
      "  inferno completion fish > ~/.config/fish/completions/inferno.fish");
  return [&app, shell] {
    const CLI::App& root = *app.get_parent();
    write_stdout(*shell == "bash" ? bash(root) : *shell == "zsh" ? zsh(root) : fish(root));
    return finish_stdout();
  };
}

}  // namespace inferno::apps
