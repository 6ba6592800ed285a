// inferno completion bash|zsh|fish: a completion script made from the very options that the commands declare.
#include <memory>

#include "apps/commands.h"
#include "apps/completion_words.h"
#include "apps/output.h"
#include "apps/validators.h"

namespace inferno::apps {

Run setup_completion(Command command) {
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish").required().check(one_of({"bash", "zsh", "fish"}));
  command.set_footer(
      "Examples:\n"
      "  source <(inferno completion bash)\n"
      "  inferno completion zsh > ~/.zfunc/_inferno              a folder of $fpath\n"
      "  inferno completion fish > ~/.config/fish/completions/inferno.fish");
  return [command, shell] {
    std::vector<CompletedCommand> commands = completed_commands(command.parent());
    add_help_command(commands, {kEnvironmentTopic});
    for (const CommandRow& row : command_rows()) {
      if (row.link == nullptr) continue;
      const Program program(row.link, row.summary);
      const Run run = row.setup(program.command());  // owns what the options refer to
      for (CompletedCommand& completed : completed_commands(program.command()))
        commands.push_back(std::move(completed));
    }
    write_stdout(*shell == "bash"  ? bash_completion(commands)
                 : *shell == "zsh" ? zsh_completion(commands)
                                   : fish_completion(commands));
    return finish_stdout();
  };
}

}  // namespace inferno::apps
