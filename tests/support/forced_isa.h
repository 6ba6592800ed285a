// INFERNO_FORCE_ISA for as long as a test needs it.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace inferno::test {

class ForcedIsa {
 public:
  explicit ForcedIsa(const std::string& name) {
    if (const char* before = std::getenv(kVariable)) before_ = before;
    ::setenv(kVariable, name.c_str(), 1);
  }
  ~ForcedIsa() {
    if (before_) {
      ::setenv(kVariable, before_->c_str(), 1);
    } else {
      ::unsetenv(kVariable);
    }
  }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  static constexpr const char* kVariable = "INFERNO_FORCE_ISA";
  std::optional<std::string> before_;
};

}  // namespace inferno::test
