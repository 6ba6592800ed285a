#include "apps/validators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "base/text.h"

namespace inferno::apps {
namespace {

// Whether the whole of `text` reads as a T.
template <class T>
bool reads_as(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

CLI::Validator whole_number(uint64_t max) {
  return whole_number_from(0, max);
}

CLI::Validator number() {
  return CLI::Validator(
      [](std::string& text) {
        float value = 0;
        if (reads_as(text, value)) return std::string();
        return fmt::format("expected a number, found {}", quote(text));
      },
      "");
}

CLI::Validator whole_number_from(uint64_t min, uint64_t max) {
  return CLI::Validator(
      [min, max](std::string& text) {
        uint64_t value = 0;
        if (reads_as(text, value) && min <= value && value <= max) return std::string();
        return fmt::format("expected a whole number from {} to {}, found {}", min, max, quote(text));
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) { return text.empty() ? std::string("expected text, found none") : ""; }, "");
}

CLI::Validator one_of(std::vector<std::string> choices) {
  std::string name = fmt::format("{}", fmt::join(choices, ","));
  CLI::Validator validator(
      [choices = std::move(choices)](std::string& text) {
        if (std::find(choices.begin(), choices.end(), text) != choices.end()) return std::string();
        const std::vector<std::string_view> names(choices.begin(), choices.end());
        const std::string_view nearest = nearest_name(text, names);
        return fmt::format("expected one of {}, found {}{}", fmt::join(choices, ", "), quote(text),
                           nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
      },
      "");
  return validator.name(std::move(name));
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

CLI::Option* add_prompt_ids(CLI::App& app, std::vector<int32_t>& ids, const std::string& description) {
  const auto read = [&ids](const std::string& text) {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      std::string word = text.substr(begin, end - begin);
      word.erase(0, std::min(word.find_first_not_of(' '), word.size()));
      word.erase(word.find_last_not_of(' ') + 1);
      int32_t id = 0;
      if (!reads_as(word, id) || id < 0) {
        throw CLI::ValidationError("--prompt-ids",
                                   fmt::format("expected whole numbers from 0 to {} between commas, found {}",
                                               std::numeric_limits<int32_t>::max(), quote(word)));
      }
      ids.push_back(id);
      begin = end + 1;
    }
  };
  return app.add_option_function<std::string>("--prompt-ids", read, description)->type_name("IDS");
}

}  // namespace inferno::apps
