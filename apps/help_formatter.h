// How --help looks: a usage line, then aligned sections that fit a terminal of 100 columns.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
class Option;
}  // namespace CLI

namespace inferno::apps {

std::shared_ptr<CLI::FormatterBase> help_formatter();

// What stands for an option's value: "N", "FILE".
std::string value_name(const CLI::Option& option);

// "usage: inferno inspect <FILE> [options]\n"; `name` is all that comes before the arguments.
std::string usage_line(const CLI::App& app, const std::string& name);

// "Commands:" and a row for each that `app` has, "" for none.
std::string commands_section(const CLI::App& app);

using HelpRow = std::pair<std::string, std::string>;  // what to type, what it does
// A heading and its rows, "" without rows.
std::string help_section(const std::string& heading, const std::vector<HelpRow>& rows);

}  // namespace inferno::apps
