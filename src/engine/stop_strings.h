// StopStrings: watches a text that comes in pieces for the first of some strings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferno::engine {

class StopStrings {
 public:
  // Empty strings are ignored.
  explicit StopStrings(std::span<const std::string> stops);

  // What can be shown of the text so far: nothing that may still turn out to be the beginning of a stop
  // string.
  std::string push(std::string_view text);
  // The rest, when the text ends without a stop.
  std::string flush();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace inferno::engine
