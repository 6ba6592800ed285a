// The bytes that each ISA packs: panels are kept in files, so whoever changes a layout must say so.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/cpu_isa.h"
#include "base/content_hash.h"
#include "base/cpu_features.h"
#include "support/random.h"

namespace inferno::test {
namespace {

using backend::CpuKernels;
using kernels::PanelMatmul;

// A whole panel and one that lacks a row.
std::vector<uint8_t> pack(const PanelMatmul& kernel, DType dtype, int64_t cols, uint8_t filler) {
  const auto stride = static_cast<int64_t>(row_bytes(dtype, static_cast<size_t>(cols)));
  Random random(static_cast<uint64_t>(dtype));
  std::vector<uint8_t> weights(static_cast<size_t>(kernel.rows * stride));
  for (uint8_t& byte : weights) byte = random.byte();
  const int64_t panel_bytes = kernel.panel_bytes(cols);
  std::vector<uint8_t> panels(static_cast<size_t>(2 * panel_bytes), filler);
  kernel.pack(weights.data(), stride, kernel.rows, cols, panels.data());
  kernel.pack(weights.data(), stride, kernel.rows - 1, cols, panels.data() + panel_bytes);
  return panels;
}

// By type, of all types that have panels.
std::map<std::string, uint64_t> layout_hashes(const CpuKernels& cpu) {
  std::map<std::string, uint64_t> hashes;
  for (int i = 0; i < kernels::kDTypeIds; ++i) {
    const PanelMatmul& kernel = cpu.matmul[i];
    if (kernel.rows == 0) continue;
    const auto dtype = static_cast<DType>(i);
    // Of many blocks and of an odd number, which leaves gaps in some layouts.
    const int64_t block = std::max<int64_t>(traits(dtype).block_elems, 32);
    std::vector<uint8_t> all;
    for (const int64_t cols : {8 * block, 5 * block}) {
      const std::vector<uint8_t> panels = pack(kernel, dtype, cols, 0x00);
      EXPECT_EQ(panels, pack(kernel, dtype, cols, 0xff)) << name(dtype) << ": bytes that nobody writes";
      all.insert(all.end(), panels.begin(), panels.end());
    }
    hashes[std::string(name(dtype))] = content_hash(std::as_bytes(std::span(all)));
  }
  return hashes;
}

constexpr const char* kWhatToDo =
    "a layout of panels has changed: raise kPanelLayoutVersion in kernels/cpu/params.h, then put the new "
    "hash "
    "here";

TEST(PanelLayout, OfGenericIsThatOfItsVersion) {
  const std::map<std::string, uint64_t> expected = {
      {"BF16", 2363816055598401075u},   {"F16", 3808234541335572472u},     {"F32", 15489335741780197399u},
      {"IQ4_NL", 3787107227937999548u}, {"IQ4_XS", 11388726396892253833u}, {"MXFP4", 15183786312839615533u},
      {"Q2_K", 3682141590306778075u},   {"Q3_K", 4466303180860844790u},    {"Q4_0", 8399844712313189387u},
      {"Q4_1", 7778456086665576356u},   {"Q4_K", 8850817801959219498u},    {"Q5_0", 4413109533270513770u},
      {"Q5_1", 9422158454940596146u},   {"Q5_K", 12398877082071718349u},   {"Q6_K", 9427442274384658047u},
      {"Q8_0", 1233861508800967175u},
  };
  ASSERT_EQ(kernels::kPanelLayoutVersion, 2) << "put the hashes of the new version here";
  const auto generic = backend::available_isas(cpu_features()).front();
  EXPECT_EQ(layout_hashes(backend::kernels_of(*generic)), expected) << kWhatToDo;
}

// A hash over the types of each ISA; of those that are here.
TEST(PanelLayout, OfEveryIsaIsThatOfItsVersion) {
  const std::map<std::string, uint64_t> expected = {
      {"generic", 17443317480496227564u},      {"avx2", 5684732554755073448u},
      {"avx_vnni", 5885660028731775989u},      {"avx512", 8591554566818352347u},
      {"avx512_vnni", 15911495105829709634u},  {"avx512_bf16", 15911495105829709634u},
      {"avx512_fp16", 15911495105829709634u},  {"neon", 17443317480496227564u},
      {"neon_dotprod", 17443317480496227564u}, {"neon_i8mm", 9699248025982868967u},
  };
  ASSERT_EQ(kernels::kPanelLayoutVersion, 2) << "put the hashes of the new version here";
  for (const backend::CpuIsa* isa : backend::available_isas(cpu_features())) {
    std::vector<uint64_t> hashes;
    for (const auto& [type, hash] : layout_hashes(backend::kernels_of(*isa))) hashes.push_back(hash);
    const uint64_t hash = content_hash(std::as_bytes(std::span(hashes)));
    const auto found = expected.find(isa->name);
    EXPECT_EQ(found == expected.end() ? 0 : found->second, hash) << isa->name << ": " << kWhatToDo;
  }
}

}  // namespace
}  // namespace inferno::test
