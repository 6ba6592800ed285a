// Operations on rows of activations: each output from its own row alone, lanes in a fixed order.
#pragma once

#include <cstdint>

#include "kernels/cpu/loops/exp.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

// fn(i, lanes) for each vector of n elements from i = 0 on: `lanes` is a constant but for the last.
template <class V, class Fn>
inline __attribute__((always_inline)) void for_vectors(int64_t n, const Fn& fn) {
  int64_t i = 0;
  for (; n - i >= V::kLanes; i += V::kLanes) fn(i, V::kLanes);
  if (i < n) fn(i, n - i);
}

// Masks cost: whole vectors do without, on ISAs that do not see to it themselves.
template <class V>
inline __attribute__((always_inline)) typename V::F load_lanes(const float* p, int64_t lanes) {
  return lanes == V::kLanes ? V::load(p) : V::load(p, lanes);
}
template <class V>
inline __attribute__((always_inline)) void store_lanes(float* p, typename V::F x, int64_t lanes) {
  if (lanes == V::kLanes) {
    V::store(p, x);
  } else {
    V::store(p, x, lanes);
  }
}

template <class V>
void rms_norm_rows(const RmsNormParams& p) {
  using F = typename V::F;
  constexpr int kSums = 4;
  for (int64_t r = 0; r < p.n; ++r) {
    const float* x = p.x + r * p.dim;
    float* y = p.y + r * p.dim;
    F sums[kSums] = {V::zero(), V::zero(), V::zero(), V::zero()};
    int64_t i = 0;
    for (; p.dim - i >= kSums * V::kLanes; i += kSums * V::kLanes) {
      for (int s = 0; s < kSums; ++s) {
        const F part = V::load(x + i + s * V::kLanes);
        sums[s] = V::fma(part, part, sums[s]);
      }
    }
    for (int s = 0; i < p.dim; i += V::kLanes, ++s) {
      const F part = V::load(x + i, p.dim - i < V::kLanes ? p.dim - i : V::kLanes);
      sums[s] = V::fma(part, part, sums[s]);
    }
    const float total = V::sum(V::add(V::add(sums[0], sums[1]), V::add(sums[2], sums[3])));
    const F scale = V::set(1.0f / __builtin_sqrtf(total / static_cast<float>(p.dim) + p.eps));
    for_vectors<V>(p.dim, [&](int64_t j, int64_t lanes) {
      const F scaled = V::mul(load_lanes<V>(x + j, lanes), scale);
      store_lanes<V>(y + j, V::mul(scaled, load_lanes<V>(p.w + j, lanes)), lanes);
    });
  }
}

// What products need of the sums of kBlocks blocks' q. Modulo 2^32, as a NaN's q may be the smallest int32.
[[gnu::always_inline]] inline int32_t minus_128_times(int32_t sum) {
  return static_cast<int32_t>(0u - 128u * static_cast<uint32_t>(sum));
}
template <int64_t kBlocks>
[[gnu::always_inline]] inline void store_sums(const int32_t (&sums)[kBlocks], int64_t block,
                                              const QuantizedRows& y) {
#pragma GCC unroll 1
  for (int64_t b = 0; b < kBlocks; ++b) {
    y.sum[block + b] = minus_128_times(sums[b]);
    y.total[block + b] = y.scale[block + b] * static_cast<float>(sums[b]);
  }
}
// Of those of their halves.
template <int64_t kBlocks>
[[gnu::always_inline]] inline void store_halves(const int32_t (&halves)[2][kBlocks], int64_t block,
                                                const QuantizedRows& y) {
  int32_t sums[kBlocks];
  for (int64_t b = 0; b < kBlocks; ++b)
    sums[b] = static_cast<int32_t>(static_cast<uint32_t>(halves[0][b]) + static_cast<uint32_t>(halves[1][b]));
  store_sums(sums, block, y);
#pragma GCC unroll 1
  for (int64_t b = 0; b < kBlocks; ++b) {
    for (int64_t h = 0; h < 2; ++h) {
      y.half[(block + b) * 2 + h] = minus_128_times(halves[h][b]);
      y.half_total[(block + b) * 2 + h] = y.scale[block + b] * static_cast<float>(halves[h][b]);
    }
  }
}

// The largest |x| of a block below which 127 / largest would be infinite: such a block is zeros.
constexpr float kSmallestLargest = 1e-36f;

