#include "gguf/split.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>

namespace inferno::gguf {
namespace {

constexpr size_t kDigits = 5;

// Removes five digits from the end of `text`.
std::optional<uint64_t> take_number(std::string_view& text) {
  if (text.size() < kDigits) return std::nullopt;
  const std::string_view digits = text.substr(text.size() - kDigits);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + kDigits, number);
  if (error != std::errc() || end != digits.data() + kDigits) return std::nullopt;
  text.remove_suffix(kDigits);
  return number;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

}  // namespace

std::optional<ShardName> parse_shard_name(const std::string& path) {
  std::string_view rest = path;
  if (!take_suffix(rest, ".gguf")) return std::nullopt;
  const auto count = take_number(rest);
  if (!count || !take_suffix(rest, "-of-")) return std::nullopt;
  const auto number = take_number(rest);
  if (!number || !take_suffix(rest, "-")) return std::nullopt;
  return ShardName{std::string(rest), *number, *count};
}

std::string shard_path(const ShardName& name) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", name.prefix, name.number, name.count);
}

}  // namespace inferno::gguf
