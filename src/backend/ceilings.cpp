#include "backend/ceilings.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <span>

#include "backend/ceilings_cache.h"
#include "backend/cpu_isa.h"
#include "backend/timed_windows.h"
#include "base/cpu_topology.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

namespace inferno::backend {
namespace {

using Cpus = std::span<const unsigned>;
using kernels::PeakLoop;

constexpr std::chrono::microseconds kWindow{300};
constexpr uint64_t kLeastReadBytes = uint64_t{256} << 20;
constexpr uint64_t kMostReadBytes = uint64_t{1} << 30;
// With all threads a window reads all that is read again and again, as a token does: short ones would tell of
// their luckiest moment, and of what a cache kept.
constexpr WindowCount kReadWindows = {.least = 8, .most = 24, .most_seconds = 0.5};
// How far ahead of the reading is asked for: what is best is a matter of the processor's prefetchers. An odd
// number of lines, a page, or nothing, but two streams side by side (CpuKernels::read_all).
constexpr int64_t kReadAhead[] = {1088, 4096, 0};

// Memory for the read loop: a part per thread, first touched by it.
class ReadMemory {
 public:
  // At least `bytes`.
  static Result<ReadMemory> make(Cpus cpus, uint64_t bytes) {
    constexpr size_t kHugePage = size_t{2} << 20;
    const uint64_t pages = (bytes + kHugePage - 1) / kHugePage;

    ReadMemory memory;
    memory.part_ = static_cast<size_t>((pages + cpus.size() - 1) / cpus.size() * kHugePage);
    memory.n_parts_ = cpus.size();
    const size_t total = memory.part_ * memory.n_parts_;
    memory.data_.reset(static_cast<std::byte*>(std::aligned_alloc(kHugePage, total)));
    if (!memory.data_) {
      return make_error(ErrorCode::kResource,
                        "out of memory: {} were asked for to measure how fast it is read",
                        human_bytes(total));
    }
    ::madvise(memory.data_.get(), total, MADV_HUGEPAGE);  // advice: smaller pages only cost some percent
    TRY(run_together(cpus,
                     [&](size_t i) { std::memset(memory.data_.get() + i * memory.part_, 1, memory.part_); }));
    return memory;
  }

