// What the op tests share: who implements the operations, and how far from the double-precision truth a
// result may be. Every test of an operation runs on every row of op_sets(); a new backend is a new row.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/reference/reference.h"

namespace inferno::test {

// One implementation of every operation, on host pointers.
struct OpSet {
  std::string name;
  std::function<void(const kernels::EmbedParams&)> embed;
  std::function<void(const kernels::MatmulParams&)> matmul;
  std::function<void(const kernels::RmsNormParams&)> rms_norm;
  std::function<void(const kernels::RopeTableParams&)> rope_table;
  std::function<void(const kernels::RopeParams&)> rope;
  std::function<void(const kernels::KvAppendParams&)> kv_append;
  std::function<void(const kernels::AttentionParams&)> attention;
  std::function<void(const kernels::AddParams&)> add;
  std::function<void(const kernels::ActMulParams&)> act_mul;
  std::function<void(const kernels::GatherRowsParams&)> gather_rows;
  std::function<void(const kernels::ArgmaxParams&)> argmax;
  // Positions whose keys lie side by side in the cache, as kernels/cpu/kernels.h has it. 1: keys lie as
  // values do.
  int64_t key_tile = 1;
  int64_t block_multiple = 1;  // of positions
  // How keys and values lie: kPositions: keys by key_tile, values by position. Or in tiles of matrices, the
  // numbers of a pair side by side or one line after the other (kernels/cpu/amx/tile_attention.h).
  enum class CacheOrder { kPositions, kTilesOfPairs, kTilesOfLines };
  std::function<CacheOrder(const kernels::KvLayerView&)> cache_order;
  // Largest error of a matmul with weights of this type: sum of squares over that of the sums of |w x|.
  std::function<double(DType)> matmul_error;
  // Largest normalized mean squared error of attention over such a cache.
  std::function<double(const kernels::KvLayerView&)> attention_nmse;
  // Attention, each part cut into its chunks; empty where that cannot be.
  std::function<void(const kernels::AttentionParams&)> attention_in_chunks;
  // Whether weights of this type meet activations rounded to BF16: the error above is beside those.
  std::function<bool(DType)> rounds_to_bf16 = [](DType) { return false; };

  int64_t block_size(int64_t at_least) const {
    return (at_least + block_multiple - 1) / block_multiple * block_multiple;
  }
};

inline OpSet::CacheOrder in_positions(const kernels::KvLayerView&) {
  return OpSet::CacheOrder::kPositions;
}

// Attention's scores are sums of float32 that exp() turns into relative errors of the weights, so it leaves
// more than a few units of roundoff, squared.
constexpr double kAttentionNmse = 1e-11;

// What a cache can store.
inline std::vector<DType> cache_types() {
  return {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};
}

// One for each ISA that is here: the CPU backend's kernels.
std::vector<OpSet> cpu_op_sets();
// One for each device that is here (ops/device_ops.cpp).
std::vector<OpSet> device_op_sets();

inline std::vector<OpSet> op_sets() {
  namespace reference = kernels::reference;
  // What float32 sums leave with unquantized activations: a few units of roundoff, squared.
  const auto matmul_error = [](DType) { return 1e-13; };
  const auto attention_nmse = [](const kernels::KvLayerView&) { return kAttentionNmse; };
  std::vector<OpSet> sets = {{"reference",
                              reference::embed,
                              reference::matmul,
                              reference::rms_norm,
                              reference::rope_table,
                              reference::rope,
                              reference::kv_append,
                              reference::attention,
                              reference::add,
                              reference::act_mul,
                              reference::gather_rows,
                              reference::argmax,
                              1,
                              1,
                              in_positions,
                              matmul_error,
                              attention_nmse,
                              {}}};
  for (OpSet& set : cpu_op_sets()) sets.push_back(std::move(set));
  for (OpSet& set : device_op_sets()) sets.push_back(std::move(set));
  return sets;
}

// How GoogleTest names it in messages.
inline void PrintTo(const OpSet& ops, std::ostream* out) {
  *out << ops.name;
}

class OpTest : public testing::TestWithParam<OpSet> {
 protected:
  const OpSet& ops() const { return GetParam(); }
};

// Half the distance of 1.0f to the next float: the relative error of one rounding.
constexpr double kUnitRoundoff = 0x1p-24;

// sum (y - truth)^2 / sum truth^2; NaN if any value is.
inline double nmse(const std::vector<float>& y, const std::vector<double>& truth) {
  double error = 0.0;
  double power = 0.0;
  for (size_t i = 0; i < truth.size(); ++i) {
    error += (y[i] - truth[i]) * (y[i] - truth[i]);
    power += truth[i] * truth[i];
  }
  return error == 0.0 ? 0.0 : error / power;
}

}  // namespace inferno::test

// Instantiates `using Suite = OpTest` tests for every implementation.
#define INFERNO_FOR_EACH_OP_SET(Suite)                          \
  INSTANTIATE_TEST_SUITE_P(                                     \
      On, Suite, testing::ValuesIn(::inferno::test::op_sets()), \
      [](const testing::TestParamInfo<::inferno::test::OpSet>& info_) { return info_.param.name; })
