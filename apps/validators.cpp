#include "apps/validators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
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
  return CLI::Validator(
      [max](std::string& text) {
        uint64_t value = 0;
        if (reads_as(text, value) && value <= max) return std::string();
        return fmt::format("expected a whole number from 0 to {}, found {}", max, inferno::quoted(text));
      },
      "");
}

CLI::Validator number() {
  return CLI::Validator(
      [](std::string& text) {
        float value = 0;
        if (reads_as(text, value)) return std::string();
        return fmt::format("expected a number, found {}", inferno::quoted(text));
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> choices) {
  return CLI::Validator(
      [choices = std::move(choices)](std::string& text) {
        if (std::find(choices.begin(), choices.end(), text) != choices.end()) return std::string();
        const std::vector<std::string_view> names(choices.begin(), choices.end());
        const std::string_view nearest = nearest_name(text, names);
        return fmt::format("expected one of {}, found {}{}", fmt::join(choices, ", "), inferno::quoted(text),
                           nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
      },
      "");
}

CLI::Option* add_prompt_ids(CLI::App& app, std::vector<int32_t>& ids, const std::string& description) {
  return app.add_option("--prompt-ids", ids, description)
      ->delimiter(',')
      ->allow_extra_args(false)  // the word after the ids is something else
      ->check(whole_number())
      ->type_name("IDS");
}

}  // namespace inferno::apps
