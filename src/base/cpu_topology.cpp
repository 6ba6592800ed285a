#include "base/cpu_topology.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <set>
#include <system_error>
#include <thread>

#include "base/text.h"

namespace inferno {
namespace {

// The CPUs of a sysfs list cannot be more; a longer range is not believed.
constexpr unsigned kMaxCpus = 1u << 16;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// A whole decimal number and nothing else.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Takes what stands before the next `separator`, or all that is left, off `text`.
std::string_view take_until(std::string_view& text, char separator) {
  const size_t at = std::min(text.find(separator), text.size());
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return head;
}

std::optional<std::string> read_text(const std::string& path) {
  constexpr size_t kMaxBytes = 1 << 20;
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  // In pieces: most of these dozens of files are a few bytes long, and every start reads them.
  std::array<char, 4096> piece;
  std::string text;
  while (text.size() < kMaxBytes && (in.read(piece.data(), piece.size()), in.gcount() > 0))
    text.append(piece.data(), static_cast<size_t>(in.gcount()));
  return text;
}

std::vector<unsigned> affinity() {
  std::vector<unsigned> cpus;
  // A machine with more CPUs than a cpu_set_t holds refuses the smaller set.
  for (size_t n = CPU_SETSIZE; cpus.empty() && n <= kMaxCpus; n *= 2) {
    cpu_set_t* set = CPU_ALLOC(n);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(n);
    CPU_ZERO_S(bytes, set);
    if (::sched_getaffinity(0, bytes, set) == 0) {
      for (unsigned cpu = 0; cpu < n; ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
      }
    }
    CPU_FREE(set);
  }
  if (cpus.empty()) {
    for (unsigned cpu = 0; cpu < std::max(1u, std::thread::hardware_concurrency()); ++cpu) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::string cpu_path(unsigned cpu, std::string_view rest) {
  return fmt::format("/sys/devices/system/cpu/cpu{}/{}", cpu, rest);
}

// What tells the core of a CPU from others: the list of its hardware threads, or else the CPU itself.
std::string core_key(unsigned cpu, const ReadText& read) {
  if (const auto siblings = read(cpu_path(cpu, "topology/thread_siblings_list"))) {
    if (parse_cpu_list(*siblings)) return std::string(trimmed(*siblings));
  }
  return fmt::format("{}", cpu);
}

// The caches of the highest level that `cpu` has, at least the third: adds (who shares it, its bytes).
void add_l3(unsigned cpu, const ReadText& read, std::set<std::pair<std::string, uint64_t>>& caches) {
  constexpr unsigned kMaxCaches = 16;
  for (unsigned index = 0; index < kMaxCaches; ++index) {
    const std::string folder = cpu_path(cpu, fmt::format("cache/index{}/", index));
    const auto level = read(folder + "level");
    if (!level) return;
    const auto size = read(folder + "size");
    const auto shared = read(folder + "shared_cpu_list");
    if (parse_number<unsigned>(trimmed(*level)).value_or(0) < 3 || !size || !shared) continue;
    if (const auto bytes = parse_cache_size(*size)) caches.emplace(trimmed(*shared), *bytes);
  }
}

// The nodes that have any of `affinity`.
std::vector<NumaNode> numa_nodes(const std::vector<unsigned>& affinity, const ReadText& read) {
  const std::string folder = "/sys/devices/system/node/";
  std::vector<NumaNode> nodes;
  const auto ids = parse_cpu_list(read(folder + "online").value_or(""));
  for (const unsigned id : ids.value_or(std::vector<unsigned>())) {
    NumaNode node{.id = id, .cpus = {}, .cores = 0};
    std::set<std::string> cores;
    // A node may have memory alone.
    const auto cpus = parse_cpu_list(read(folder + fmt::format("node{}/cpulist", id)).value_or(""));
    for (const unsigned cpu : cpus.value_or(std::vector<unsigned>())) {
      if (std::find(affinity.begin(), affinity.end(), cpu) == affinity.end()) continue;
      node.cpus.push_back(cpu);
      cores.insert(core_key(cpu, read));
    }
    node.cores = static_cast<unsigned>(cores.size());
    if (!node.cpus.empty()) nodes.push_back(std::move(node));
  }
  return nodes;
}

// The smallest quota of the process's control group (version 2) and of those around it.
std::optional<unsigned> quota(const ReadText& read) {
  std::string_view line;
  const std::string groups = read("/proc/self/cgroup").value_or("");
  for (std::string_view left = groups; !left.empty();) {
    constexpr std::string_view kVersion2 = "0::";
    line = take_until(left, '\n');
    if (!line.starts_with(kVersion2)) continue;
    std::optional<unsigned> smallest;
    for (std::string path(line.substr(kVersion2.size()));;) {
      while (path.ends_with('/')) path.pop_back();
      if (const auto text = read("/sys/fs/cgroup" + path + "/cpu.max")) {
        const auto own = parse_cpu_quota(*text);
        if (own) smallest = std::min(*own, smallest.value_or(*own));
      }
      const size_t slash = path.rfind('/');
      if (slash == std::string::npos) return smallest;
      path.resize(slash);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<unsigned>> parse_cpu_list(std::string_view text) {
  std::vector<unsigned> cpus;
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    std::string_view range = take_until(text, ',');
    const bool is_single = range.find('-') == std::string_view::npos;
    const auto first = parse_number<unsigned>(take_until(range, '-'));
    const auto last = is_single ? first : parse_number<unsigned>(range);
    if (!first || !last || *last < *first || *last >= kMaxCpus) return std::nullopt;
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<unsigned> parse_cpu_quota(std::string_view text) {
  text = trimmed(text);
  const auto time = parse_number<uint64_t>(take_until(text, ' '));
  const auto period = parse_number<uint64_t>(text);
  if (!time || !period || *time == 0 || *period == 0) return std::nullopt;
  return static_cast<unsigned>(std::min<uint64_t>((*time - 1) / *period + 1, kMaxCpus));
}

std::optional<uint64_t> parse_cache_size(std::string_view text) {
  text = trimmed(text);
  if (!text.ends_with('K')) return std::nullopt;
  text.remove_suffix(1);
  const auto kib = parse_number<uint32_t>(text);
  return kib ? std::optional(uint64_t{*kib} * 1024) : std::nullopt;
}

std::optional<std::string> parse_cpu_model(std::string_view cpuinfo) {
  std::string implementer, part;
  while (!cpuinfo.empty()) {
    std::string_view value = take_until(cpuinfo, '\n');
    const std::string_view key = trimmed(take_until(value, ':'));
    value = trimmed(value);
    if (value.empty()) continue;
    if (key == "model name") return escaped(value);
    if (key == "CPU implementer") implementer = escaped(value);
    if (key == "CPU part") part = escaped(value);
  }
  if (implementer.empty() || part.empty()) return std::nullopt;
  return fmt::format("implementer {} part {}", implementer, part);
}

CpuTopology cpu_topology(const std::vector<unsigned>& affinity, const ReadText& read) {
  CpuTopology topology;
  topology.model = parse_cpu_model(read("/proc/cpuinfo").value_or("")).value_or("unknown");
  topology.boot_id = escaped(trimmed(read("/proc/sys/kernel/random/boot_id").value_or("")));

  std::set<std::string> cores;
  std::set<std::pair<std::string, uint64_t>> caches;
  std::vector<unsigned> others;
  for (const unsigned cpu : affinity) {
    const bool is_first = cores.insert(core_key(cpu, read)).second;
    (is_first ? topology.cpus : others).push_back(cpu);
    add_l3(cpu, read, caches);
  }
  topology.nodes = numa_nodes(affinity, read);
  topology.cpus.insert(topology.cpus.end(), others.begin(), others.end());
  topology.cores = static_cast<unsigned>(std::max<size_t>(1, cores.size()));
  for (const auto& cache : caches) topology.l3_bytes += cache.second;

  topology.threads = static_cast<unsigned>(std::max<size_t>(1, affinity.size()));
  if (const auto limit = quota(read)) topology.threads = std::min(topology.threads, *limit);
  return topology;
}

CpuTopology cpu_topology() {
  return cpu_topology(affinity(), read_text);
}

const NumaNode* largest_node(std::span<const NumaNode> nodes) {
  const auto fewer_cores = [](const NumaNode& a, const NumaNode& b) { return a.cores < b.cores; };
  return nodes.empty() ? nullptr : &*std::max_element(nodes.begin(), nodes.end(), fewer_cores);
}

std::vector<unsigned> nodes_of(std::span<const NumaNode> nodes, std::span<const unsigned> cpus) {
  std::vector<unsigned> ids;
  for (const NumaNode& node : nodes) {
    const auto is_there = [&](unsigned cpu) {
      return std::binary_search(node.cpus.begin(), node.cpus.end(), cpu);
    };
    if (std::any_of(cpus.begin(), cpus.end(), is_there)) ids.push_back(node.id);
  }
  return ids;
}

Status isolate_numa_node() {
  const std::vector<NumaNode> nodes = numa_nodes(affinity(), read_text);
  if (nodes.size() < 2) return {};
  const NumaNode& node = *largest_node(nodes);
  const size_t n = node.cpus.back() + 1;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(n), [](cpu_set_t* s) { CPU_FREE(s); });
  const size_t bytes = CPU_ALLOC_SIZE(n);
  if (set == nullptr) {
    return make_error(ErrorCode::kResource, "out of memory: {} were asked for", human_bytes(bytes));
  }
  CPU_ZERO_S(bytes, set.get());
  for (const unsigned cpu : node.cpus) CPU_SET_S(cpu, bytes, set.get());
  if (::sched_setaffinity(0, bytes, set.get()) == 0) return {};
  return make_error(
      ErrorCode::kRuntime,
      "the system does not let this process keep to the CPUs of NUMA node {}: {}; numactl or taskset may",
      node.id, std::generic_category().message(errno));
}

}  // namespace inferno
