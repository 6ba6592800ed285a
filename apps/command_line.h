// What the commands say of their command lines: options, arguments, sub-commands. CLI11 does the reading; its
// headers take seconds to compile, so that only the files that look at all options (help, completion,
// complaints) include it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace inferno::apps {

// Judges the text of a value: what is wrong with it, as a sentence; "" when nothing is.
using Judge = std::function<std::string(const std::string& text)>;

struct Check {
  Judge judge;
  std::vector<std::string> choices = {};  // all that it allows, where that is a list
};

// An option or argument that a command has declared; a handle, valid as long as the Program.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  // What stands for the value in the help: "FILE".
  Option value_name(const std::string& name);
  // The help shows the variable's value of now.
  Option show_default();
  Option check(Check check);
  Option needs(Option other);
  Option excludes(Option other);
  // A list of one value each time that it is given; without it all words up to the next option are its
  // values.
  Option repeatable();

  // On the command line that was read.
  bool is_given() const;

 private:
  CLI::Option* option_;
};

// A command while it is declared and after its line was read; a handle, valid as long as the Program.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  // "-n,--max-new-tokens" is an option, "MODEL" an argument; the value that is read is written to `value`,
  // which must live as long as the Program and is of a type that command_line.cpp lists.
  template <class T>
  Option add_option(const std::string& names, T& value, const std::string& description);
  // `read` takes the text of each value, and judges it.
  Option add_option_function(const std::string& names, const Judge& read, const std::string& description);
  // "--json" takes no value; "--kv{basic}" takes one as --kv=VALUE alone, `basic` without; "!--no-kv" stands
  // for false. Of bool, std::optional<bool>, std::string.
  template <class T>
  Option add_flag(const std::string& names, T& value, const std::string& description);
  Command add_command(const std::string& name, const std::string& summary);
  // A line without one of its commands is an error.
  void require_command();
  // Under the options, in the help.
  void set_footer(const std::string& text);

  std::string name() const;
  Command parent() const;
  // On the command line that was read.
  bool is_given() const;
  bool is_given(const std::string& option) const;
  std::string help() const;
  // "; did you mean --seed?" for an option or command, "" when none is near.
  std::string suggestion(const std::string& word) const;

  CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
};

// The command of a whole program, and the owner of all below it.
class Program {
 public:
  Program(const std::string& name, const std::string& summary);
  ~Program();

  Command command() const;
  // The exit code when nothing is left to do: 0 after --help and --version (else
  // that of finish_stdout()), 2 after a complaint on stderr.
  std::optional<int> read(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

// What Option::check() was told; {} without a list of choices.
std::vector<std::string> choices_of(CLI::Option& option);

}  // namespace inferno::apps
