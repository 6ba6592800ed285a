// The ceiling that binds a benchmark beside its rates: the counter pct_of_ceiling, and as label which ceiling
// that is.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <map>
#include <string>

#include "backend/backend.h"
#include "backend/ceilings.h"
#include "base/cpu_topology.h"
#include "base/memory.h"
#include "bench/figures.h"

namespace inferno::bench_support {

// Measured once for each backend.
inline const Result<backend::Ceilings>& ceilings_of(const std::string& backend_name) {
  static std::map<std::string, Result<backend::Ceilings>> measured;
  const auto known = measured.find(backend_name);
  if (known != measured.end()) return known->second;
  return measured.emplace(backend_name, (*backend::create_backend(backend_name))->measure_ceilings({}))
      .first->second;
}

// Of operands that lie in memory: what all copies have together (copies_beyond_caches).
constexpr uint64_t kCopiesBytes = uint64_t{256} << 20;

// What holds for a backend, weights of a type and memory of which pass_bytes are read in a pass: measured
// right now, or a second or two ago, since virtual machines change from second to second; what cannot be
// measured so quickly is that of the first call.
inline bench::Limits limits_now(backend::Backend& backend, const std::string& dtype, uint64_t pass_bytes) {
  using Clock = std::chrono::steady_clock;
  struct Measured {
    Clock::time_point at;
    bench::Trial beside;
  };
  static std::map<std::pair<std::string, uint64_t>, Measured> latest;
  const backend::DeviceInfo info = backend.info();
  const Result<backend::Ceilings>& ceilings = ceilings_of(info.backend);
  if (!ceilings) return {};
  Measured& measured = latest[{info.backend + " " + dtype, pass_bytes}];
  if (!measured.beside.ceilings || Clock::now() - measured.at > std::chrono::seconds(2)) {
    measured.beside.ceilings.reset();
    if (const auto now = backend.measure_ceilings_now(bench::arithmetics(info, dtype), pass_bytes, {}))
      measured.beside.ceilings = *now;
    measured.at = Clock::now();
  }
  return bench::limits(measured.beside, bench::limits(*ceilings, info, dtype));
}

// Where an operation finds its operands. Only what no cache holds is bound by the read bandwidth.
enum class Operands { kInCaches, kInMemory };

// So many copies of an operand that no cache still holds one when its turn comes again; where memory is too
// scarce for that, one.
struct Copies {
  size_t n = 1;
  Operands operands = Operands::kInCaches;
};
inline Copies copies_beyond_caches(size_t bytes) {
  const auto total = backend::read_buffer_bytes(kCopiesBytes, cpu_topology().l3_bytes, available_memory());
  if (!total) return {};
  return {(static_cast<size_t>(*total) + bytes - 1) / bytes, Operands::kInMemory};
}

// For what is bound by neither memory nor multiply-adds.
inline void set_no_ceiling(benchmark::State& state) {
  state.SetLabel("no ceiling");
}

// `cost` of all iterations, which took `seconds`.
inline void set_share_of_ceiling(benchmark::State& state, const metrics::Cost& cost, double seconds,
                                 bench::Limits limits, Operands operands) {
  if (operands == Operands::kInCaches) limits.read_gb_per_s.reset();
  const auto of = bench::of_ceiling(cost, seconds, limits);
  if (!of || of->pct <= 0) return set_no_ceiling(state);
  state.counters["pct_of_ceiling"] = of->pct;
  state.SetLabel(operands == Operands::kInCaches ? of->ceiling + "; operands in caches" : of->ceiling);
}

}  // namespace inferno::bench_support
