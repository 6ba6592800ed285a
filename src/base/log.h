// Structured events on stderr: off unless INFERNO_LOG (or RUST_LOG) asks for them.
//   INFERNO_LOG=info                          everything at info and above
//   INFERNO_LOG=warn,inferno::decode=trace    per module; the longest matching prefix wins
// A line: 2026-05-19T22:14:03Z  INFO model-generate: step=1 token_id=11 prob=46.2 token=" there"
// Values with spaces, quotes, "=" or control characters are quoted and escaped; so no event can forge a line.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inferno::log {

enum class Level { kTrace, kDebug, kInfo, kWarn, kError, kOff };

// Sets filters from a specification as above. An error names the directive that is not understood, or whose
// module is not inferno's and so would filter nothing; filters are then unchanged.
Status configure(std::string_view filter_spec);
// configure() from INFERNO_LOG, else RUST_LOG, else off. A malformed value is an error that names the
// variable.
Status configure_from_environment();
// The name that stands in every line (the program's). Default "inferno".
void set_program(std::string_view program);
// Replaces stderr as the place where lines go, one call at a time; an empty function restores it.
void set_sink(std::function<void(std::string_view line)> sink);

// Cheap when off: one atomic load and, if anything is on, a look-up by module.
bool enabled(Level level, std::string_view module);

struct Field {
  std::string_view name;
  std::string value;

  template <class T>
  Field(std::string_view field_name, const T& field_value)
      : name(field_name), value(fmt::format("{}", field_value)) {}
};

// module: "inferno::decode", "inferno::gguf" … `message` may be empty.
void event(Level level, std::string_view module, std::string_view message,
           std::initializer_list<Field> fields = {});
// A block of several lines (a table), printed as it stands under one event line.
void block(Level level, std::string_view module, std::string_view message, std::string_view lines);

}  // namespace inferno::log
