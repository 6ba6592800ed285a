// What is said when a command line cannot be understood.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace inferno::apps {

// "; did you mean --seed?" for an option or command of `app`, "" when none is near.
std::string suggestion(const CLI::App& app, const std::string& word);

// "inferno bench compare": the names of the command that was read and of those around it.
std::string full_name(const CLI::App& app);

// Says on stderr what is wrong and where help is. Returns the exit code.
int report_usage(const CLI::App& app, const CLI::ParseError& error);

// What is wrong with an option on the command line `words` that the library takes for something else, or "":
// one that ends with its "=" has the next word for its value, or none where it needs none, and "-ngl" is -n
// with the value "gl". Of a flag and its opposite the last one counts, so that an alias's can be taken back.
std::string misread_option(const CLI::App& app, std::span<char* const> words);

}  // namespace inferno::apps
