#include "apps/usage_error.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <vector>

#include "apps/help_formatter.h"
#include "apps/output.h"
#include "apps/validators.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

// The app that reads the command line in the end: the sub-command of a sub-command, as far as they were
// recognised. `command` becomes all their names.
const CLI::App& innermost(const CLI::App& app, std::string& command) {
  command += (command.empty() ? "" : " ") + app.get_name();
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front(), command);
}

bool has_option(const CLI::App& app, const std::string& name) {
  return app.get_option_no_throw(name) != nullptr;
}

bool takes_a_text(const CLI::App& app) {
  return has_option(app, "PROMPT") || has_option(app, "TEXT") || has_option(app, "prompt");
}

// What other programs call it, and what is there instead: an option, or an argument with a sentence.
struct Elsewhere {
  std::string_view name, here, sentence;
};
constexpr Elsewhere kElsewhere[] = {
    {"-s", "--seed", ""},
    {"--n-predict", "--max-new-tokens", ""},
    {"--predict", "--max-new-tokens", ""},
    {"--num-predict", "--max-new-tokens", ""},
    {"--max-tokens", "--max-new-tokens", ""},
    {"-ctk", "--kv-type", ""},
    {"-ctv", "--kv-type", ""},
    {"--cache-type-k", "--kv-type", ""},
    {"--cache-type-v", "--kv-type", ""},
    {"--kv-cache-dtype", "--kv-type", ""},
    {"-r", "--stop", ""},
    {"--reverse-prompt", "--stop", ""},
    {"--draft", "--speculative", "; --speculative ngram guesses from the text, without a second model"},
    {"--draft-max", "--speculative", "; --speculative ngram guesses from the text, without a second model"},
    {"--output-tensor-type", "--head", ""},
    {"-t", "--threads", ""},
    {"-c", "--ctx", ""},
    {"--ctx-size", "--ctx", ""},
    {"--n-ctx", "--ctx", ""},
    {"-f", "--file", ""},
    {"-f", "TEXT", "; the text's file is the argument after the model"},
    {"--file", "TEXT", "; the text's file is the argument after the model"},
    {"-f", "PROMPT", "; \"-\" instead of the prompt reads it from standard input"},
    {"--file", "PROMPT", "; \"-\" instead of the prompt reads it from standard input"},
    {"-c", "PROMPT", "; the context is as long as the prompt and N need"},
    {"--ctx", "PROMPT", "; the context is as long as the prompt and N need"},
    {"--ctx-size", "PROMPT", "; the context is as long as the prompt and N need"},
    {"--context", "PROMPT", "; the context is as long as the prompt and N need"},
    {"--num-ctx", "PROMPT", "; the context is as long as the prompt and N need"},
    {"--max-model-len", "PROMPT", "; the context is as long as the prompt and N need"},
    {"-ngl", "--backend", "; --backend says where layers are, all of them"},
    {"--n-gpu-layers", "--backend", "; --backend says where layers are, all of them"},
    {"--gpu-layers", "--backend", "; --backend says where layers are, all of them"},
    {"-cnv", "PROMPT", "; the prompt is taken as it is, there is no chat in this version"},
    {"-no-cnv", "PROMPT", "; the prompt is taken as it is, there is no chat in this version"},
    {"-tb", "--threads", ""},
    {"serve", "generate", "; there is no server in this version"},
    {"server", "generate", "; there is no server in this version"},
    {"pull", "generate", "; inferno does not download: README.md says where models are"},
    {"show", "inspect", ""},
    {"-m", "generation", "; with a model: inferno bench generation --model MODEL"},
    {"--model", "generation", "; with a model: inferno bench generation --model MODEL"},
};