// One block; of several at once it takes half of the time. kHalves: whether the halves' sums are asked for.
template <class V, bool kHalves>
void quantize_block(const float* x, int64_t block, const QuantizedRows& y) {
  using F = typename V::F;
  using I = typename V::I;
  constexpr int kVectors = static_cast<int>(kBlock32 / V::kLanes);
  F values[kVectors];
  I bits = V::zero_i32();
  for (int i = 0; i < kVectors; ++i) {
    values[i] = V::load(x + block * kBlock32 + i * V::kLanes);
    bits = V::max_i32(bits, V::magnitude_bits(values[i]));
  }
  const int32_t largest_bits = V::largest_i32(bits);
  float largest;
  __builtin_memcpy(&largest, &largest_bits, sizeof largest);
  const bool is_zero = largest < kSmallestLargest;
  y.scale[block] = is_zero ? 0.0f : largest / 127.0f;
  const F inverse = V::set(is_zero ? 0.0f : 127.0f / largest);
  I sums[2] = {V::zero_i32(), V::zero_i32()};
  for (int i = 0; i < kVectors; ++i) {
    const I q = V::max_i32(V::to_int(V::mul(values[i], inverse)), V::set_i32(-127));  // of an infinity
    V::store_i8(y.q + block * kBlock32 + i * V::kLanes, q);
    I& half = sums[i * 2 / kVectors];
    half = V::add_i32(half, q);
  }
  if constexpr (kHalves) {
    store_halves<1>({{V::sum_i32(sums[0])}, {V::sum_i32(sums[1])}}, block, y);
  } else {
    store_sums<1>({V::sum_i32(V::add_i32(sums[0], sums[1]))}, block, y);
  }
}

// V::kLanes blocks from this one on, in two halves: what is one number of a block is a lane. First scales,
// and what to multiply by.
template <class V>
inline void find_scales(const float* x, int64_t block, const QuantizedRows& y, float* inverse) {
  using F = typename V::F;
  using I = typename V::I;
  constexpr int kVectors = static_cast<int>(kBlock32 / V::kLanes);
  constexpr int64_t kBlocks = V::kLanes;
  const float* first = x + block * kBlock32;
  I bits[kBlocks];
#pragma GCC unroll 16
  for (int b = 0; b < kBlocks; ++b) {
    bits[b] = V::magnitude_bits(V::load(first + b * kBlock32));
#pragma GCC unroll 8
    for (int i = 1; i < kVectors; ++i) {
      const F values = V::load(first + b * kBlock32 + i * V::kLanes);
      bits[b] = V::max_i32(bits[b], V::magnitude_bits(values));
    }
  }
  const F largest = V::float_of_bits(V::largest_of_each(bits));
  const F smallest = V::set(kSmallestLargest);
  V::store(y.scale + block, V::zero_if_less(largest, smallest, V::div(largest, V::set(127.0f))));
  V::store(inverse, V::zero_if_less(largest, smallest, V::div(V::set(127.0f), largest)));
}

// Then the numbers and their sums.
template <class V, bool kHalves>
inline void round_blocks(const float* x, int64_t block, const float* inverse, const QuantizedRows& y) {
  using I = typename V::I;
  constexpr int kVectors = static_cast<int>(kBlock32 / V::kLanes);
  constexpr int64_t kBlocks = V::kLanes;
  const float* first = x + block * kBlock32;
  constexpr int kSums = kHalves ? 2 : 1;
  I sums[kSums][kBlocks];
#pragma GCC unroll 16
  for (int b = 0; b < kBlocks; ++b) {
    for (auto& of_blocks : sums) of_blocks[b] = V::zero_i32();
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      const int64_t at = b * kBlock32 + i * V::kLanes;
      const I q = V::max_i32(V::to_int(V::mul(V::load(first + at), V::set(inverse[b]))), V::set_i32(-127));
      V::store_i8(y.q + block * kBlock32 + at, q);
      I& sum = sums[i * kSums / kVectors][b];
      sum = V::add_i32(sum, q);
    }
  }
  if constexpr (kHalves) {
    int32_t of_each[2][kBlocks];
    for (int s = 0; s < 2; ++s) V::store_i32(of_each[s], V::sum_of_each(sums[s]));
    store_halves(of_each, block, y);
  } else {
    const I sum = V::sum_of_each(sums[0]);
    V::store_i32(y.sum + block, V::sub_i32(V::zero_i32(), V::shift_left_u32(sum, 7)));
    V::store(y.total + block, V::mul(V::load(y.scale + block), V::to_float(sum)));
  }
}

