// Reading JSON that may be anything: fields are asked for by name, type and range, and the first that is not
// as it should be is remembered with its place; what is read after it is a default, so that the reading code
// checks once, at its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace inferno::bench {

// Text of a file, at most kMaxJsonBytes of it; errors name the path.
Result<std::string> read_text_file(const std::string& path);

class JsonReader {
 public:
  // `json` outlives the reader and all that it hands out.
  explicit JsonReader(const Json& json) : json_(&json), error_(std::make_shared<std::optional<Error>>()) {}

  // The error of this reader, of those it came from and of those that came from it.
  Status status() const;

  // null and an absent field are the same. The plain ones demand a value.
  bool has(const char* key) const;
  std::string text(const char* key);
  bool flag(const char* key);
  double number(const char* key);  // from 0 to 1e15: nothing that reports hold is negative
  uint64_t whole(const char* key, uint64_t max = kMaxWhole);
  std::optional<std::string> optional_text(const char* key);
  std::optional<double> optional_number(const char* key);
  std::optional<uint64_t> optional_whole(const char* key, uint64_t max = kMaxWhole);
  std::vector<double> numbers(const char* key);
  std::vector<uint64_t> wholes(const char* key, uint64_t max = kMaxWhole);

  JsonReader object(const char* key);
  std::vector<JsonReader> objects(const char* key);  // an array of them

  // Remembers "<place of key>: expected <expected>, found …" unless there is an error already.
  void expect(bool condition, const char* key, std::string_view expected);

  // What every sum of a few of which fits 64 bits.
  static constexpr uint64_t kMaxWhole = uint64_t{1} << 60;

 private:
  JsonReader(const Json& json, std::string where, std::shared_ptr<std::optional<Error>> error)
      : json_(&json), where_(std::move(where)), error_(std::move(error)) {}

  const Json& field(const char* key) const;
  std::string place(const char* key) const;
  void fail(const std::string& place, std::string_view expected, const Json& found);
  double as_number(const Json& json, const std::string& place);
  uint64_t as_whole(const Json& json, const std::string& place, uint64_t max);

  const Json* json_;
  std::string where_;  // "configs[2]", empty at the top
  std::shared_ptr<std::optional<Error>> error_;
};

}  // namespace inferno::bench
