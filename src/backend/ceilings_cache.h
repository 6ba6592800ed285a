// Ceilings that earlier runs since the machine's start have measured, in a small JSON file: one entry for
// each key, so that a choice of ISAs, or another set of processors, is measured once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/json.h"
#include "base/result.h"

namespace inferno::backend {

// What figures belong to: they count for no other machine, start, set of processors, build or ISA.
struct CeilingsKey {
  std::string boot_id;  // "" where the system does not tell: then nothing is cached
  std::string cpu;
  std::string build;              // see ceilings_build()
  std::vector<std::string> isas;  // that were measured
  std::vector<unsigned> cpus;     // that may be used
  unsigned threads = 1;           // the most that were measured

  bool operator==(const CeilingsKey&) const = default;
};

// A hash of the sources of the CPU kernels and of what measures them (written by the build).
const char* ceilings_sources();
// The build that this is: version, compiler and its options, and ceilings_sources().
std::string ceilings_build();

// ceilings.json in cache_folder().
std::optional<std::string> ceilings_cache_path();

// The figures of the file at `path`, with `cached` set; nullopt unless it is whole, in range and of this very
// key. Whatever lies there, the answer is one or the other.
std::optional<Ceilings> load_ceilings(const std::string& path, const CeilingsKey& key);

// Makes the folder (for its owner alone) and writes the file, whole or not at all: these figures first, then
// the newest of other keys since the machine's start, 16 in all.
Status save_ceilings(const std::string& path, const CeilingsKey& key, const Ceilings& ceilings);

// {"measured_at", "clock_ghz", "steadiness", "read_gb_per_s": [with 1, 2, … threads],
//  "peaks": [{"arithmetic", "isa", "threads", "gops"}]}
Json ceilings_json(const Ceilings& ceilings);

}  // namespace inferno::backend
