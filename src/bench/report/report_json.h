// Reports as JSON files: the seed project's keys, ours beside them, and the measurements themselves, so that
// a report that is read back renders as it did when it was measured.
//
// Of the seed's keys: decode_throughput_median_tps keeps the seed's definition (figures.h); memory in keys
// that end in _gb is in GiB, as the seed computes it, cache_memory_mb in 10^6 bytes; engine_version stands
// for pytorch_version; what does not exist here (a GPU's name on a CPU) is null. ttft_median_ms and
// e2e_throughput_tps include sampling, which the seed leaves out.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/result.h"

namespace inferno::bench {

// Indented, ends with a newline.
std::string to_json(const Report& report);
// kInvalidFile saying which field is not what it should be. Derived figures in the text are not read: they
// follow from the measurements.
Result<Report> report_from_json(std::string_view text);

// For a file name: letters, digits, '.', '-' and '_' as they are, '/' as '_' (as the seed has it), runs of
// anything else as one '-', no leading dots, at most 80 bytes; "model" if nothing is left.
std::string slug(std::string_view name);
// "{model}_{dtype}_{suite}_{kvcache|nocache}.json", each a slug.
std::string report_file_name(const Setting& setting);
// Writes the report into the folder, which is made if need be; whole or not at all. Returns the path; errors
// name it.
Result<std::string> write_report(const std::string& folder, const Report& report);

}  // namespace inferno::bench