  // What one thread reads in a window.
  size_t part_bytes() const { return part_; }
  // Thread i of n goes through the parts i, i + n, i + 2n … and begins again: its own part first, and in all
  // the threads read everything before anything twice.
  const std::byte* part(size_t thread, size_t n_threads, int window) const {
    const size_t n_own = (n_parts_ - thread + n_threads - 1) / n_threads;
    const size_t i = static_cast<size_t>(window) % n_own;
    return data_.get() + (thread + i * n_threads) * part_;
  }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t part_ = 0;  // bytes
  size_t n_parts_ = 0;
};

// 1, 2, … 16, then in steps of at most an eighth; n is always measured.
bool is_measured(size_t threads, size_t n) {
  constexpr size_t kAll = 16;
  size_t step = 1;
  while (step * kAll < threads) step *= 2;
  return threads == n || threads % step == 0;
}

// Between loops, each of which takes up to half a second, or a few seconds on a busy machine.
Status unless_cancelled(const CancelFn& cancelled) {
  if (!cancelled || !cancelled()) return {};
  return Error{ErrorCode::kCancelled, "interrupted while the machine's ceilings were measured"};
}

// So much a second, in the best window and in the middle one.
struct Rate {
  double best = 0, typical = 0;
};

// Of an amount in each window; notes how steady the windows were.
Result<Rate> time_rate(Ceilings& ceilings, Cpus cpus, double amount, const Work& work,
                       WindowCount count = {}) {
  TRY_ASSIGN(const Windows windows, time_windows(cpus, work, count));
  ceilings.steadiness = std::min(ceilings.steadiness, windows.shortest / windows.median);
  return Rate{amount / windows.shortest, amount / windows.median};
}

// What memory gives is the machine's, whatever ISA is forced.
CpuKernels reading_kernels() {
  return kernels_of(*available_isas(cpu_features()).back());
}

// GB/s of n threads, by the way of reading that is the fastest here.
Result<Rate> measure_read(const CpuKernels& kernels, const ReadMemory& memory, Cpus cpus, size_t n,
                          const CancelFn& cancelled, Ceilings& ceilings) {
  const double gigabytes = 1e-9 * static_cast<double>(n * memory.part_bytes());
  Rate fastest;
  double steadiness = 1;
  for (const int64_t ahead : kReadAhead) {
    TRY(unless_cancelled(cancelled));
    Ceilings own;  // notes how steady this way's windows were
    const Work read_part = [&](size_t thread, int window) {
      kernels.read_all(memory.part(thread, n, window), memory.part_bytes(), ahead);
    };
    TRY_ASSIGN(const Rate read, time_rate(own, cpus.first(n), gigabytes, read_part, kReadWindows));
    if (read.best <= fastest.best) continue;
    fastest = read;
    steadiness = own.steadiness;
  }
  ceilings.steadiness = std::min(ceilings.steadiness, steadiness);
  return fastest;
}

// Nothing where there is too little memory to tell it from the caches.
Status measure_reads(const CpuKernels& kernels, Cpus cpus, uint64_t l3_bytes, const CancelFn& cancelled,
                     Ceilings& ceilings) {
  std::vector<double>& gb_per_s = ceilings.read_gb_per_s;
  const auto bytes = read_buffer_bytes(kMostReadBytes, l3_bytes, available_memory());
  if (!bytes) return {};
  TRY_ASSIGN(const ReadMemory memory, ReadMemory::make(cpus, *bytes));
  for (size_t n = 1; n <= cpus.size(); ++n) {
    if (!is_measured(n, cpus.size())) {
      gb_per_s.push_back(gb_per_s.back());
      continue;
    }
    TRY(unless_cancelled(cancelled));
    TRY_ASSIGN(const Rate read, measure_read(kernels, memory, cpus, n, cancelled, ceilings));
    gb_per_s.push_back(read.best);
  }
  return {};
}

// The n, a power of two times 1000, for which run(n) takes a window.
template <class Run>
int64_t calibrate(const Run& run) {
  for (int64_t n = 1000;; n *= 2) {
    auto best = std::chrono::steady_clock::duration::max();
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      run(n);
      best = std::min(best, std::chrono::steady_clock::now() - start);
    }
    if (best >= kWindow) return n;
  }
}

Status measure_clock(const CpuKernels& kernels, Cpus cpus, Ceilings& ceilings) {
  const int64_t n = calibrate([&](int64_t adds) { kernels.add_chain(1, adds); });
  TRY_ASSIGN(const Rate clock, time_rate(ceilings, cpus.first(1), 1e-9 * static_cast<double>(n),
                                         [&](size_t, int) { kernels.add_chain(1, n); }));
  ceilings.clock_ghz = clock.best;
  return {};
}

// 10^9 operations a second of all these processors.
Result<Rate> measure_loop(const PeakLoop& loop, int64_t rounds, Cpus cpus, Ceilings& ceilings) {
  const double gigaops = 2e-9 * static_cast<double>(cpus.size()) * static_cast<double>(rounds) *
                         static_cast<double>(loop.multiply_adds);
  return time_rate(ceilings, cpus, gigaops, [&](size_t, int) { loop.run(rounds); });
}

// Appends what the loop reaches with one thread and with all.
Status measure_peak(const CpuIsa& isa, std::string_view arithmetic, const PeakLoop& loop, Cpus cpus,
                    Ceilings& ceilings) {
  if (loop.run == nullptr) return {};
  const int64_t rounds = calibrate(loop.run);
  std::vector<size_t> counts = {1};
  if (cpus.size() > 1) counts.push_back(cpus.size());
  for (const size_t n : counts) {
    TRY_ASSIGN(const Rate gops, measure_loop(loop, rounds, cpus.first(n), ceilings));
    ceilings.peaks.push_back({std::string(arithmetic), isa.name, static_cast<unsigned>(n), gops.best});
  }
  return {};
}

PeakLoop loop_of(const CpuKernels& kernels, std::string_view arithmetic) {
  if (arithmetic == "fp32") return kernels.fp32;
  if (arithmetic == "bf16") return kernels.bf16;
  if (arithmetic == "fp16") return kernels.fp16;
  if (arithmetic == "int8_in_int16") return kernels.int8_in_int16;
  return arithmetic == "int8" ? kernels.int8 : PeakLoop{};
}

Result<Ceilings> measure(const CpuIsa& best, const std::vector<const CpuIsa*>& isas,
                         const CpuTopology& topology, Cpus cpus, const CancelFn& cancelled) {
  Ceilings ceilings;
  const CpuKernels kernels = kernels_of(best);
  TRY(measure_clock(kernels, cpus, ceilings));
  TRY(measure_reads(reading_kernels(), cpus, topology.l3_bytes, cancelled, ceilings));
  for (const CpuIsa* isa : isas) {
    const CpuKernels own = isa->table({});  // without what it takes over
    for (const std::string_view arithmetic : {"fp32", "bf16", "fp16", "int8", "int8_in_int16"}) {
      if (loop_of(kernels, arithmetic).run == nullptr) continue;  // the best ISA knows something better
      TRY(unless_cancelled(cancelled));
      TRY(measure_peak(*isa, arithmetic, loop_of(own, arithmetic), cpus, ceilings));
    }
  }
  ceilings.measured_at = utc_time(std::time(nullptr));
  return ceilings;
}

// All that are here, or the forced one and those that it extends.
std::vector<const CpuIsa*> isas_to_measure(const CpuIsa& chosen) {
  if (!environment::get("INFERNO_FORCE_ISA")) return available_isas(cpu_features());
  std::vector<const CpuIsa*> isas;
  for (const CpuIsa* isa = &chosen; isa != nullptr; isa = isa->extends) isas.insert(isas.begin(), isa);
  return isas;
}

CeilingsKey key_of(const std::vector<const CpuIsa*>& isas, const CpuTopology& topology) {
  CeilingsKey key{topology.boot_id, topology.model, ceilings_build(), {}, topology.cpus, topology.threads};
  for (const CpuIsa* isa : isas) key.isas.emplace_back(isa->name);
  return key;
}

}  // namespace

