#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/text.h"

namespace inferno::log {
namespace {

constexpr std::array<std::string_view, 6> kLevelNames = {"trace", "debug", "info", "warn", "error", "off"};
constexpr std::array<std::string_view, 6> kLevelTags = {"TRACE", "DEBUG", " INFO", " WARN", "ERROR", "  OFF"};

struct Filters {
  Level everything_else = Level::kOff;
  std::vector<std::pair<std::string, Level>> modules;  // each name once

  void set(std::string_view module, Level level) {
    for (auto& [name, present] : modules) {
      if (name == module) {
        present = level;
        return;
      }
    }
    modules.emplace_back(module, level);
  }

  // The level of the longest name that is `module` or ends at one of its "::".
  Level threshold(std::string_view module) const {
    Level level = everything_else;
    size_t longest = 0;
    for (const auto& [name, module_level] : modules) {
      const bool applies = module.starts_with(name) &&
                           (module.size() == name.size() || module.substr(name.size()).starts_with("::"));
      if (applies && name.size() > longest) {
        longest = name.size();
        level = module_level;
      }
    }
    return level;
  }

  Level lowest() const {
    Level level = everything_else;
    for (const auto& [name, module_level] : modules) level = std::min(level, module_level);
    return level;
  }
};

// Whether a module that is none of ours is taken as a slip (INFERNO_LOG) or as some other program's
// (RUST_LOG, which they read as well).
enum class Slips { kRefuse, kAccept };

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

std::optional<Level> parse_level(std::string_view word) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    const bool same =
        std::equal(word.begin(), word.end(), kLevelNames[i].begin(), kLevelNames[i].end(),
                   [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
    if (same) return static_cast<Level>(i);
  }
  return std::nullopt;
}

Error bad_directive(std::string_view directive, std::string_view nearest) {
  return make_error(ErrorCode::kInvalidArgument,
                    "log filter: cannot read \"{}\"; expected error|warn|info|debug|trace|off, module or "
                    "module=level, where "
                    "module is inferno or inferno::NAME{}",
                    escaped(directive), nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

bool is_ours(std::string_view module) {
  return module == "inferno" || module.starts_with("inferno::");
}

Status parse_directive(std::string_view directive, Slips slips, Filters& filters) {
  const size_t equals = directive.find('=');
  const std::string_view module = trim(directive.substr(0, equals));
  if (module.empty() || module.find_first_of(" \t\"") != std::string_view::npos)
    return bad_directive(directive, "");
  if (equals != std::string_view::npos) {
    const std::string_view word = trim(directive.substr(equals + 1));
    const std::optional<Level> level = parse_level(word);
    if (!level) return bad_directive(directive, nearest_name(word, kLevelNames));
    if (slips == Slips::kRefuse && !is_ours(module)) return bad_directive(directive, "");
    filters.set(module, *level);
    return {};
  }
  if (const std::optional<Level> level = parse_level(module)) {
    filters.everything_else = *level;
    return {};
  }
  if (slips == Slips::kRefuse && !is_ours(module)) {
    return bad_directive(directive, nearest_name(module, kLevelNames));
  }
  filters.set(module, Level::kTrace);
  return {};
}

Result<Filters> parse_filters(std::string_view spec, Slips slips) {
  Filters filters;
  while (!spec.empty()) {
    const size_t comma = std::min(spec.find(','), spec.size());
    const std::string_view directive = trim(spec.substr(0, comma));
    if (!directive.empty()) TRY(parse_directive(directive, slips, filters));
    spec.remove_prefix(std::min(comma + 1, spec.size()));
  }
  return filters;
}

struct State {
  std::atomic<Level> lowest = Level::kOff;  // below it nothing is on, whatever the module
  std::shared_mutex mutex;                  // guards filters and program
  Filters filters;
  std::string program = "inferno";
  std::mutex sink_mutex;
  std::function<void(std::string_view)> sink;  // empty: stderr
  spdlog::logger stderr_logger{"inferno", std::make_shared<spdlog::sinks::stderr_sink_mt>()};

  State() {
    // Lines are whole when they get here; spdlog's part is to write each in one piece.
    stderr_logger.set_pattern("%v");
    stderr_logger.set_level(spdlog::level::trace);
  }

  void install(Filters new_filters) {
    const std::unique_lock lock(mutex);
    filters = std::move(new_filters);
    lowest.store(filters.lowest(), std::memory_order_relaxed);
  }

  void write(std::string_view line) {
    const std::lock_guard lock(sink_mutex);
    if (sink) {
      sink(line);
    } else {
      stderr_logger.log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
    }
  }
};

// Never destroyed: threads may still log while the program ends.
State& state() {
  static State& instance = *new State;
  return instance;
}

bool is_plain(std::string_view value, std::string_view in_quotes) {
  return !value.empty() && in_quotes.size() == value.size() + 2 &&
         value.find_first_of(" =") == std::string_view::npos;
}

void append_field(std::string& line, const Field& field) {
  const std::string in_quotes = quote(field.value);
  line += field.name;
  line += '=';
  line += is_plain(field.value, in_quotes) ? std::string_view(field.value) : std::string_view(in_quotes);
}

std::string format_event(Level level, std::string_view message, std::initializer_list<Field> fields) {
  std::string line;
  {
    const std::shared_lock lock(state().mutex);
    line = fmt::format("{} {} {}:", utc_time(std::time(nullptr)), kLevelTags[static_cast<size_t>(level)],
                       state().program);
  }
  if (!message.empty()) line += ' ' + escaped(message, message.size());
  for (const Field& field : fields) {
    line += ' ';
    append_field(line, field);
  }
  return line;
}

}  // namespace

Status configure(std::string_view filter_spec) {
  TRY_ASSIGN(Filters filters, parse_filters(filter_spec, Slips::kRefuse));
  state().install(std::move(filters));
  return {};
}

Status configure_from_environment() {
  std::string_view variable = "INFERNO_LOG";
  std::optional<std::string> spec = environment::get(variable);
  if (!spec) {
    variable = "RUST_LOG";
    spec = environment::get(variable);
  }
  Result<Filters> filters =
      parse_filters(spec.value_or(""), variable == "RUST_LOG" ? Slips::kAccept : Slips::kRefuse);
  if (!filters) return Error{filters.error().code, fmt::format("{}: {}", variable, filters.error().message)};
  state().install(*std::move(filters));
  return {};
}

void set_program(std::string_view program) {
  const std::unique_lock lock(state().mutex);
  state().program = escaped(program);
}

void set_sink(std::function<void(std::string_view line)> sink) {
  const std::lock_guard lock(state().sink_mutex);
  state().sink = std::move(sink);
}

bool enabled(Level level, std::string_view module) {
  if (level == Level::kOff || level < state().lowest.load(std::memory_order_relaxed)) return false;
  const std::shared_lock lock(state().mutex);
  return level >= state().filters.threshold(module);
}

void event(Level level, std::string_view module, std::string_view message,
           std::initializer_list<Field> fields) {
  if (enabled(level, module)) state().write(format_event(level, message, fields));
}

void block(Level level, std::string_view module, std::string_view message, std::string_view lines) {
  if (!enabled(level, module)) return;
  while (lines.ends_with('\n')) lines.remove_suffix(1);
  std::string text = format_event(level, message, {});
  text += '\n';
  text += lines;
  state().write(text);
}

}  // namespace inferno::log