// Of options that other programs have for what is an argument here; or "".
std::string argument_instead(const CLI::App& app, std::string_view word) {
  const bool is_model = word == "-m" || word == "--model";
  const bool is_prompt = word == "-p" || word == "--prompt";
  if (is_model && has_option(app, "MODEL")) {
    return has_option(app, "PROMPT") ? "; the model is the first argument, the prompt the second"
                                     : "; the model is the first argument";
  }
  return is_prompt && has_option(app, "PROMPT") ? "; the prompt is the argument after the model" : "";
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

bool has_commands(const CLI::App& app) {
  return !commands_of(app).empty();
}

std::string named_elsewhere(const CLI::App& app, std::string_view word) {
  const auto is_here = [&](std::string_view name) {
    const std::vector<const CLI::App*> commands = commands_of(app);
    return has_option(app, std::string(name)) ||
           std::any_of(commands.begin(), commands.end(),
                       [&](const CLI::App* command) { return command->get_name() == name; });
  };
  for (const Elsewhere& elsewhere : kElsewhere) {
    if (elsewhere.name != word || !is_here(elsewhere.here)) continue;
    return elsewhere.sentence.empty() ? fmt::format("; did you mean {}?", elsewhere.here)
                                      : std::string(elsewhere.sentence);
  }
  return "";
}

std::string unknown_word(const CLI::App& app, const std::string& command, const std::string& word) {
  if (word.starts_with('-')) {
    return fmt::format("{} is not an option here{}", quote(word), suggestion(app, word));
  }
  if (has_commands(app)) {
    const std::string like = word.ends_with(".gguf") ? "--model" : word;
    return fmt::format("{} is not a command of {}{}", quote(word), command, suggestion(app, like));
  }
  const bool has_cache = has_option(app, "--repack-cache") && app.count("--repack-cache") > 0;
  if (has_cache && word.find('/') != std::string::npos) {
    return fmt::format(
        "{} is one argument too many; as the folder of --repack-cache it comes after \"=\": "
        "--repack-cache={}",
        quote(word), escaped(word, 4096));
  }
  if (has_option(app, "--model") && word.ends_with(".gguf"))
    return fmt::format("{} is one argument too many; as the model: --model {}", quote(word),
                       escaped(word, 4096));
  return fmt::format("{} is one argument too many{}{}", quote(word),
                     takes_a_text(app) ? "; a text of several words stands in quotes" : "",
                     has_cache ? "; the folder of --repack-cache comes after \"=\"" : "");
}

// All options take one value and are given once; the library says so with the names of C++ types.
std::string wrong_number_of_values(const CLI::App& app, const CLI::ParseError& error) {
  const std::string message = error.what();
  const std::string name = message.substr(0, message.find(':'));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) return message;
  return option->count() > 1 ? fmt::format("{} is given {} times, expected once", name, option->count())
                             : fmt::format("{} needs a value", name);
}

// "A excludes B" is how the library has it.
std::string exclusion(const std::string& message) {
  constexpr std::string_view kVerb = " excludes ";
  const size_t at = message.find(kVerb);
  if (at == std::string::npos) return message;
  return fmt::format("{} and {} exclude each other; leave one out", message.substr(0, at),
                     message.substr(at + kVerb.size()));
}

// "-hello", which the library takes for -h and "-ello".
bool begins_like_a_flag(const CLI::App& app, const std::string& word) {
  if (word.size() < 3 || word[1] == '-') return false;
  const auto is_flag = [&](char letter) {
    const CLI::Option* option = app.get_option_no_throw(std::string("-") + letter);
    return option != nullptr && option->get_expected_max() == 0;
  };
  return is_flag(word[1]) && !std::all_of(word.begin() + 1, word.end(), is_flag);
}

// "-ngl", "-ngl=99" or "-n_gpu", which the library takes for -n with the value "gl" …; not -tinf, a number.
bool is_name_of_letters(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (name.size() < 3 || name[0] != '-' || name[1] == '-') return false;
  const CLI::Option* option = app.get_option_no_throw(name.substr(0, 2));
  if (option == nullptr) return false;
  const std::string value = value_name(*option);
  const bool takes_a_number = value == "N" || value == "X";
  const bool is_of_letters = std::all_of(name.begin() + 1, name.end(), [](unsigned char c) {
    return std::isalpha(c) != 0 || c == '-' || c == '_';
  });
  return takes_a_number && is_of_letters && !number().judge(name.substr(2)).empty();
}