Result<bool> wants_fresh_ceilings() {
  const auto value = environment::get("INFERNO_CEILINGS");
  if (value && *value != "fresh") {
    return make_error(ErrorCode::kInvalidArgument, "INFERNO_CEILINGS: expected fresh, found {}",
                      quote(*value));
  }
  return value.has_value();
}

uint64_t uncached_bytes(uint64_t l3_bytes) {
  return l3_bytes > 0 ? 2 * l3_bytes : kLeastReadBytes;
}

std::optional<uint64_t> read_buffer_bytes(uint64_t pass_bytes, uint64_t l3_bytes,
                                          std::optional<uint64_t> available) {
  const uint64_t least = uncached_bytes(l3_bytes);
  const uint64_t wanted = std::clamp(pass_bytes, kLeastReadBytes, kMostReadBytes);
  const uint64_t bytes = std::min(std::max(wanted, least), available.value_or(UINT64_MAX) / 4);
  return bytes >= least ? std::optional(bytes) : std::nullopt;
}

Result<Ceilings> measure_cpu_ceilings(const CeilingsOptions& options) {
  TRY_ASSIGN(const bool wants_fresh, wants_fresh_ceilings());
  TRY_ASSIGN(const CpuIsa* chosen, chosen_isa());
  const std::vector<const CpuIsa*> isas = isas_to_measure(*chosen);
  const CpuTopology topology = cpu_topology();
  const CeilingsKey key = key_of(isas, topology);
  const auto path = ceilings_cache_path();
  if (path && !options.fresh && !wants_fresh) {
    if (auto ceilings = load_ceilings(*path, key)) return std::move(*ceilings);
  }
  TRY_ASSIGN(Ceilings ceilings, measure(*chosen, isas, topology, Cpus(topology.cpus).first(topology.threads),
                                        options.cancelled));
  if (path && !ceilings.read_gb_per_s.empty()) {
    // A cache that cannot be written is no error: the figures are here.
    if (const Status saved = save_ceilings(*path, key, ceilings); !saved) {
      log::event(log::Level::kWarn, "inferno::backend", "ceilings not cached",
                 {{"reason", saved.error().message}});
    }
  }
  return ceilings;
}

bool has_cached_cpu_ceilings() {
  const auto chosen = chosen_isa();
  const auto path = ceilings_cache_path();
  return chosen && path && load_ceilings(*path, key_of(isas_to_measure(**chosen), cpu_topology()));
}

Result<CeilingsNow> measure_cpu_ceilings_now(std::span<const std::string_view> arithmetics,
                                             uint64_t pass_bytes, unsigned threads,
                                             const CancelFn& cancelled) {
  TRY_ASSIGN(const CpuIsa* chosen, chosen_isa());
  const CpuTopology topology = cpu_topology();
  const Cpus cpus = Cpus(topology.cpus).first(std::clamp(threads, 1u, topology.threads));
  const CpuKernels kernels = kernels_of(*chosen);
  Ceilings ignored;  // notes how steady the windows were: these stand beside what ran on the same machine
  CeilingsNow now;
  for (const std::string_view arithmetic : arithmetics) {
    const PeakLoop loop = loop_of(kernels, arithmetic);
    if (loop.run == nullptr) continue;
    TRY(unless_cancelled(cancelled));
    TRY_ASSIGN(const Rate gops, measure_loop(loop, calibrate(loop.run), cpus, ignored));
    if (arithmetic == "fp32") {
      now.fp32_gops = gops.best;
      now.typical_fp32_gops = gops.typical;
    }
    if (gops.best > now.gops) {
      now.gops = gops.best;
      now.typical_gops = gops.typical;
      now.arithmetic = arithmetic;
    }
  }
  if (const auto bytes = read_buffer_bytes(pass_bytes, topology.l3_bytes, available_memory())) {
    TRY(unless_cancelled(cancelled));
    TRY_ASSIGN(const ReadMemory memory, ReadMemory::make(cpus, *bytes));
    TRY_ASSIGN(const Rate read,
               measure_read(reading_kernels(), memory, cpus, cpus.size(), cancelled, ignored));
    now.read_gb_per_s = read.best;
    now.typical_read_gb_per_s = read.typical;
  }
  return now;
}

}  // namespace inferno::backend
