// CHECK(condition, "format", args...): for our own mistakes, never for what a user or a file can cause (those
// get a Result). Throws InternalError; thread edges and main() catch it. Stays on in release builds.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace inferno {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <class... Args>
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               fmt::format_string<Args...> format, Args&&... args) {
  throw InternalError(fmt::format("internal error: {} is false at {}:{}: {}", condition, file, line,
                                  fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace inferno

#define CHECK(condition, ...)                                                               \
  do {                                                                                      \
    if (!(condition)) ::inferno::check_failed(#condition, __FILE__, __LINE__, __VA_ARGS__); \
  } while (false)
