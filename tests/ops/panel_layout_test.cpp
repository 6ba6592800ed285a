// The bytes that each ISA packs: panels are kept in files, so whoever changes a layout must say so.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu_isa.h"
#include "base/content_hash.h"
#include "base/cpu_features.h"
#include "support/random.h"
#include "tensor/half.h"

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

// By type, of all types that have panels; planes: of those that have them in two.
std::map<std::string, uint64_t> layout_hashes(const CpuKernels& cpu, bool planes = false) {
  std::map<std::string, uint64_t> hashes;
  for (int i = 0; i < kernels::kDTypeIds; ++i) {
    const PanelMatmul& kernel = planes ? cpu.planes[i].whole : cpu.matmul[i];
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
    // Zeros after the last column: tiles multiply them, too, and files of panels are the same each time.
    if (traits(dtype).block_elems == 1) {
      EXPECT_EQ(pack(kernel, dtype, 77, 0x00), pack(kernel, dtype, 77, 0xff))
          << name(dtype) << ": 77 columns";
    }
    hashes[std::string(name(dtype))] = content_hash(std::as_bytes(std::span(all)));
  }
  return hashes;
}

constexpr const char* kWhatToDo =
    "a layout of panels has changed: raise kPanelLayoutVersion in kernels/cpu/params.h, then put the new "
    "hash "
    "here";

// A hash over the types of each ISA that is here.
void expect_hashes(const std::map<std::string, uint64_t>& expected, bool planes) {
  for (const backend::CpuIsa* isa : backend::available_isas(cpu_features())) {
    std::vector<uint64_t> hashes;
    for (const auto& [type, hash] : layout_hashes(backend::kernels_of(*isa), planes)) hashes.push_back(hash);
    if (planes && hashes.empty()) continue;
    const uint64_t hash = content_hash(std::as_bytes(std::span(hashes)));
    const auto found = expected.find(isa->name);
    EXPECT_EQ(found == expected.end() ? 0 : found->second, hash) << isa->name << ": " << kWhatToDo;
  }
}

TEST(PanelLayout, OfGenericIsThatOfItsVersion) {
  const std::map<std::string, uint64_t> expected = {
      {"BF16", 2363816055598401075u},   {"F16", 3808234541335572472u},     {"F32", 15489335741780197399u},
      {"IQ4_NL", 5576427518497028936u}, {"IQ4_XS", 12177568948556663501u}, {"MXFP4", 6370468721782193663u},
      {"Q2_K", 2828606676595349146u},   {"Q3_K", 7943859897729645881u},    {"Q4_0", 14701727179138446344u},
      {"Q4_1", 13235255146116407899u},  {"Q4_K", 8850817801959219498u},    {"Q5_0", 2846651646823004373u},
      {"Q5_1", 3747014369627754624u},   {"Q5_K", 13805608123135879573u},   {"Q6_K", 17994213971400006606u},
      {"Q8_0", 12368524747241824158u},
  };
  ASSERT_EQ(kernels::kPanelLayoutVersion, 7) << "put the hashes of the new version here";
  const auto generic = backend::available_isas(cpu_features()).front();
  EXPECT_EQ(layout_hashes(backend::kernels_of(*generic)), expected) << kWhatToDo;
}

TEST(PanelLayout, OfEveryIsaIsThatOfItsVersion) {
  const std::map<std::string, uint64_t> expected = {
      {"generic", 6801990635301458322u},      {"avx2", 18103845264455657478u},
      {"avx_vnni", 13496694269364881222u},    {"avx512", 3553383018464659001u},
      {"avx512_vnni", 15911495105829709634u}, {"avx512_bf16", 13333618216891702465u},
      {"avx512_fp16", 15911495105829709634u}, {"amx", 13333618216891702465u},
      {"amx_fp16", 16070273478372132951u},    {"neon", 6801990635301458322u},
      {"neon_dotprod", 6801990635301458322u}, {"neon_i8mm", 17813907207528600820u},
  };
  ASSERT_EQ(kernels::kPanelLayoutVersion, 7) << "put the hashes of the new version here";
  expect_hashes(expected, false);
}

TEST(PanelLayout, OfPlanesIsThatOfItsVersion) {
  const std::map<std::string, uint64_t> expected = {
      {"avx_vnni", 888988345293481631u},     {"avx512_vnni", 3136244369971400486u},
      {"avx512_bf16", 3136244369971400486u}, {"avx512_fp16", 3136244369971400486u},
      {"amx", 3136244369971400486u},         {"amx_fp16", 3136244369971400486u},
  };
  ASSERT_EQ(kernels::kPanelLayoutVersion, 7) << "put the hashes of the new version here";
  expect_hashes(expected, true);
}

TEST(PanelLayout, OfCompressedIsThatOfItsVersion) {
  const std::map<std::string, uint64_t> expected = {
      {"avx2", 16898137474705748929u},       {"avx_vnni", 16898137474705748929u},
      {"avx512", 4400613837069338321u},      {"avx512_vnni", 4400613837069338321u},
      {"avx512_bf16", 4400613837069338321u}, {"avx512_fp16", 4400613837069338321u},
      {"amx", 4400613837069338321u},         {"amx_fp16", 4400613837069338321u},
  };
  ASSERT_EQ(kernels::kPanelLayoutVersion, 7) << "put the hashes of the new version here";
  for (const backend::CpuIsa* isa : backend::available_isas(cpu_features())) {
    const kernels::CompressedMatmul& bf16 =
        backend::kernels_of(*isa).compressed[static_cast<size_t>(DType::kBF16)];
    if (bf16.product.rows == 0) continue;
    constexpr int64_t kCols = 85;
    Random random(4);
    std::vector<uint16_t> weights;
    for (const float x : random.floats(bf16.product.rows * kCols)) weights.push_back(f32_to_bf16(x));
    const auto panels = [&](uint8_t filler) {
      const int64_t bytes = bf16.product.panel_bytes(kCols);
      std::vector<uint8_t> two(static_cast<size_t>(2 * bytes), filler);
      const auto* w = reinterpret_cast<const uint8_t*>(weights.data());
      EXPECT_TRUE(bf16.pack(w, 2 * kCols, bf16.product.rows, kCols, two.data()));
      EXPECT_TRUE(bf16.pack(w, 2 * kCols, bf16.product.rows - 1, kCols, two.data() + bytes));
      return two;
    };
    const std::vector<uint8_t> all = panels(0x00);
    EXPECT_EQ(all, panels(0xff)) << isa->name << ": bytes that nobody writes";
    const auto found = expected.find(isa->name);
    EXPECT_EQ(found == expected.end() ? 0 : found->second, content_hash(std::as_bytes(std::span(all))))
        << isa->name << ": " << kWhatToDo;
  }
}

}  // namespace
}  // namespace inferno::test
