#include "apps/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "apps/help_formatter.h"
#include "apps/output.h"
#include "apps/usage_error.h"
#include "backend/cpu_isa.h"
#include "base/text.h"
#include "base/version.h"

namespace inferno::apps {

namespace {

// What a report of a fault should begin with: the build, and what it computes with on this machine.
std::string version_text(const std::string& program) {
  std::string text = fmt::format("{} {}", program, version());
  if (!git_revision().empty()) text += fmt::format(" ({})", git_revision());
  const auto chosen = backend::chosen_isa();
  if (!chosen) return text + "\ninstruction set: " + chosen.error().message;
  std::vector<std::string_view> names;
  for (const backend::CpuIsa* isa : backend::available_isas(cpu_features())) names.push_back(isa->name);
  text += fmt::format("\ninstruction set: {} (here: {})", (*chosen)->name, join(names, ", "));
  const std::string missed = backend::missed_isa();
  return missed.empty() ? text : text + "\nwarning: " + missed;
}

}  // namespace

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::check(Check check) {
  if (check.choices.empty()) {
    option_->check(
        CLI::Validator([judge = std::move(check.judge)](std::string& text) { return judge(text); }, ""));
    return *this;
  }
  // The choices are kept in the validator's name, where choices_of() finds them.
  std::string names;
  for (const std::string& choice : check.choices) names += (names.empty() ? "" : ",") + choice;
  // A choice in other letters is that choice: Q8_0.
  const auto judge = [check](std::string& text) {
    std::string complaint = check.judge(text);
    if (complaint.empty()) return complaint;
    const auto same =
        std::find_if(check.choices.begin(), check.choices.end(),
                     [&](const std::string& choice) { return equals_ignoring_case(choice, text); });
    if (same == check.choices.end()) return complaint;
    text = *same;
    return std::string();
  };
  option_->transform(CLI::Validator(judge, "").name(std::move(names)));  // before all others
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::repeatable() {
  option_->allow_extra_args(false);
  return *this;
}

bool Option::is_given() const {
  return option_->count() > 0;
}

std::vector<std::string> choices_of(CLI::Option& option) {
  std::vector<std::string> choices;
  // Of the library's ways to look at validators only this one knows no name beforehand.
  try {
    std::istringstream names(option.get_validator(0)->get_name());
    for (std::string name; std::getline(names, name, ',');) choices.push_back(name);
  } catch (const CLI::OptionNotFound&) {
  }
  return choices;
}

template <class T>
Option Command::add_option(const std::string& names, T& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}
template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, unsigned&, const std::string&);
template Option Command::add_option(const std::string&, int64_t&, const std::string&);
template Option Command::add_option(const std::string&, uint64_t&, const std::string&);
template Option Command::add_option(const std::string&, float&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<int64_t>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::string>&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);

Option Command::add_option_function(const std::string& names, const Judge& read,
                                    const std::string& description) {
  const std::string name = names.substr(names.rfind(',') + 1);
  return Option(app_->add_option_function<std::string>(
      names,
      [name, read](const std::string& text) {
        const std::string complaint = read(text);
        if (!complaint.empty()) throw CLI::ValidationError(name, complaint);
      },
      description));
}

template <class T>
Option Command::add_flag(const std::string& names, T& value, const std::string& description) {
  return Option(app_->add_flag(names, value, description));
}
// CLI11 takes an optional for a counter and sets it to 0. Of several the last one counts.
template <>
Option Command::add_flag(const std::string& names, std::optional<bool>& value,
                         const std::string& description) {
  CLI::Option* option = app_->add_flag_function(
      names, [&value](int64_t n) { value = n > 0; }, description);
  return Option(option->take_last()->check(CLI::IsMember({"true", "false"})));
}
template Option Command::add_flag(const std::string&, bool&, const std::string&);
template Option Command::add_flag(const std::string&, std::string&, const std::string&);

Command Command::add_command(const std::string& name, const std::string& summary) {
  return Command(app_->add_subcommand(name, summary));
}

void Command::require_command() {
  app_->require_subcommand(1);
}

void Command::set_footer(const std::string& text) {
  app_->footer(text);
}

std::string Command::name() const {
  return app_->get_name();
}

Command Command::parent() const {
  return Command(app_->get_parent());
}

bool Command::is_given() const {
  return app_->parsed();
}

bool Command::is_given(const std::string& option) const {
  return app_->count(option) > 0;
}

std::string Command::help() const {
  return app_->help();
}

std::string Command::suggestion(const std::string& word) const {
  return apps::suggestion(*app_, word);
}

Program::Program(const std::string& name, const std::string& summary)
    : app_(std::make_unique<CLI::App>(summary, name)) {
  app_->formatter(help_formatter());
  app_->set_version_flag("--version", [name] { return version_text(name); });
}

Program::~Program() = default;

Command Program::command() const {
  return Command(app_.get());
}

std::optional<int> Program::read(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    // -hi is -h and -i to the library, and "-hi there" a text.
    const std::span<char*> words(argv, static_cast<size_t>(argc));
    const auto text = std::find_if(words.begin(), words.end(), [](std::string_view word) {
      return word.starts_with("-h") && word.size() > std::string_view("-h").size();
    });
    const auto asks = [](std::string_view word) { return word == "-h" || word == "--help"; };
    if (text != words.end() && std::none_of(words.begin(), words.end(), asks))
      return report_usage(*app_, CLI::ExtrasError(app_->get_name(), {*text}), misread_option(*app_, words));
    write_stdout(app_->help());
    return finish_stdout();
  } catch (const CLI::Success& success) {
    write_stdout(std::string(success.what()) + "\n");
    return finish_stdout();
  } catch (const CLI::ParseError& error) {
    return report_usage(*app_, error, misread_option(*app_, {argv, static_cast<size_t>(argc)}));
  }
  point_to_help(full_name(*app_));
  const std::string misread = misread_option(*app_, {argv, static_cast<size_t>(argc)});
  if (!misread.empty()) return fail({ErrorCode::kInvalidArgument, misread});
  return std::nullopt;
}

}  // namespace inferno::apps
