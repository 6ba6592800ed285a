// INFERNO_FORCE_ISA for as long as a test needs it.
#pragma once

#include <cstdlib>
#include <string>

namespace inferno::test {

class ForcedIsa {
 public:
  explicit ForcedIsa(const std::string& name) { ::setenv("INFERNO_FORCE_ISA", name.c_str(), 1); }
  ~ForcedIsa() { ::unsetenv("INFERNO_FORCE_ISA"); }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;
};

}  // namespace inferno::test
