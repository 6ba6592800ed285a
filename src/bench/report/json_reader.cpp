#include "bench/report/json_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "base/text.h"
#include "gguf/limits.h"

namespace inferno::bench {
namespace {

constexpr double kMaxNumber = 1e15;  // above every rate, time and count that reports hold

std::string shown(const Json& json) {
  if (json.is_null()) return "nothing";
  if (json.is_object()) return "an object";
  if (json.is_array()) return "an array";
  if (json.is_string()) return quote(json.get_ref<const std::string&>().substr(0, 40));
  return json_text(json);
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  TRY_ASSIGN(const auto file, MappedFile::open(path));
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const std::string shown = escaped(path, path.size());
  if (text.starts_with(gguf::kMagic)) {
    return make_error(
        ErrorCode::kInvalidFile,
        "{}: expected what `inferno bench` has written, found a GGUF model; `inferno bench generation "
        "--model` writes its report",
        shown);
  }
  if (const Status size = check_json_size(text.size()); !size) {
    return make_error(size.error().code, "{}: {}", shown, size.error().message);
  }
  return std::string(text);
}

Status JsonReader::status() const {
  return *error_ ? Status(**error_) : Status();
}

const Json& JsonReader::field(const char* key) const {
  static const Json kNull;
  if (!json_->is_object()) return kNull;
  const auto found = json_->find(key);
  return found == json_->end() ? kNull : *found;
}

std::string JsonReader::place(const char* key) const {
  return where_.empty() ? key : where_ + "." + key;
}

void JsonReader::fail(const std::string& place, std::string_view expected, const Json& found) {
  if (*error_) return;
  *error_ = make_error(ErrorCode::kInvalidFile, "{}: expected {}, found {}", place, expected, shown(found));
}

void JsonReader::expect(bool condition, const char* key, std::string_view expected) {
  if (!condition) fail(place(key), expected, field(key));
}

double JsonReader::as_number(const Json& json, const std::string& place) {
  const double value = json.is_number() ? json.get<double>() : 0;
  if (json.is_number() && value >= 0 && value <= kMaxNumber) return value;
  fail(place, fmt::format("a number from 0 to {:g}", kMaxNumber), json);
  return 0;
}

uint64_t JsonReader::as_whole(const Json& json, const std::string& place, uint64_t max) {
  if (json.is_number_unsigned() && json.get<uint64_t>() <= max) return json.get<uint64_t>();
  fail(place, fmt::format("a whole number from 0 to {}", max), json);
  return 0;
}

bool JsonReader::has(const char* key) const {
  return !field(key).is_null();
}

std::string JsonReader::text(const char* key) {
  const Json& json = field(key);
  if (json.is_string()) return json.get<std::string>();
  fail(place(key), "a string", json);
  return "";
}

bool JsonReader::flag(const char* key) {
  const Json& json = field(key);
  if (json.is_boolean()) return json.get<bool>();
  fail(place(key), "true or false", json);
  return false;
}

double JsonReader::number(const char* key) {
  return as_number(field(key), place(key));
}

uint64_t JsonReader::whole(const char* key, uint64_t max) {
  return as_whole(field(key), place(key), max);
}

std::optional<std::string> JsonReader::optional_text(const char* key) {
  return has(key) ? std::optional(text(key)) : std::nullopt;
}

std::optional<double> JsonReader::optional_number(const char* key) {
  return has(key) ? std::optional(number(key)) : std::nullopt;
}

std::optional<uint64_t> JsonReader::optional_whole(const char* key, uint64_t max) {
  return has(key) ? std::optional(whole(key, max)) : std::nullopt;
}

std::vector<double> JsonReader::numbers(const char* key) {
  std::vector<double> values;
  const Json& array = field(key);
  expect(array.is_array(), key, "an array of numbers");
  if (!array.is_array()) return values;
  values.reserve(array.size());
  for (const Json& json : array) values.push_back(as_number(json, place(key)));
  return values;
}

std::vector<uint64_t> JsonReader::wholes(const char* key, uint64_t max) {
  std::vector<uint64_t> values;
  const Json& array = field(key);
  expect(array.is_array(), key, "an array of whole numbers");
  if (!array.is_array()) return values;
  values.reserve(array.size());
  for (const Json& json : array) values.push_back(as_whole(json, place(key), max));
  return values;
}

JsonReader JsonReader::object(const char* key) {
  const Json& json = field(key);
  expect(json.is_object(), key, "an object");
  return {json, place(key), error_};
}

std::vector<JsonReader> JsonReader::objects(const char* key) {
  std::vector<JsonReader> readers;
  const Json& array = field(key);
  expect(array.is_array(), key, "an array of objects");
  if (!array.is_array()) return readers;
  for (size_t i = 0; i < array.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", place(key), i);
    if (!array[i].is_object()) fail(at, "an object", array[i]);
    readers.push_back(JsonReader(array[i], at, error_));
  }
  return readers;
}

}  // namespace inferno::bench
