// What is said when a command line cannot be understood.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace inferno::apps {

// Which name is meant by one that is not there: one that it is the beginning of, or else the nearest.
enum class Guess : uint8_t { kNearest, kBeginning };
// "; did you mean --seed?" for an option or command of `app`, "" when there is nothing to say.
std::string suggestion(const CLI::App& app, const std::string& word, Guess guess = Guess::kNearest);

// "inferno bench compare": the names of the command that was read and of those around it.
std::string full_name(const CLI::App& app);

// Says on stderr what is wrong, first of all what was misread (below), and where help is. Returns the exit
// code.
int report_usage(const CLI::App& app, const CLI::ParseError& error, const std::string& misread = "");

// What is wrong with an option on the command line `words` that the library takes for something else, or "":
// one that ends with its "=" has the next word for its value, or none where it needs none, and "-ngl" is -n
// with the value "gl". Of a flag and its opposite the last one counts, so that an alias's can be taken back.
std::string misread_option(const CLI::App& app, std::span<char* const> words);

}  // namespace inferno::apps
