// The bytes that each ISA packs: panels are kept in files, so whoever changes a layout must say so.
#include <gtest/gtest.h>

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

constexpr int64_t kCols = 512;  // whole blocks of every type, several of each

// A whole panel and one that lacks a row.
std::vector<uint8_t> pack(const PanelMatmul& kernel, DType dtype, uint8_t filler) {
  const auto stride = static_cast<int64_t>(row_bytes(dtype, static_cast<size_t>(kCols)));
  Random random(static_cast<uint64_t>(dtype));
  std::vector<uint8_t> weights(static_cast<size_t>(kernel.rows * stride));
  for (uint8_t& byte : weights) byte = random.byte();
  const int64_t panel_bytes = kernel.panel_bytes(kCols);
  std::vector<uint8_t> panels(static_cast<size_t>(2 * panel_bytes), filler);
  kernel.pack(weights.data(), stride, kernel.rows, kCols, panels.data());
  kernel.pack(weights.data(), stride, kernel.rows - 1, kCols, panels.data() + panel_bytes);
  return panels;
}

// By type, of all types that have panels.
std::map<std::string, uint64_t> layout_hashes(const CpuKernels& cpu) {
  std::map<std::string, uint64_t> hashes;
  for (int i = 0; i < kernels::kDTypeIds; ++i) {
    const PanelMatmul& kernel = cpu.matmul[i];
    if (kernel.rows == 0) continue;
    const auto dtype = static_cast<DType>(i);
    const std::vector<uint8_t> panels = pack(kernel, dtype, 0x00);
    EXPECT_EQ(panels, pack(kernel, dtype, 0xff)) << name(dtype) << ": bytes that nobody writes";
    hashes[std::string(name(dtype))] = content_hash(std::as_bytes(std::span(panels)));
  }
  return hashes;
}

constexpr const char* kWhatToDo =
    "a layout of panels has changed: raise kPanelLayoutVersion in kernels/cpu/params.h, then put the new "
    "hash "
    "here";

TEST(PanelLayout, OfGenericIsThatOfItsVersion) {
  const std::map<std::string, uint64_t> expected = {
      {"BF16", 10609301943507579556u},  {"F16", 67817618775122714u},     {"F32", 2151336851407661044u},
      {"IQ4_NL", 7563688287571378795u}, {"IQ4_XS", 24206923730486199u},  {"MXFP4", 8133697920399801754u},
      {"Q2_K", 13934128865675512106u},  {"Q3_K", 12237429948141755200u}, {"Q4_0", 16888433750401910962u},
      {"Q4_1", 10403169145813485106u},  {"Q4_K", 15012826132024532426u}, {"Q5_0", 16068500196148892660u},
      {"Q5_1", 8904271502113552766u},   {"Q5_K", 6046510480132700723u},  {"Q6_K", 3543365282030360278u},
      {"Q8_0", 1290953633457724526u},
  };
  ASSERT_EQ(kernels::kPanelLayoutVersion, 1) << "put the hashes of the new version here";
  const auto generic = backend::available_isas(cpu_features()).front();
  EXPECT_EQ(layout_hashes(backend::kernels_of(*generic)), expected) << kWhatToDo;
}

// A hash over the types of each ISA; of those that are here.
TEST(PanelLayout, OfEveryIsaIsThatOfItsVersion) {
  const std::map<std::string, uint64_t> expected = {
      {"generic", 13669862454187180567u},      {"avx2", 8970635275708840286u},
      {"avx_vnni", 2184486822067744119u},      {"avx512", 1044380102791025774u},
      {"avx512_vnni", 3853980734916743977u},   {"avx512_bf16", 3853980734916743977u},
      {"avx512_fp16", 3853980734916743977u},   {"neon", 13669862454187180567u},
      {"neon_dotprod", 13669862454187180567u}, {"neon_i8mm", 8964116890260448476u},
  };
  ASSERT_EQ(kernels::kPanelLayoutVersion, 1) << "put the hashes of the new version here";
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
