// The ceilings of the CPU, measured: how fast memory is read and how fast each ISA multiplies and adds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "backend/backend.h"
#include "base/cancel.h"
#include "base/result.h"

namespace inferno::backend {

struct CeilingsOptions {
  bool fresh = false;  // measure even if the cache has the figures, as INFERNO_CEILINGS=fresh does
  CancelFn cancelled;  // asked between the loops that are timed: kCancelled
};

// Whether INFERNO_CEILINGS=fresh is set. kInvalidArgument for another value, so that a program can refuse it
// before any work.
Result<bool> wants_fresh_ceilings();

// Figures of an earlier run since the machine's start (backend/ceilings_cache.h), or else measured here and
// now, in some seconds, and left for later ones; where they cannot be left, nothing is said.
//
// Memory: the machine's best ISA's read_all, whichever is forced, with 1, 2, … threads over 1 GiB, again and
// again, each thread on pages that it has touched first; the best of some such readings. Above 16 threads not
// every number is measured; one that is not has the figure of the next smaller one that is. Where so much
// memory is not to be had, read_gb_per_s stays empty, and nothing is left for later runs. Peaks: every loop
// of every ISA with one and with all threads, unless the best ISA knows something better; with
// INFERNO_FORCE_ISA, of that ISA and those that it extends.
//
// Errors: those of chosen_isa() and wants_fresh_ceilings(); kResource when memory or threads are refused.
Result<Ceilings> measure_cpu_ceilings(const CeilingsOptions& options = {});

// Whether an earlier run has left those figures. Without any, measure_cpu_ceilings() takes its seconds.
bool has_cached_cpu_ceilings();

// What `threads` threads (or as many as there are processors) get now, nothing remembered: of memory, of
// which `pass_bytes` are read again and again (read_buffer_bytes), and of the fastest of these arithmetics as
// the chosen ISA has them. Errors: those of chosen_isa(); kResource when memory or threads are refused;
// kCancelled as above.
Result<CeilingsNow> measure_cpu_ceilings_now(std::span<const std::string_view> arithmetics,
                                             uint64_t pass_bytes, unsigned threads,
                                             const CancelFn& cancelled = {});

// The fewest bytes of which no cache holds much from one reading to the next: twice the L3, or 256 MiB where
// the L3 is unknown (0).
uint64_t uncached_bytes(uint64_t l3_bytes);

// Bytes to read again and again beside something that reads pass_bytes in each of its passes: as many, since
// caches keep a part of either from one pass to the next (of 256 MB so much that two processors of a Zen 5
// with 32 MiB each read them at 1.17 times the speed of 1 GB), but 256 MiB to 1 GiB, uncached_bytes() at
// least, and a quarter of the memory that is available (nullopt: unknown) where that is less. nullopt if a
// quarter is less than uncached_bytes().
std::optional<uint64_t> read_buffer_bytes(uint64_t pass_bytes, uint64_t l3_bytes,
                                          std::optional<uint64_t> available);

}  // namespace inferno::backend
