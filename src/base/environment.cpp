#include "base/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/check.h"
#include "base/text.h"

namespace inferno::environment {
namespace {

constexpr std::array kVariables = {
    Variable{"INFERNO_LOG",
             "events on stderr: error|warn|info|debug|trace, or module=level, separated by commas"},
    Variable{"RUST_LOG", "the same as INFERNO_LOG, which goes first"},
    Variable{"INFERNO_FORCE_ISA", "instruction set of the CPU kernels, such as avx2, not the best there is"},
    Variable{"INFERNO_CEILINGS", "fresh: measure the machine's ceilings anew"},
    Variable{"XDG_CACHE_HOME", "where inferno/ keeps measured ceilings and repacked weights; else ~/.cache"},
    Variable{"HOME", "the folder that ~ stands for"},
    Variable{"INFENG_ENABLE_TELEMETRY",
             "1 times the stages of the hot paths (see --telemetry-csv), 0 does not"},
    Variable{"FASTTOK_TRACING", "libfasttok: 1 times encoding (fasttok_flush_csv, fasttok_write_trace)"},
    Variable{"INFENG_TOKEN_CACHE", "libfasttok: 1 has the prefix cache on from the start"},
    Variable{"INFENG_TOK_THREADS", "libfasttok: threads that encode a batch; 0 is one per core"},
    Variable{"NO_COLOR", "if set, no colour on the terminal"},
    Variable{"PATH", "where `inferno bench peers` looks for llama-bench"},
    Variable{"TMPDIR", "where `inferno bench peers` keeps a synthetic model while it runs; else /tmp"},
    Variable{"TERM", "the terminal's type; \"dumb\" means no colour"},
};

}  // namespace

std::span<const Variable> variables() {
  return kVariables;
}

std::optional<std::string> get(std::string_view name) {
  const bool known = std::any_of(kVariables.begin(), kVariables.end(),
                                 [&](const Variable& variable) { return variable.name == name; });
  CHECK(known, "environment variable {} is not in the list of base/environment.cpp", name);
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

Result<std::optional<bool>> get_switch(std::string_view name) {
  const std::optional<std::string> value = get(name);
  if (!value) return std::optional<bool>();
  if (value != "0" && value != "1") {
    return make_error(ErrorCode::kInvalidArgument, "{}: expected 0 or 1, found {}", name, quote(*value));
  }
  return std::optional<bool>(value == "1");
}

}  // namespace inferno::environment
