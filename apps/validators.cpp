#include "apps/validators.h"

#include <fmt/core.h>

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

Check whole_number(uint64_t max) {
  return whole_number_from(0, max);
}

Check whole_number_from(uint64_t min, uint64_t max) {
  return {[min, max](const std::string& text) {
    uint64_t value = 0;
    if (reads_as(text, value) && min <= value && value <= max) return std::string();
    return fmt::format("expected a whole number from {} to {}, found {}", min, max, quote(text));
  }};
}

Check not_empty() {
  return {
      [](const std::string& text) { return std::string(text.empty() ? "expected text, found none" : ""); }};
}

Check number() {
  return {[](const std::string& text) {
    float value = 0;
    if (reads_as(text, value)) return std::string();
    const bool is_one =
        std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range;
    return fmt::format("expected a number{}, found {}", is_one ? " that float32 holds (1e-45 to 3.4e38)" : "",
                       quote(text));
  }};
}

Check seconds() {
  return {[](const std::string& text) {
    double value = 0;
    if (reads_as(text, value) && value > 0 && value <= 1e9) return std::string();
    return fmt::format("expected seconds above 0, found {}", quote(text));
  }};
}

Check one_of(std::vector<std::string> choices) {
  const auto judge = [choices](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return std::string();
    const std::vector<std::string_view> names(choices.begin(), choices.end());
    const std::string_view nearest = nearest_name(text, names);
    return fmt::format("expected one of {}, found {}{}", join(choices, ", "), quote(text),
                       nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  };
  return {judge, std::move(choices)};
}

Check offered(std::vector<std::string> choices) {
  return {[](const std::string&) { return std::string(); }, std::move(choices)};
}

Option add_prompt_ids(Command command, std::vector<int32_t>& ids, const std::string& description) {
  const auto read = [&ids](const std::string& text) {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      std::string word = text.substr(begin, end - begin);
      word.erase(0, std::min(word.find_first_not_of(' '), word.size()));
      word.erase(word.find_last_not_of(' ') + 1);
      int32_t id = 0;
      if (!reads_as(word, id) || id < 0) {
        return fmt::format("expected whole numbers from 0 to {} between commas, found {}",
                           std::numeric_limits<int32_t>::max(), quote(word));
      }
      ids.push_back(id);
      begin = end + 1;
    }
    return std::string();
  };
  return command.add_option_function("--prompt-ids", read, description).value_name("IDS");
}

}  // namespace inferno::apps
