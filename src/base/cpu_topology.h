// The processors that this process may use, and what tells one machine and boot from another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferno {

// Processors that share a path to memory: to that of another node it is longer.
struct NumaNode {
  unsigned id = 0;
  std::vector<unsigned> cpus;  // those of the affinity mask, ascending
  unsigned cores = 0;          // physical cores among them
};

struct CpuTopology {
  std::string model;            // "AMD EPYC 9B45"; "unknown" where the system does not tell
  std::vector<unsigned> cpus;   // logical CPUs of the affinity mask: one of each core first, then the others
  unsigned cores = 1;           // physical cores among them
  unsigned threads = 1;         // as many of them as the control group's quota lets run at once, rounded up
  std::vector<NumaNode> nodes;  // with CPUs of the affinity mask; {} where the system does not tell
  uint64_t l3_bytes = 0;        // the last-level caches of those CPUs, each once; 0 where unknown
  std::string boot_id;          // differs after every start of the machine; "" where unknown
};

// Asks Linux's /proc and /sys; nothing of it fails: what cannot be found out has the values above.
CpuTopology cpu_topology();

// The text of a small file, or nullopt: what the functions below ask.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;
CpuTopology cpu_topology(const std::vector<unsigned>& affinity, const ReadText& read);

// The node with the most cores, the first of equals; nullptr of none.
const NumaNode* largest_node(std::span<const NumaNode> nodes);

// The ids of the nodes that have any of these CPUs, in order.
std::vector<unsigned> nodes_of(std::span<const NumaNode> nodes, std::span<const unsigned> cpus);

// The calling thread, and those that it starts from now on, run on the node that has the most cores, and so
// prefer its memory. Nothing where there is one node, or none that is known. kRuntime when the system
// refuses.
Status isolate_numa_node();

// "0-3,8" of sysfs; nullopt for anything else.
std::optional<std::vector<unsigned>> parse_cpu_list(std::string_view text);
// CPUs' worth of time per period in a cpu.max, rounded up; nullopt for "max" and for anything else.
std::optional<unsigned> parse_cpu_quota(std::string_view text);
// "32768K" of sysfs in bytes; nullopt for anything else.
std::optional<uint64_t> parse_cache_size(std::string_view text);
// The model in the text of /proc/cpuinfo; on arm64, which has none, "implementer 0x41 part 0xd0c".
std::optional<std::string> parse_cpu_model(std::string_view cpuinfo);

}  // namespace inferno