std::string sentence(const CLI::App& app, const std::string& command, const CLI::ParseError& error) {
  std::vector<std::string> unknown = app.remaining();
  if (!unknown.empty() && unknown.front() == "--") {
    unknown.erase(unknown.begin());
    const auto option = std::ranges::find_if(unknown, [](const auto& word) { return word.starts_with('-'); });
    if (option != unknown.end())
      return fmt::format("{} is one argument too many; options come before --", quote(*option));
  }
  if (!unknown.empty()) return unknown_word(app, command, unknown.front());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return wrong_number_of_values(app, error);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) return exclusion(error.what());
  return error.what();
}

}  // namespace

std::string full_name(const CLI::App& app) {
  std::string command;
  innermost(app, command);
  return command;
}

std::string suggestion(const CLI::App& app, const std::string& word, Guess guess) {
  const std::string spelled = word.substr(0, word.find('='));
  if (std::string instead = argument_instead(app, spelled); !instead.empty()) return instead;
  if (std::string instead = named_elsewhere(app, spelled); !instead.empty()) return instead;
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* sub : commands_of(app)) names.push_back(sub->get_name());
  const std::vector<std::string_view> views(names.begin(), names.end());
  // The beginning of one name is meant as that one: --temp.
  const auto begins = [&](std::string_view name) { return spelled.size() > 3 && name.starts_with(spelled); };
  const bool is_beginning = std::count_if(views.begin(), views.end(), begins) == 1;
  const std::string_view nearest = is_beginning ? *std::find_if(views.begin(), views.end(), begins)
                                   : guess == Guess::kNearest ? nearest_name(spelled, views)
                                                              : std::string_view();
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

int report_usage(const CLI::App& app, const CLI::ParseError& error, const std::string& misread) {
  std::string command;
  const CLI::App& target = innermost(app, command);
  if (!misread.empty()) {
    const int code = fail({ErrorCode::kInvalidArgument, misread});
    std::fputs(help_pointer(command).c_str(), stderr);
    return code;
  }
  const int code = fail({ErrorCode::kInvalidArgument, sentence(target, command, error)});
  const bool arguments_are_wrong =
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr || !target.remaining().empty();
  if (arguments_are_wrong) std::fputs(usage_line(target, command).c_str(), stderr);
  if (target.remaining().empty() && has_commands(target)) {
    std::fputs(commands_section(target).c_str(), stderr);
  }
  std::fputs(help_pointer(command).c_str(), stderr);
  return code;
}

std::string misread_option(const CLI::App& app, std::span<char* const> words) {
  std::string command;
  const CLI::App& target = innermost(app, command);
  const auto takes_a_value = [](const CLI::Option* option) { return option->get_expected_max() > 0; };
  for (size_t i = 1; i < words.size() && words[i] != std::string_view("--"); ++i) {
    const std::string word = words[i];
    if (!word.starts_with('-')) continue;
    if (begins_like_a_flag(target, word)) {
      return fmt::format("{} is not an option here{}{}", quote(word),
                         suggestion(target, word, Guess::kBeginning),
                         takes_a_text(target) ? "; a text that begins with - comes after --" : "");
    }
    if (is_name_of_letters(target, word)) {
      const std::string instead = suggestion(target, word, Guess::kBeginning);
      return fmt::format("{} is not an option here{}", quote(word),
                         instead.empty() ? suggestion(target, "-" + word, Guess::kBeginning) : instead);
    }
    const CLI::Option* option = target.get_option_no_throw(word);
    if (option != nullptr && takes_a_value(option)) {
      ++i;  // which is the value, whatever it looks like
    } else if (word.ends_with('=') && word.size() > 1) {
      const std::string name = word.substr(0, word.size() - 1);
      option = target.get_option_no_throw(name);
      if (option == nullptr) continue;
      return fmt::format("{} has no value; give one{}", word,
                         takes_a_value(option) ? "" : ", or leave the \"=\" out");
    }
  }
  return "";
}

}  // namespace inferno::apps
