// Peaks of products of bytes where an ISA has no dot products of them: it multiplies unsigned bytes by signed
// ones and adds up pairs in 16 bits. V as loops have it, with multiply_pairs(), add_pairs() and add_i16().
#pragma once

#include <cstdint>

#include "kernels/cpu/opaque.h"

namespace inferno::kernels {
namespace {

// add(sum, products): to one of kSums sums pairs of products in int16, which are computed anew.
template <class V, int64_t kSums, class Add>
void run_byte_sums(int64_t rounds, typename V::I (&sums)[kSums], const Add& add) {
  using I = typename V::I;
  const I one = V::set_i32(0x01010101);
  for (I& sum : sums) {
    sum = V::zero_i32();
    INFERNO_OPAQUE(sum);
  }
  I factor = one;
  for (int64_t i = 0; i < rounds; ++i) {
    for (I& sum : sums) {
      INFERNO_OPAQUE(factor);  // else the products are computed once
      I next = add(sum, V::multiply_pairs(factor, one));
      INFERNO_OPAQUE(next);  // else g++ 12 also stores each sum in every round
      sum = next;
    }
  }
}

template <class V, int64_t kSums>
int64_t total_of(const typename V::I (&sums)[kSums]) {
  typename V::I all = V::zero_i32();
  for (const typename V::I& sum : sums) all = V::add_i32(all, sum);
  return V::sum_i32(all);
}

// PeakLoop::run of CpuKernels::int8. Pairs of products in int16, pairs of those in int32, and their sum:
// three instructions.
template <class V, int64_t kSums>
int64_t run_int8(int64_t rounds) {
  typename V::I sums[kSums];
  run_byte_sums<V>(rounds, sums,
                   [](typename V::I sum, typename V::I pairs) { return V::add_pairs(sum, pairs); });
  return total_of<V>(sums);
}

// Of CpuKernels::int8_in_int16: two.
template <class V, int64_t kSums>
int64_t run_int8_in_int16(int64_t rounds) {
  typename V::I sums[kSums];
  run_byte_sums<V>(rounds, sums,
                   [](typename V::I sum, typename V::I pairs) { return V::add_i16(sum, pairs); });
  for (typename V::I& sum : sums) sum = V::add_pairs(V::zero_i32(), sum);
  return total_of<V>(sums);
}

}  // namespace
}  // namespace inferno::kernels
