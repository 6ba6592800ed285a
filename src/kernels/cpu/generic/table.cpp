// What every CPU can run: plain C++.
#include "kernels/cpu/generic/functions.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/opaque.h"
#include "kernels/reference/reference.h"

namespace inferno::kernels::generic {
namespace {

using Vector [[gnu::vector_size(16)]] = float;
constexpr int64_t kLanes = 4;
constexpr int64_t kSums = 12;  // with the factor they fill the 16 registers of the smallest set

int64_t fp32_loop(int64_t rounds) {
  Vector one = {1, 1, 1, 1};
  Vector sums[kSums] = {};
  for (Vector& sum : sums) INFERNO_OPAQUE(sum);
  for (int64_t i = 0; i < rounds; ++i) {
    for (Vector& sum : sums) {
      INFERNO_OPAQUE(one);  // else the product is computed once
      sum += one * one;
    }
  }
  Vector total = {};
  for (const Vector& sum : sums) total += sum;
  return static_cast<int64_t>(total[0] + total[1] + total[2] + total[3]);
}

uint64_t add_chain(uint64_t step, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += step;
    asm volatile("" : "+r"(sum));  // else it is one multiplication
  }
  return sum;
}

}  // namespace

CpuKernels table(CpuKernels base) {
  set_float_ops(&base);
  set_simple_quants(&base);
  set_k_quants(&base);
  base.read_all = [](const void* data, int64_t bytes, int64_t) { return reference::read_all(data, bytes); };
  base.fp32 = {kSums * kLanes, fp32_loop};
  base.add_chain = add_chain;
  return base;
}

}  // namespace inferno::kernels::generic
