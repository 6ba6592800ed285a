#include "backend/cpu_isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backend/backend.h"

namespace inferno::backend {
namespace {

#if defined(__x86_64__)
const CpuFeatures kAvx2({"avx2", "fma", "f16c"});
const CpuFeatures kAlderLake({"avx2", "fma", "f16c", "avx_vnni"});
const CpuFeatures kSkylake({"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq"});
const CpuFeatures kZen5({"avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512dq",
                         "avx512_vnni", "avx512_bf16"});

const CpuFeatures kSapphireRapids({"avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vl",
                                   "avx512dq", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile",
                                   "amx_bf16", "amx_int8"});

const CpuFeatures kGraniteRapids({"avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vl",
                                  "avx512dq", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile",
                                  "amx_bf16", "amx_int8", "amx_fp16"});

using Names = std::vector<std::string_view>;

Names names(const CpuFeatures& features) {
  Names result;
  for (const CpuIsa* isa : available_isas(features)) result.push_back(isa->name);
  return result;
}

// Those of `expected` that this build has: most leave out what their machine could not run.
Names of_this_build(Names expected) {
  const auto is_left_out = [](std::string_view name) {
    return std::ranges::any_of(kernels::cpu_isas(),
                               [&](const CpuIsa& isa) { return isa.name == name && isa.table == nullptr; });
  };
  std::erase_if(expected, is_left_out);
  return expected;
}

TEST(CpuIsa, ThoseWhoseNeedsAreMetWorstFirst) {
  EXPECT_EQ(names(CpuFeatures()), Names{"generic"});
  EXPECT_EQ(names(CpuFeatures({"avx2", "fma"})), Names{"generic"});
  EXPECT_EQ(names(kAvx2), of_this_build({"generic", "avx2"}));
  EXPECT_EQ(names(kSkylake), of_this_build({"generic", "avx2", "avx512"}));
  EXPECT_EQ(names(kZen5),
            of_this_build({"generic", "avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16"}));
}

TEST(CpuIsa, WhatTheOneThatIsExtendedNeedsIsNeededToo) {
  EXPECT_EQ(names(CpuFeatures({"avx_vnni", "avx512_vnni"})), Names{"generic"});
}

TEST(CpuIsa, TheBestIsChosenUnlessOneIsForced) {
  const auto chosen = [](const CpuFeatures& features) { return (*choose_isa(features, std::nullopt))->name; };
  EXPECT_EQ(chosen(kSkylake), of_this_build({"generic", "avx2", "avx512"}).back());
  EXPECT_EQ(chosen(kZen5), of_this_build({"generic", "avx2", "avx512", "avx512_vnni", "avx512_bf16"}).back());
  const Names intel = {"generic",     "avx2",        "avx512", "avx512_vnni",
                       "avx512_bf16", "avx512_fp16", "amx",    "amx_fp16"};
  EXPECT_EQ(chosen(kSapphireRapids), of_this_build({intel.begin(), intel.end() - 1}).back());
  EXPECT_EQ(chosen(kGraniteRapids), of_this_build(intel).back());
  for (const std::string_view forced : names(kZen5)) {
    EXPECT_EQ((*choose_isa(kZen5, forced))->name, forced);
  }
}

TEST(CpuIsa, ABuildSaysWhatItMissesOfABetterMachine) {
  const std::vector<std::pair<CpuFeatures, std::string_view>> machines = {
      {CpuFeatures(), "generic"}, {kAvx2, "avx2"},          {kAlderLake, "avx_vnni"},    {kSkylake, "avx512"},
      {kZen5, "avx512_bf16"},     {kSapphireRapids, "amx"}, {kGraniteRapids, "amx_fp16"}};
  for (const auto& [features, best] : machines) {
    const std::string_view here = names(features).back();
    const std::string missed = missed_isa(features);
    const std::string begin = fmt::format(
        "this processor has {}, for which this build has no kernels: the best here is {};", best, here);
    EXPECT_EQ(missed.substr(0, begin.size()), best == here ? "" : begin);
  }
  EXPECT_EQ(missed_isa(cpu_features()), "");  // the machine that it was made on
}

TEST(CpuIsa, AMisspeltNameIsToldTheNearest) {
  const auto message = [](std::string_view name) { return choose_isa(kZen5, name).error().message; };
  EXPECT_TRUE(message("AVX2").ends_with("found \"AVX2\"; did you mean avx2?")) << message("AVX2");
  EXPECT_TRUE(message("avx512-vnni").ends_with("; did you mean avx512_vnni?")) << message("avx512-vnni");
  EXPECT_TRUE(message("sse").ends_with("found \"sse\"")) << message("sse");
}

TEST(CpuIsa, OneThatTheMachineOrTheBuildLacksIsUnavailable) {
  const auto fp16 = choose_isa(kZen5, "avx512_fp16");
  ASSERT_FALSE(fp16.ok());
  EXPECT_EQ(fp16.error().code, ErrorCode::kUnavailable);
  const auto neon = choose_isa(kAvx2, "neon");
  ASSERT_FALSE(neon.ok());
  EXPECT_EQ(neon.error().code, ErrorCode::kUnavailable);
  std::string here;
  for (const std::string_view name : names(kAvx2)) here += (here.empty() ? "" : ", ") + std::string(name);
  EXPECT_EQ(neon.error().message,
            "INFERNO_FORCE_ISA=neon: this CPU or its system does not have it; here are " + here);
}
#endif

TEST(CpuIsa, AnUnknownNameIsUsageAndGetsTheList) {
  for (const std::string_view name : {"", "AVX2", "avx3", "\x1b[2J\n"}) {
    const auto isa = choose_isa(CpuFeatures(), name);
    ASSERT_FALSE(isa.ok()) << name;
    EXPECT_EQ(isa.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(isa.error().message.find("expected one of generic, found"), std::string::npos);
    EXPECT_EQ(isa.error().message.find_first_of("\n\x1b"), std::string::npos) << isa.error().message;
  }
}

TEST(CpuIsa, EveryIsaStandsAfterTheOneThatItExtends) {
  for (const CpuIsa& isa : kernels::cpu_isas()) {
    if (isa.extends == nullptr) continue;
    EXPECT_LT(isa.extends, &isa) << isa.name;
  }
  EXPECT_STREQ(kernels::cpu_isas().begin()->name, "generic");
}

TEST(CpuIsa, TheTableOfEachIsWhole) {
  for (const CpuIsa* isa : available_isas(cpu_features())) {
    const CpuKernels table = kernels_of(*isa);
    EXPECT_NE(table.read_all, nullptr) << isa->name;
    EXPECT_NE(table.fp32.run, nullptr) << isa->name;
    EXPECT_NE(table.add_chain, nullptr) << isa->name;
    ASSERT_GT(table.key_tile, 0) << isa->name;
    ASSERT_GT(table.block_multiple, 0) << isa->name;
    EXPECT_EQ(kernels::kAttentionChunk % table.block_multiple, 0) << isa->name;
    EXPECT_EQ(table.block_multiple % table.key_tile, 0) << isa->name;
    std::vector<kernels::PanelMatmul> products(std::begin(table.matmul), std::end(table.matmul));
    for (const kernels::CompressedMatmul& compressed : table.compressed)
      products.push_back(compressed.product);
    for (const kernels::PanelMatmul& kernel : products) {
      EXPECT_TRUE(kernel.x_form != kernels::XForm::kBf16 || table.to_bf16 != nullptr) << isa->name;
      EXPECT_TRUE(kernel.x_form != kernels::XForm::kBf16Parts || table.split != nullptr) << isa->name;
      EXPECT_TRUE(kernel.x_form != kernels::XForm::kF16Parts || table.to_f16 != nullptr) << isa->name;
      EXPECT_TRUE(kernel.multiply_tiles == nullptr || kernel.x_form == kernels::XForm::kInt8 ||
                  kernel.x_form == kernels::XForm::kInt8Halves)
          << isa->name;
    }
    EXPECT_EQ(kernels::kAttentionChunk % table.key_tile, 0) << isa->name;
  }
}

// What is forced is what runs: the function is that ISA's own.
TEST(CpuIsa, TheForcedIsasFunctionsAreTaken) {
  for (const CpuIsa* isa : available_isas(cpu_features())) {
    ASSERT_EQ(::setenv("INFERNO_FORCE_ISA", isa->name, 1), 0);
    const auto chosen = chosen_isa();
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(*chosen, isa);
    const CpuKernels own = isa->table({});
    const CpuKernels taken = kernels_of(**chosen);
    EXPECT_TRUE(own.fp32.run == nullptr || taken.fp32.run == own.fp32.run) << isa->name;
    EXPECT_TRUE(own.int8.run == nullptr || taken.int8.run == own.int8.run) << isa->name;
    EXPECT_TRUE(own.int8_in_int16.run == nullptr || taken.int8_in_int16.run == own.int8_in_int16.run)
        << isa->name;
    EXPECT_TRUE(own.read_all == nullptr || taken.read_all == own.read_all) << isa->name;
  }
  ASSERT_EQ(::setenv("INFERNO_FORCE_ISA", "avx3", 1), 0);
  EXPECT_EQ(create_backend("scalar").error().code, ErrorCode::kInvalidArgument);
  ASSERT_EQ(::unsetenv("INFERNO_FORCE_ISA"), 0);
  EXPECT_EQ(*chosen_isa(), available_isas(cpu_features()).back());
}

}  // namespace
}  // namespace inferno::backend
