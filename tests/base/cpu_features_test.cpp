#include "base/cpu_features.h"

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace inferno {
namespace {

constexpr uint64_t kAllRegisters = 0x600e7;  // XCR0 where the system saves everything up to the tiles

// A processor with all that we know of.
CpuidRegisters everything() {
  return {.leaf1_ecx = ~0u,
          .leaf7_ebx = ~0u,
          .leaf7_ecx = ~0u,
          .leaf7_edx = ~0u,
          .leaf7_1_eax = ~0u,
          .xcr0 = kAllRegisters};
}

TEST(CpuFeatures, EachBitOfX86HasItsName) {
  EXPECT_EQ(x86_features(everything()).names(),
            (std::vector<std::string_view>{"fma", "f16c", "avx2", "avx_vnni", "avx512f", "avx512dq",
                                           "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
                                           "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16"}));
  struct Case {
    const char* name;
    uint32_t CpuidRegisters::*word;
    int bit;
  };
  for (const Case& c : {Case{"fma", &CpuidRegisters::leaf1_ecx, 12},
                        {"f16c", &CpuidRegisters::leaf1_ecx, 29},
                        {"avx2", &CpuidRegisters::leaf7_ebx, 5},
                        {"avx512dq", &CpuidRegisters::leaf7_ebx, 17},
                        {"avx512bw", &CpuidRegisters::leaf7_ebx, 30},
                        {"avx512vl", &CpuidRegisters::leaf7_ebx, 31},
                        {"avx512_vnni", &CpuidRegisters::leaf7_ecx, 11},
                        {"avx512_fp16", &CpuidRegisters::leaf7_edx, 23},
                        {"amx_bf16", &CpuidRegisters::leaf7_edx, 22},
                        {"amx_int8", &CpuidRegisters::leaf7_edx, 25},
                        {"avx_vnni", &CpuidRegisters::leaf7_1_eax, 4},
                        {"amx_fp16", &CpuidRegisters::leaf7_1_eax, 21},
                        {"avx512_bf16", &CpuidRegisters::leaf7_1_eax, 5}}) {
    CpuidRegisters without = everything();
    without.*c.word &= ~(1u << c.bit);
    const CpuFeatures features = x86_features(without);
    EXPECT_FALSE(features.has(c.name)) << c.name;
    EXPECT_EQ(features.names().size(), 14u) << c.name;
  }
}

TEST(CpuFeatures, RegistersThatTheSystemDoesNotSaveAreNotUsed) {
  CpuidRegisters registers = everything();
  registers.xcr0 = 0x07;  // no ZMM
  EXPECT_EQ(x86_features(registers).names(),
            (std::vector<std::string_view>{"fma", "f16c", "avx2", "avx_vnni"}));
  for (const uint64_t xcr0 : {0x03, 0x00}) {  // no YMM; no XSAVE at all
    registers.xcr0 = xcr0;
    EXPECT_TRUE(x86_features(registers).names().empty()) << xcr0;
  }
  registers.xcr0 = kAllRegisters & ~uint64_t{0x20};  // no mask registers
  EXPECT_FALSE(x86_features(registers).has("avx512f"));
  registers.xcr0 = kAllRegisters & ~uint64_t{0x40000};  // no tiles' data
  for (const char* name : {"amx_tile", "amx_bf16", "amx_int8", "amx_fp16"})
    EXPECT_FALSE(x86_features(registers).has(name));
  EXPECT_TRUE(x86_features(registers).has("avx512_fp16"));
}

TEST(CpuFeatures, NothingOfAmxWithoutTiles) {
  CpuidRegisters registers = everything();
  registers.leaf7_edx &= ~(1u << 24);
  for (const char* name : {"amx_tile", "amx_bf16", "amx_int8", "amx_fp16"})
    EXPECT_FALSE(x86_features(registers).has(name));
}

TEST(CpuFeatures, NothingOfAvx512WithoutItsFoundation) {
  CpuidRegisters registers = everything();
  registers.leaf7_ebx &= ~(1u << 16);
  registers.leaf7_edx &= ~(1u << 24);  // no tiles either
  EXPECT_EQ(x86_features(registers).names(),
            (std::vector<std::string_view>{"fma", "f16c", "avx2", "avx_vnni"}));
}

TEST(CpuFeatures, EachBitOfArm64HasItsName) {
  EXPECT_TRUE(arm64_features(0, 0).names().empty());
  EXPECT_EQ(arm64_features(1u << 1 | 1u << 20, 0).names(),
            (std::vector<std::string_view>{"asimd", "asimddp"}));
  EXPECT_EQ(arm64_features(1u << 9 | 1u << 10, 1u << 13 | 1u << 14).names(),
            (std::vector<std::string_view>{"fphp", "asimdhp", "i8mm", "bf16"}));
}

// Two ways to ask the same processor.
TEST(CpuFeatures, ThisMachineHasWhatLinuxSaysItHas) {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line) && !line.starts_with("flags") && !line.starts_with("Features")) {
  }
  if (!in) GTEST_SKIP() << "needs /proc/cpuinfo with a line of flags";
  std::istringstream words(line.substr(line.find(':') + 1));
  std::vector<std::string> flags;
  for (std::string word; words >> word;) flags.push_back(word);
  for (const std::string_view name : cpu_features().names()) {
    if (name == "amx_fp16") continue;  // older kernels than 6.9 do not know its name
    EXPECT_NE(std::find(flags.begin(), flags.end(), name), flags.end()) << name;
  }
  std::vector<std::string_view> known = {"avx2",        "avx512f",  "avx512_vnni",
                                         "avx512_bf16", "avx_vnni", "asimddp"};
#if defined(__x86_64__)
  constexpr int kArchReqXcompPerm = 0x1023, kTileData = 18;  // a sandbox may refuse it
  if (::syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0)
    known.insert(known.end(), {"amx_tile", "amx_bf16", "amx_int8"});
#endif
  for (const std::string_view flag : known) {
    const bool there = std::find(flags.begin(), flags.end(), flag) != flags.end();
    EXPECT_EQ(cpu_features().has(flag), there) << flag;
  }
}

}  // namespace
}  // namespace inferno
