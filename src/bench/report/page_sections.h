// The sections of the page that html() makes; each "" when there is nothing for it to show.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/ladder_rows.h"
#include "bench/report/log.h"
#include "bench/result.h"

namespace inferno::bench {

// Medians of every configuration, a table for each report.
std::string summary_section(std::span<const Report> reports);
// Latency of each step over the position in the sequence: a panel for each configuration, a line for each
// report.
std::string steps_section(std::span<const Report> reports);
// Arithmetic intensity against speed, with the ceilings: a chart for each report that has ceilings.
std::string roofline_section(std::span<const Report> reports);
// Bars of the rungs, their table, and the time of every forward pass.
std::string ladder_section(std::span<const Ladder> ladders);
// Decode tok/s of every run in the log: a panel for each configuration, a line for each model and machine.
std::string history_section(std::span<const LogEntry> history);

// Names with their line styles.
std::string legend(const std::vector<std::string>& names);

// Rows of cells as an HTML table with a caption that screen readers announce; the first `left` columns are
// text, the others figures. Cells are escaped here.
std::string html_table(const std::string& caption, const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows, size_t left);

}  // namespace inferno::bench