// Scales of the next blocks are found while these are rounded, which would wait for theirs.
template <class V, bool kHalves>
void quantize_all(const float* x, int64_t n_blocks, const QuantizedRows& y) {
  constexpr int64_t kBlocks = V::kLanes;
  float inverse[2][kBlocks];
  const int64_t end = n_blocks / kBlocks * kBlocks;
  if (end > 0) find_scales<V>(x, 0, y, inverse[0]);
  for (int64_t block = 0; block < end; block += kBlocks) {
    const int64_t next = block + kBlocks;
    if (next < end) find_scales<V>(x, next, y, inverse[next / kBlocks % 2]);
    round_blocks<V, kHalves>(x, block, inverse[block / kBlocks % 2], y);
  }
  for (int64_t block = end; block < n_blocks; ++block) quantize_block<V, kHalves>(x, block, y);
}

// A NaN or an infinity in a block makes its scale NaN or infinite, and so every product with it.
template <class V>
void quantize_rows(const float* x, int64_t n, int64_t k, const QuantizedRows& y) {
  const int64_t n_blocks = n * k / kBlock32;
  y.half != nullptr ? quantize_all<V, true>(x, n_blocks, y) : quantize_all<V, false>(x, n_blocks, y);
}

// x / (1 + e^-x); gelu's tanh form is the same of another argument.
template <class V>
void act_mul_rows(const ActMulParams& p) {
  using F = typename V::F;
  const F one = V::set(1.0f);
  for_vectors<V>(p.n, [&](int64_t i, int64_t lanes) {
    const F x = load_lanes<V>(p.gate + i, lanes);
    F t = x;
    if (p.activation == Activation::kGeluTanh) {
      // 0.5 (1 + tanh(u)) = 1 / (1 + e^-2u)
      const F cubic = V::mul(V::mul(x, x), V::mul(x, V::set(0.044715f)));
      t = V::mul(V::add(x, cubic), V::set(1.5957691216057308f));
    }
    const F activated = V::div(x, V::add(one, exp<V>(V::sub(V::zero(), t))));
    store_lanes<V>(p.y + i, V::mul(activated, load_lanes<V>(p.up + i, lanes)), lanes);
  });
}

template <class V>
void add_rows(const AddParams& p) {
  for_vectors<V>(p.n, [&](int64_t i, int64_t lanes) {
    store_lanes<V>(p.x + i, V::add(load_lanes<V>(p.x + i, lanes), load_lanes<V>(p.y + i, lanes)), lanes);
  });
}

// Plain loops: the compiler finds the lanes.
inline void rotate_halves(float* a, float* b, const float* cos_sin, int64_t n_pairs) {
  for (int64_t i = 0; i < n_pairs; ++i) {
    const float rotated = a[i] * cos_sin[2 * i] - b[i] * cos_sin[2 * i + 1];
    b[i] = a[i] * cos_sin[2 * i + 1] + b[i] * cos_sin[2 * i];
    a[i] = rotated;
  }
}

inline void rotate_neighbours(float* x, const float* cos_sin, int64_t n_pairs) {
  for (int64_t i = 0; i < 2 * n_pairs; i += 2) {
    const float rotated = x[i] * cos_sin[i] - x[i + 1] * cos_sin[i + 1];
    x[i + 1] = x[i] * cos_sin[i + 1] + x[i + 1] * cos_sin[i];
    x[i] = rotated;
  }
}

inline void rope_rows(const RopeParams& p) {
  for (int64_t r = 0; r < p.n; ++r) {
    const float* cos_sin = p.cos_sin + r * p.n_pairs * 2;
    for (int64_t h = 0; h < p.n_heads; ++h) {
      float* head = p.x + (r * p.n_heads + h) * p.head_dim;
      if (p.style == RopeStyle::kHalves) {
        rotate_halves(head, head + p.n_pairs, cos_sin, p.n_pairs);
      } else {
        rotate_neighbours(head, cos_sin, p.n_pairs);
      }
    }
  }
}

}  // namespace
}  // namespace inferno::kernels
