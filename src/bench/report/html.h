// Everything that was measured as one page: self-contained HTML with charts as inline SVG. It fetches
// nothing and runs no script.
#pragma once

#include <string>
#include <vector>

#include "bench/ladder_rows.h"
#include "bench/report/log.h"
#include "bench/result.h"

namespace inferno::bench {

struct Page {
  std::vector<Report> reports;
  std::vector<Ladder> ladders;
  std::vector<LogEntry> history;
  std::vector<std::string> warnings;  // shown: of lines and files that could not be read
};

// Sections without data are left out.
std::string html(const Page& page);

}  // namespace inferno::bench
