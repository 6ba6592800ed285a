#include "base/cpu_features.h"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace inferno {
namespace {

constexpr bool bit(uint64_t word, int index) {
  return (word >> index & 1) != 0;
}

#if defined(__x86_64__)
constexpr int kTileDataState = 18;  // a bit of XCR0

// Whether this process may use AMX's tiles from now on.
bool ask_for_tiles() {
  constexpr int kArchReqXcompPerm = 0x1023;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h
  return ::syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileDataState) == 0;
}

CpuidRegisters read_cpuid() {
  CpuidRegisters registers;
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) registers.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    registers.leaf7_ebx = ebx;
    registers.leaf7_ecx = ecx;
    registers.leaf7_edx = edx;
    const uint32_t last_subleaf = eax;
    if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) {
      registers.leaf7_1_eax = eax;
    }
  }
  constexpr int kOsXsave = 27;
  if (bit(registers.leaf1_ecx, kOsXsave)) {
    uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // its intrinsic needs a compiler flag
    registers.xcr0 = uint64_t{high} << 32 | low;
    if (bit(registers.xcr0, kTileDataState) && !ask_for_tiles())
      registers.xcr0 &= ~(uint64_t{1} << kTileDataState);
  }
  return registers;
}
#endif

CpuFeatures detect() {
#if defined(__x86_64__)
  return x86_features(read_cpuid());
#elif defined(__aarch64__)
  return arm64_features(::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2));
#else
  return {};
#endif
}

}  // namespace

bool CpuFeatures::has(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

CpuFeatures x86_features(const CpuidRegisters& r) {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name, bool there) {
    if (there) names.push_back(name);
  };
  constexpr uint64_t kYmmState = 0x06;  // XMM and upper halves of YMM
  constexpr uint64_t kZmmState = 0xe6;  // besides: mask registers, upper halves of ZMM, ZMM16 to 31
  const bool ymm = (r.xcr0 & kYmmState) == kYmmState && bit(r.leaf1_ecx, 28);
  constexpr uint64_t kTileState = 0x60000;  // the configuration of AMX's tiles, and their data
  const bool zmm = ymm && (r.xcr0 & kZmmState) == kZmmState && bit(r.leaf7_ebx, 16);
  add("fma", ymm && bit(r.leaf1_ecx, 12));
  add("f16c", ymm && bit(r.leaf1_ecx, 29));
  add("avx2", ymm && bit(r.leaf7_ebx, 5));
  add("avx_vnni", ymm && bit(r.leaf7_1_eax, 4));
  add("avx512f", zmm);
  add("avx512dq", zmm && bit(r.leaf7_ebx, 17));
  add("avx512bw", zmm && bit(r.leaf7_ebx, 30));
  add("avx512vl", zmm && bit(r.leaf7_ebx, 31));
  add("avx512_vnni", zmm && bit(r.leaf7_ecx, 11));
  add("avx512_bf16", zmm && bit(r.leaf7_1_eax, 5));
  add("avx512_fp16", zmm && bit(r.leaf7_edx, 23));
  const bool tiles = (r.xcr0 & kTileState) == kTileState && bit(r.leaf7_edx, 24);
  add("amx_tile", tiles);
  add("amx_bf16", tiles && bit(r.leaf7_edx, 22));
  add("amx_int8", tiles && bit(r.leaf7_edx, 25));
  add("amx_fp16", tiles && bit(r.leaf7_1_eax, 21));
  return CpuFeatures(std::move(names));
}

CpuFeatures arm64_features(uint64_t hwcap, uint64_t hwcap2) {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name, bool there) {
    if (there) names.push_back(name);
  };
  add("asimd", bit(hwcap, 1));
  add("fphp", bit(hwcap, 9));
  add("asimdhp", bit(hwcap, 10));
  add("asimddp", bit(hwcap, 20));
  add("i8mm", bit(hwcap2, 13));
  add("bf16", bit(hwcap2, 14));
  return CpuFeatures(std::move(names));
}

}  // namespace inferno
