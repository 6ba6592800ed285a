// Result<T>: how the library reports whatever a user, a file or the machine can cause. Nothing is thrown for
// those; CHECK (base/check.h) throws for our own mistakes only.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>
#include <variant>

namespace inferno {

// What kind of thing went wrong, for callers that act on it (the command line picks its exit code from it).
enum class ErrorCode {
  kInvalidArgument,  // the caller asked for something that makes no sense: usage
  kUnavailable,      // known by name, absent here: a backend or ISA that was not built
  kInvalidFile,      // a file's content is not what its format demands
  kIo,               // the operating system refused: open, read, write
  kResource,         // memory or another limit would be exceeded
  kCancelled,        // stopped on request
  kRuntime,          // a computation failed (non-finite logits, a lost device)
};

// One line: what was expected, what was found, where, and what to do about it. Printable as it stands: bytes
// that came from a file are escaped by whoever builds the message (base/text.h).
struct Error {
  ErrorCode code = ErrorCode::kRuntime;
  std::string message;
};

template <class... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT: implicit on purpose

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

using Status = Result<void>;

}  // namespace inferno

#define INFERNO_CONCAT_INNER(a, b) a##b
#define INFERNO_CONCAT(a, b) INFERNO_CONCAT_INNER(a, b)

// Returns the error of a Status or Result from the enclosing function, if it is one.
#define TRY(expr)                                     \
  do {                                                \
    if (auto try_status = (expr); !try_status.ok()) { \
      return std::move(try_status).error();           \
    }                                                 \
  } while (false)

// TRY_ASSIGN(auto x, f()): x is f()'s value, or the enclosing function returns f()'s error.
#define TRY_ASSIGN(declaration, expr)                                \
  auto INFERNO_CONCAT(try_result_, __LINE__) = (expr);               \
  if (!INFERNO_CONCAT(try_result_, __LINE__).ok()) {                 \
    return std::move(INFERNO_CONCAT(try_result_, __LINE__)).error(); \
  }                                                                  \
  declaration = std::move(INFERNO_CONCAT(try_result_, __LINE__)).value()
