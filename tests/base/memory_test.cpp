#include "base/memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/shared_data.h"

namespace inferno::test {
namespace {

// A control group's folder with these files.
std::string group(const std::string& name, const std::string& max, const std::string& current,
                  const std::string& stat) {
  const auto folder = scratch_dir("memory_" + name);
  std::ofstream(folder / "memory.max") << max;
  std::ofstream(folder / "memory.current") << current;
  if (!stat.empty()) std::ofstream(folder / "memory.stat") << stat;
  return folder.string();
}

TEST(ControlGroup, LeavesItsLimitWithoutWhatItHolds) {
  EXPECT_EQ(control_group_left(group("bare", "1000\n", "300\n", "")), 700u);
  EXPECT_EQ(control_group_left(group("full", "1000\n", "1200\n", "")), 0u);
}

TEST(ControlGroup, FilesThatItHasCachedAreNotHeld) {
  const std::string stat =
      "anon 100\nfile 200\nkernel 7\ninactive_anon 90\nactive_anon 10\ninactive_file 150\nactive_file 40\n";
  EXPECT_EQ(control_group_left(group("cached", "1000\n", "300\n", stat)), 890u);
  EXPECT_EQ(control_group_left(group("more", "1000\n", "100\n", stat)), 1000u) << "they were counted later";
}

TEST(ControlGroup, WithoutALimitLeavesWhatTheMachineHas) {
  EXPECT_FALSE(control_group_left(group("unlimited", "max\n", "300\n", "")));
  EXPECT_FALSE(control_group_left("/no/such/folder"));
}

}  // namespace
}  // namespace inferno::test
