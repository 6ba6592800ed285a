#include "base/cpu_topology.h"

#include <gtest/gtest.h>

#include <map>

namespace inferno {
namespace {

using Cpus = std::vector<unsigned>;

ReadText from(std::map<std::string, std::string> files) {
  return [files = std::move(files)](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  };
}

// Two cores of two threads each, one cache; as Linux numbers them: 0 and 2 are one core.
std::map<std::string, std::string> two_cores() {
  std::map<std::string, std::string> files;
  for (const int cpu : {0, 1, 2, 3}) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    files[folder + "/topology/thread_siblings_list"] = cpu % 2 == 0 ? "0,2\n" : "1,3\n";
    files[folder + "/cache/index0/level"] = "1\n";
    files[folder + "/cache/index0/size"] = "32K\n";
    files[folder + "/cache/index0/shared_cpu_list"] = cpu % 2 == 0 ? "0,2\n" : "1,3\n";
    files[folder + "/cache/index1/level"] = "3\n";
    files[folder + "/cache/index1/size"] = "16384K\n";
    files[folder + "/cache/index1/shared_cpu_list"] = "0-3\n";
  }
  files["/proc/cpuinfo"] =
      "processor\t: 0\nvendor_id\t: X\nmodel name\t: Some CPU @ 3 GHz\n\nprocessor\t: 1\n";
  files["/proc/sys/kernel/random/boot_id"] = "1b4e28ba-2fa1-11d2-883f-0016d3cca427\n";
  return files;
}

TEST(CpuTopology, CoresComeBeforeTheirSecondThreads) {
  const CpuTopology topology = cpu_topology({0, 1, 2, 3}, from(two_cores()));
  EXPECT_EQ(topology.cpus, (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(topology.cores, 2u);
  EXPECT_EQ(topology.threads, 4u);
  EXPECT_EQ(topology.l3_bytes, 16384u * 1024);
  EXPECT_EQ(topology.model, "Some CPU @ 3 GHz");
  EXPECT_EQ(topology.boot_id, "1b4e28ba-2fa1-11d2-883f-0016d3cca427");
  const CpuTopology part = cpu_topology({0, 2, 3}, from(two_cores()));
  EXPECT_EQ(part.cpus, (Cpus{0, 3, 2}));
  EXPECT_EQ(part.cores, 2u);
  EXPECT_EQ(part.threads, 3u);
}

TEST(CpuTopology, EachLastLevelCacheCountsOnce) {
  auto files = two_cores();
  for (const int cpu : {2, 3}) {
    files["/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index1/shared_cpu_list"] = "2-3\n";
  }
  EXPECT_EQ(cpu_topology({0, 1, 2, 3}, from(files)).l3_bytes, 2 * 16384u * 1024);
  EXPECT_EQ(cpu_topology({0, 1}, from(files)).l3_bytes, 16384u * 1024);
}

TEST(CpuTopology, TheQuotaIsTheSmallestOnTheWayUp) {
  auto files = two_cores();
  files["/proc/self/cgroup"] = "1:cpu:/old\n0::/a/b\n";
  files["/sys/fs/cgroup/a/b/cpu.max"] = "max 100000\n";
  EXPECT_EQ(cpu_topology({0, 1, 2, 3}, from(files)).threads, 4u);
  files["/sys/fs/cgroup/a/cpu.max"] = "250000 100000\n";
  EXPECT_EQ(cpu_topology({0, 1, 2, 3}, from(files)).threads, 3u);
  files["/sys/fs/cgroup/cpu.max"] = "90000 100000\n";
  EXPECT_EQ(cpu_topology({0, 1, 2, 3}, from(files)).threads, 1u);
  EXPECT_EQ(cpu_topology({0, 1, 2, 3}, from(files)).cores, 2u);
}

// Eight CPUs: two nodes of two cores of two threads, and a node of memory alone.
TEST(CpuTopology, NodesAreThoseWithCpusOfOurs) {
  std::map<std::string, std::string> files;
  for (const int cpu : {0, 1, 2, 3, 4, 5, 6, 7}) {
    files["/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list"] =
        std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4);
  }
  const std::string folder = "/sys/devices/system/node/";
  files[folder + "online"] = "0,2-3\n";
  files[folder + "node0/cpulist"] = "0-1,4-5\n";
  files[folder + "node2/cpulist"] = "2-3,6-7\n";
  files[folder + "node3/cpulist"] = "\n";
  const CpuTopology all = cpu_topology({0, 1, 2, 3, 4, 5, 6, 7}, from(files));
  EXPECT_EQ(all.cpus, (Cpus{0, 1, 2, 3, 4, 5, 6, 7}));
  ASSERT_EQ(all.nodes.size(), 2u);
  EXPECT_EQ(all.nodes[0].id, 0u);
  EXPECT_EQ(all.nodes[0].cpus, (Cpus{0, 1, 4, 5}));
  EXPECT_EQ(all.nodes[1].id, 2u);
  EXPECT_EQ(all.nodes[1].cores, 2u);

  const CpuTopology part = cpu_topology({0, 1, 3, 7}, from(files));
  EXPECT_EQ(part.cpus, (Cpus{0, 1, 3, 7}));
  EXPECT_EQ(part.nodes[1].cpus, (Cpus{3, 7}));
  EXPECT_EQ(part.nodes[1].cores, 1u);

  EXPECT_EQ(largest_node(all.nodes), &all.nodes[0]);
  EXPECT_EQ(largest_node(part.nodes), &part.nodes[0]);
  const CpuTopology most_on_the_second = cpu_topology({0, 4, 2, 3}, from(files));
  EXPECT_EQ(largest_node(most_on_the_second.nodes)->id, 2u);
  EXPECT_EQ(nodes_of(all.nodes, all.cpus).size(), 2u);
  for (const NumaNode& node : all.nodes)
    EXPECT_EQ(nodes_of(all.nodes, std::span(node.cpus).last(1)), std::vector{node.id});
  EXPECT_TRUE(nodes_of(all.nodes, {}).empty());
  EXPECT_TRUE(nodes_of({}, all.cpus).empty());

  files[folder + "online"] = "?";
  const CpuTopology untold = cpu_topology({0, 1, 2, 3}, from(files));
  EXPECT_EQ(untold.cpus, (Cpus{0, 1, 2, 3}));
  EXPECT_TRUE(untold.nodes.empty());
  EXPECT_EQ(largest_node(untold.nodes), nullptr);
}

TEST(CpuTopology, ASystemThatTellsNothing) {
  const CpuTopology topology = cpu_topology({4, 7}, from({}));
  EXPECT_EQ(topology.model, "unknown");
  EXPECT_EQ(topology.cpus, (Cpus{4, 7}));
  EXPECT_EQ(topology.cores, 2u);
  EXPECT_EQ(topology.threads, 2u);
  EXPECT_EQ(topology.l3_bytes, 0u);
  EXPECT_EQ(topology.boot_id, "");
  EXPECT_TRUE(topology.nodes.empty());
}

TEST(CpuTopology, ThisMachine) {
  const CpuTopology topology = cpu_topology();
  EXPECT_GE(topology.cores, 1u);
  EXPECT_GE(topology.threads, 1u);
  EXPECT_GE(topology.cpus.size(), topology.threads);
  EXPECT_GE(topology.cpus.size(), topology.cores);
}

TEST(CpuTopology, ParsesListsOfCpus) {
  EXPECT_EQ(parse_cpu_list("0-3,8\n"), (Cpus{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5"), (Cpus{5}));
  for (const char* text : {"", "\n", "a", "1-", "-1", "3-1", "1,,2", "1 2", "0-4294967295", "99999999999"}) {
    EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
  }
}

TEST(CpuTopology, ParsesQuotas) {
  EXPECT_EQ(parse_cpu_quota("200000 100000\n"), 2u);
  EXPECT_EQ(parse_cpu_quota("200001 100000"), 3u);
  EXPECT_EQ(parse_cpu_quota("1000 100000"), 1u);
  EXPECT_EQ(parse_cpu_quota("18446744073709551615 1"), 65536u);
  for (const char* text : {"", "max 100000\n", "max", "100000", "0 100000", "1 0", "-1 100000", "1 2 3"}) {
    EXPECT_EQ(parse_cpu_quota(text), std::nullopt) << text;
  }
}

TEST(CpuTopology, ParsesSizesOfCaches) {
  EXPECT_EQ(parse_cache_size("32768K\n"), uint64_t{32} << 20);
  for (const char* text : {"", "K", "32M", "32", "-1K", "99999999999K"}) {
    EXPECT_EQ(parse_cache_size(text), std::nullopt) << text;
  }
}

TEST(CpuTopology, ParsesModels) {
  EXPECT_EQ(parse_cpu_model("model name\t: A\x1b[2J\n"), "A\\u{1b}[2J");
  EXPECT_EQ(parse_cpu_model("processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"),
            "implementer 0x41 part 0xd0c");
  for (const char* text : {"", "\n", "model name\n", "model name:\n", "CPU part: 0x1\n"}) {
    EXPECT_EQ(parse_cpu_model(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace inferno
