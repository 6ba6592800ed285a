// What the processor offers and the operating system lets programs use, by the names that Linux uses in
// /proc/cpuinfo.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace inferno {

// x86: avx2 fma f16c avx_vnni avx512f avx512bw avx512vl avx512dq avx512_vnni avx512_bf16 avx512_fp16 amx_tile
// amx_bf16 amx_int8 amx_fp16.
// arm64: asimd fphp asimdhp asimddp i8mm bf16.
class CpuFeatures {
 public:
  CpuFeatures() = default;
  explicit CpuFeatures(std::vector<std::string_view> names) : names_(std::move(names)) {}

  bool has(std::string_view name) const;
  const std::vector<std::string_view>& names() const { return names_; }

 private:
  std::vector<std::string_view> names_;
};

// Of the machine that this runs on; empty on other architectures. Linux hands out the data of AMX's tiles on
// request alone (Documentation/arch/x86/xstate.rst): the first call asks for it, for all threads of the
// process.
const CpuFeatures& cpu_features();

// What cpuid says (Intel SDM volume 2A; AMD APM volume 3 has the same) and, in xcr0, which registers the
// operating system saves; zeros for leaves that the processor does not have.
struct CpuidRegisters {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;  // sub-leaf 0
  uint32_t leaf7_1_eax = 0;                              // sub-leaf 1
  uint64_t xcr0 = 0;                                     // 0 without OSXSAVE
};
CpuFeatures x86_features(const CpuidRegisters& registers);

// AT_HWCAP and AT_HWCAP2 of getauxval(3) on arm64 (Linux, Documentation/arch/arm64/elf_hwcaps.rst).
CpuFeatures arm64_features(uint64_t hwcap, uint64_t hwcap2);

}  // namespace inferno
