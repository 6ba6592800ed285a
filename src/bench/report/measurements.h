// The files that benchmarks write, whatever kind they are of.
#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "bench/ladder_rows.h"
#include "bench/result.h"

namespace inferno::bench {

// Errors name the path.
Result<std::variant<Report, Ladder>> read_measurements(const std::string& path);
// kInvalidFile when it is a ladder.
Result<Report> read_report(const std::string& path);

}  // namespace inferno::bench
