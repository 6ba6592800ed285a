#include "metrics/profile.h"

#include <fmt/core.h>

#include "base/check.h"

namespace inferno::metrics {

Cost& Cost::operator+=(const Cost& other) {
  weight_bytes += other.weight_bytes;
  kv_bytes += other.kv_bytes;
  activation_bytes += other.activation_bytes;
  flops += other.flops;
  attention_flops += other.attention_flops;
  spared_bytes += other.spared_bytes;
  return *this;
}

HeadScreenUse& HeadScreenUse::operator+=(const HeadScreenUse& other) {
  passes += other.passes;
  screened += other.screened;
  head_bytes += other.head_bytes;
  read_bytes += other.read_bytes;
  return *this;
}

void Profile::enter(const char* name) {
  const auto depth = static_cast<int>(entered_.size());
  size_t at = entered_.empty() ? 0 : entered_.back() + 1;
  const auto inside = [&] { return at < rows_.size() && rows_[at].depth >= depth; };
  while (inside() && (rows_[at].depth != depth || rows_[at].name != name)) ++at;
  if (!inside()) rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(at), Row{name, depth, 0, {}, {}});
  entered_.push_back(at);
}

void Profile::leave(std::chrono::nanoseconds time, const Cost& cost) {
  CHECK(!entered_.empty(), "left more operations than were entered");
  Row& row = rows_[entered_.back()];
  entered_.pop_back();
  ++row.calls;
  row.time += time;
  row.cost += cost;
}

std::chrono::nanoseconds Profile::total_time() const {
  std::chrono::nanoseconds total{0};
  for (const Row& row : rows_) {
    if (row.depth == 0) total += row.time;
  }
  return total;
}

Profile::Row Profile::total(std::string_view name) const {
  Row total;
  total.name = name;
  for (const Row& row : rows_) {
    if (row.name != name) continue;
    total.calls += row.calls;
    total.time += row.time;
    total.cost += row.cost;
  }
  return total;
}

std::string Profile::table() const {
  const double total = static_cast<double>(total_time().count());
  std::string text = fmt::format("{:<22} {:>9} {:>11} {:>7} {:>9} {:>9}\n", "operation", "calls", "ms", "%",
                                 "GB/s", "GFLOP/s");
  const auto line = [&](const std::string& name, uint64_t calls, double ns, const Cost& cost) {
    const double per_ns = ns > 0 ? 1.0 / ns : 0.0;  // bytes per ns are GB/s, operations per ns are GFLOP/s
    text += fmt::format("{:<22} {:>9} {:>11.3f} {:>7.2f} {:>9.3f} {:>9.3f}\n", name, calls, ns * 1e-6,
                        total > 0 ? 100.0 * ns / total : 0.0, static_cast<double>(cost.bytes()) * per_ns,
                        static_cast<double>(cost.flops) * per_ns);
  };
  Cost sum;
  uint64_t calls = 0;
  for (const Row& row : rows_) {
    line(std::string(static_cast<size_t>(row.depth) * 2, ' ') + row.name, row.calls,
         static_cast<double>(row.time.count()), row.cost);
    if (row.depth == 0) {
      sum += row.cost;
      calls += row.calls;
    }
  }
  line("total", calls, total, sum);
  return text;
}

}  // namespace inferno::metrics
