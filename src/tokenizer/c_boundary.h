// The boundary of the C library: exceptions become error codes, objects become numbers.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "tokenizer/fasttok.h"

namespace inferno::tokenizer::c_boundary {

// How a call fails: what the caller gets as a number and as a line.
struct Failure {
  int32_t code;
  std::string message;
};

// The latest failure of this thread.
inline thread_local int32_t last_code = FASTTOK_OK;
inline thread_local std::string last_message;

// Runs a call; whatever goes wrong in it is noted for fasttok_last_error() and becomes `failed(code)`.
template <class Body, class Failed>
auto guarded(const Body& body, const Failed& failed) noexcept {
  const auto fail = [&](int32_t code, std::string_view message) {
    last_code = code;
    try {
      last_message = message;
    } catch (...) {
      last_message.clear();
    }
    return failed(code);
  };
  try {
    return body();
  } catch (const Failure& failure) {
    return fail(failure.code, failure.message);
  } catch (const std::bad_alloc&) {
    return fail(FASTTOK_ERROR_ENCODE, "out of memory");
  } catch (const std::exception& error) {
    return fail(FASTTOK_ERROR_ENCODE, error.what());
  } catch (...) {
    return fail(FASTTOK_ERROR_ENCODE, "an unknown exception");
  }
}

template <class Body>
int32_t guarded_status(const Body& body) noexcept {
  return guarded(
      [&] {
        body();
        return int32_t{FASTTOK_OK};
      },
      [](int32_t code) { return code; });
}

template <class Body>
int64_t guarded_count(const Body& body) noexcept {
  return guarded([&] { return static_cast<int64_t>(body()); }, [](int32_t code) { return int64_t{code}; });
}

template <class T>
T value_or_throw(int32_t code, Result<T> result) {
  if (!result) throw Failure{code, result.error().message};
  return std::move(result).value();
}
inline void check_or_throw(int32_t code, const Status& status) {
  if (!status) throw Failure{code, status.error().message};
}

inline void require_pointer(const void* pointer, const char* name) {
  if (pointer == nullptr) throw Failure{FASTTOK_ERROR_NULL, fmt::format("{} is NULL", name)};
}

// Objects by number. Numbers are never given twice, so that one which was freed stays so.
template <class Handle, class Object>
class Handles {
 public:
  Handle* add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const uintptr_t number = ++last_;
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle*>(number);
  }
  std::shared_ptr<Object> get(const Handle* handle, const char* name) {
    require_pointer(handle, name);
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    if (found == objects_.end()) throw Failure{FASTTOK_ERROR_HANDLE, not_a_handle(name)};
    return found->second;
  }
  void remove(const Handle* handle, const char* name) {
    if (!erase(handle)) throw Failure{FASTTOK_ERROR_HANDLE, not_a_handle(name)};
  }
  // Whether it was there.
  bool erase(const Handle* handle) {
    const std::lock_guard lock(mutex_);
    return objects_.erase(reinterpret_cast<uintptr_t>(handle)) > 0;
  }

 private:
  static std::string not_a_handle(const char* name) {
    return fmt::format("{} is not a handle of fasttok, or was freed", name);
  }

  std::mutex mutex_;
  std::map<uintptr_t, std::shared_ptr<Object>> objects_;
  uintptr_t last_ = 0;
};

}  // namespace inferno::tokenizer::c_boundary
