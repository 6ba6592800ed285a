#include "apps/help_formatter.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/table.h"

namespace inferno::apps {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kWidestName = 30;  // a longer one has its description on the next line

std::vector<const CLI::Option*> options_of(const CLI::App& app, bool positional) {
  return app.get_options([&](const CLI::Option* option) { return option->get_positional() == positional; });
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// "-n, --max-new-tokens N"
std::string option_spelling(const CLI::Option& option) {
  std::string text;
  for (const std::string& name : option.get_snames()) text += (text.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) text += (text.empty() ? "--" : ", --") + name;
  const std::string type = value_name(option);
  return option.get_type_size() == 0 || type.empty() ? text : text + " " + type;  // a flag has none
}

HelpRow option_row(const CLI::Option& option) {
  std::string meaning = option.get_description();
  // A flag's default is that it is not there.
  if (option.get_type_size() != 0 && !option.get_default_str().empty()) {
    meaning += fmt::format(" (default: {})", option.get_default_str());
  }
  if (option.get_required() && option.nonpositional()) meaning += " (required)";
  return {option.nonpositional() ? option_spelling(option) : option.get_name(true, false), meaning};
}

std::vector<HelpRow> option_rows(const CLI::App& app, bool positional) {
  std::vector<HelpRow> rows;
  for (const CLI::Option* option : options_of(app, positional)) rows.push_back(option_row(*option));
  return rows;
}

std::vector<HelpRow> help_rows_of_commands(const CLI::App& app) {
  std::vector<HelpRow> rows;
  for (const CLI::App* command : commands_of(app))
    rows.emplace_back(command->get_name(), command->get_description());
  return rows;
}

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::string help = app->get_description() + ".\n\n" + usage_line(*app, name);
    help += commands_section(*app);
    help += help_section("Arguments", option_rows(*app, true));
    help += help_section("Options", option_rows(*app, false));
    if (!app->get_footer().empty()) help += "\n" + app->get_footer() + "\n";
    return help;
  }
};

}  // namespace

std::string value_name(const CLI::Option& option) {
  // The library appends what the checks say of themselves: "N:INT in [1 - 9]".
  const std::string type = option.get_type_name();
  const std::string name = type.substr(0, type.find(':'));
  return name == "INT" || name == "UINT" ? "N" : name == "FLOAT" ? "X" : name;
}

std::string usage_line(const CLI::App& app, const std::string& name) {
  std::string line = "usage: " + name;
  for (const CLI::Option* option : options_of(app, true)) {
    const std::string argument = option->get_name(true, false);
    line += option->get_required() ? " <" + argument + ">" : " [" + argument + "]";
  }
  return line + (commands_of(app).empty() ? " [options]\n" : " <command> [options]\n");
}

std::string commands_section(const CLI::App& app) {
  return help_section("Commands", help_rows_of_commands(app));
}

std::string help_section(const std::string& heading, const std::vector<HelpRow>& rows) {
  if (rows.empty()) return "";
  size_t name_width = 0;
  for (const auto& [name, meaning] : rows) name_width = std::max(name_width, display_width(name));
  name_width = std::min(name_width, kWidestName);
  const size_t indent = 2 + name_width + 2;

  std::string text = "\n" + heading + ":\n";
  for (const auto& [name, meaning] : rows) {
    std::string line = "  " + padded(name, name_width, Align::kLeft) + "  ";
    if (display_width(line) > indent) line = "  " + name + "\n" + std::string(indent, ' ');
    for (const std::string& part : wrapped(meaning, kColumns - indent)) {
      text += line + part + "\n";
      line = std::string(indent, ' ');
    }
  }
  return text;
}

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace inferno::apps
