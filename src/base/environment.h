// Every environment variable that inferno reads, with its meaning: the one place where getenv is called.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inferno::environment {

struct Variable {
  std::string_view name;
  std::string_view meaning;
};

// For `inferno help environment` and the documentation.
std::span<const Variable> variables();

// The value, or nullopt when unset or empty. CHECKs that `name` is in variables().
std::optional<std::string> get(std::string_view name);
// A variable that is 0 or 1; nullopt when unset or empty, kInvalidArgument when anything else.
Result<std::optional<bool>> get_switch(std::string_view name);

}  // namespace inferno::environment
