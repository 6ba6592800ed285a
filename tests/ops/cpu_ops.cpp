// The CPU backend's kernels as op sets, one for each ISA that is here, as the backend calls them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "backend/cpu_isa.h"
#include "base/cpu_features.h"
#include "ops/op_case.h"
#include "support/canary.h"
#include "tensor/quant_blocks.h"

namespace inferno::test {
namespace {

using backend::CpuKernels;
using kernels::PanelMatmul;

// Aligned as the kernels want it. What nobody writes is NaN.
struct alignas(64) Line {
  uint8_t bytes[64];
};
std::vector<Line> lines(int64_t bytes) {
  std::vector<Line> memory(static_cast<size_t>((bytes + 63) / 64));
  if (!memory.empty()) std::memset(memory.data(), 0xff, memory.size() * sizeof(Line));
  return memory;
}
uint8_t* bytes_of(std::vector<Line>& memory) {
  return memory.empty() ? nullptr : memory.front().bytes;
}

// The upper parts of all panels, then the lower ones.
std::vector<Line> in_two_planes(std::vector<Line>& panels, int64_t n_panels, int64_t bytes, int64_t upper) {
  std::vector<Line> planes = lines(n_panels * bytes);
  uint8_t* to = bytes_of(planes);
  const uint8_t* from = bytes_of(panels);
  const int64_t lower = bytes - upper;
  for (int64_t i = 0; i < n_panels; ++i) {
    std::memcpy(to + i * upper, from + i * bytes, static_cast<size_t>(upper));
    std::memcpy(to + n_panels * upper + i * lower, from + i * bytes + upper, static_cast<size_t>(lower));
  }
  return planes;
}

// planes: where the weights lie in two, of which the kernel may take the upper one alone.
void multiply(const CpuKernels& cpu, const PanelMatmul& kernel, const kernels::MatmulParams& p,
              const kernels::PlanesMatmul* planes = nullptr);

// Weights in the upper plane of Q8_0 are those whose lower bits are 8, of Q6_K those between 1 and 2.
void expect_upper_plane(const CpuKernels& cpu, const kernels::MatmulParams& p) {
  const auto type = static_cast<size_t>(p.dtype);
  multiply(cpu, cpu.planes[type].upper, p, &cpu.planes[type]);
  const std::vector<float> coarse(p.y, p.y + p.n * p.m);
  const size_t bytes = row_bytes(p.dtype, static_cast<size_t>(p.k)) * static_cast<size_t>(p.m);
  // All lower bits set to `lower`.
  const auto multiply_with = [&](int lower) {
    std::vector<uint8_t> weights(static_cast<const uint8_t*>(p.w), static_cast<const uint8_t*>(p.w) + bytes);
    const auto blocks_of = [&]<class Block>(Block*) {
      return std::span(reinterpret_cast<Block*>(weights.data()), bytes / sizeof(Block));
    };
    if (p.dtype == DType::kQ8_0) {
      for (BlockQ8_0& block : blocks_of(static_cast<BlockQ8_0*>(nullptr)))
        for (int8_t& q : block.qs) q = static_cast<int8_t>((q & 0xf0) | lower);
    } else {
      for (BlockQ6_K& block : blocks_of(static_cast<BlockQ6_K*>(nullptr)))
        for (uint8_t& q : block.ql) q = static_cast<uint8_t>((q & 0xcc) | lower << 4 | lower);
    }
    kernels::MatmulParams changed = p;
    changed.w = weights.data();
    multiply(cpu, cpu.matmul[type], changed);
    return std::vector<float>(p.y, p.y + p.n * p.m);
  };
  if (p.dtype == DType::kQ8_0) {
    EXPECT_TRUE(same_bits(coarse, multiply_with(8))) << "the upper plane";
    return;
  }
  const std::vector<float> one = multiply_with(1), two = multiply_with(2);
  double largest = 0;
  for (const float y : two) largest = std::max<double>(largest, std::isfinite(y) ? std::fabs(y) : 0);
  for (size_t i = 0; i < coarse.size(); ++i) {
    const double expected = (static_cast<double>(one[i]) + two[i]) / 2;
    if (std::isfinite(expected)) {
      EXPECT_NEAR(coarse[i], expected, 1e-4 * largest) << "the upper plane, " << i;
    }
  }
}

// Everything is packed and quantized anew for each call.
void multiply(const CpuKernels& cpu, const PanelMatmul& kernel, const kernels::MatmulParams& p,
              const kernels::PlanesMatmul* planes) {
  const int64_t n_panels = (p.m + kernel.rows - 1) / kernel.rows;
  const PanelMatmul& packer = planes == nullptr ? kernel : planes->whole;
  const int64_t panel_bytes = packer.panel_bytes(p.k);
  const auto stride = static_cast<int64_t>(row_bytes(p.dtype, static_cast<size_t>(p.k)));
  std::vector<Line> panels = lines(n_panels * panel_bytes);
  for (int64_t i = 0; i < n_panels; ++i) {
    packer.pack(static_cast<const uint8_t*>(p.w) + i * kernel.rows * stride, stride,
                std::min(kernel.rows, p.m - i * kernel.rows), p.k, bytes_of(panels) + i * panel_bytes);
  }
  if (planes != nullptr)
    panels = in_two_planes(panels, n_panels, panel_bytes, planes->upper.panel_bytes(p.k));
  std::vector<int8_t> q;
  std::vector<float> scale;
  std::vector<int32_t> sum, half;
  std::vector<float> total, half_total;
  const bool has_halves = kernel.x_form == kernels::XForm::kInt8Halves;
  const bool is_int8 = kernel.x_form == kernels::XForm::kInt8 || has_halves;
  if (is_int8) {
    q.resize(static_cast<size_t>(p.n * p.k));
    scale.resize(q.size() / 32);
    sum.resize(q.size() / 32);
    total.resize(q.size() / 32);
  }
  if (has_halves) {
    half.resize(q.size() / 16);
    half_total.resize(q.size() / 16);
  }
  kernels::QuantizedRows quantized = {q.data(), scale.data(), sum.data(), total.data(), nullptr, nullptr};
  if (has_halves) quantized.half = half.data(), quantized.half_total = half_total.data();
  if (is_int8) cpu.quantize(p.x, p.n, p.k, quantized);
  std::vector<uint16_t> parts;
  if (kernel.x_form == kernels::XForm::kBf16Parts) {
    parts.resize(static_cast<size_t>((p.n + 15) / 16 * 16 * ((p.k + 31) / 32 * 32) * 3), 0xffff);
    // In two pieces.
    const int64_t first = p.n / 2;
    cpu.split({p.x, p.k, 0, first, 0, p.k, parts.data()});
    cpu.split({p.x + first * p.k, p.k, first, p.n - first, 0, p.k, parts.data()});
  }
  const int64_t bf16_stride = kernels::bf16_stride(p.k);
  std::vector<uint16_t> bf16;
  if (kernel.x_form == kernels::XForm::kBf16) {
    bf16.resize(static_cast<size_t>(p.n * bf16_stride), 0xffff);
    const int64_t first = p.k / 2;  // columns, then the rest
    for (int64_t r = 0; r < p.n; ++r) {
      cpu.to_bf16({p.x + r * p.k, p.k, r, 1, 0, first, bf16.data()});
      cpu.to_bf16({p.x + r * p.k + first, p.k, r, 1, first, p.k - first, bf16.data()});
    }
  }
  std::vector<Line> f16;
  std::vector<float> f16_scales(static_cast<size_t>(p.n));
  if (kernel.x_form == kernels::XForm::kF16Parts) {
    const int64_t numbers = (p.n + 15) / 16 * 16 * ((p.k + 31) / 32 * 32) * kernels::kF16Parts;
    f16 = lines(numbers * 2);
    const kernels::F16Rows to = {reinterpret_cast<uint16_t*>(bytes_of(f16)), f16_scales.data()};
    const int64_t first = p.n / 2;
    cpu.to_f16({p.x, p.k, 0, first, to});
    cpu.to_f16({p.x + first * p.k, p.k, first, p.n - first, to});
  }
  const kernels::F16Rows f16_rows = {reinterpret_cast<uint16_t*>(bytes_of(f16)), f16_scales.data()};
  const int64_t scratch_bytes = kernel.scratch_bytes(p.k);
  constexpr int64_t kAfter = sizeof(Line);
  std::vector<Line> scratch = lines(scratch_bytes + kAfter);
  kernels::PanelMatmulParams params = {bytes_of(panels),
                                       p.bias,
                                       p.x,
                                       quantized,
                                       bf16.data(),
                                       parts.data(),
                                       f16_rows,
                                       p.y,
                                       p.n,
                                       p.m,
                                       p.k,
                                       0,
                                       n_panels,
                                       bytes_of(scratch)};
  backend::multiply_rows(kernel, params);
  const uint8_t* const after_scratch = bytes_of(scratch) + scratch_bytes;
  EXPECT_EQ(std::count(after_scratch, after_scratch + kAfter, 0xff), kAfter) << "written after scratch";
  const std::vector<float> y(p.y, p.y + p.n * p.m);
  std::fill_n(p.y, p.n * p.m, -1.0f);
  params.next = bytes_of(panels);
  params.next_bytes = n_panels * panel_bytes;
  backend::multiply_rows(kernel, params);
  EXPECT_TRUE(same_bits(y, std::vector<float>(p.y, p.y + p.n * p.m))) << "other bits when fetching ahead";
  params.next = nullptr;
  std::fill_n(p.y, p.n * p.m, -1.0f);
  params.scratch_is_kept = true;
  const bool has_tiles = kernel.multiply_tiles != nullptr && p.n >= kernels::kMatrixTileRows;
  std::vector<int8_t> nothing(static_cast<size_t>(p.n * p.k));
  if (kernel.wide_rows.includes(p.n) && !has_tiles) params.quantized.q = nothing.data();
  backend::multiply_rows(kernel, params);
  EXPECT_TRUE(same_bits(y, std::vector<float>(p.y, p.y + p.n * p.m))) << "other bits with a kept scratch";
  params.scratch_is_kept = false;
  params.quantized.q = quantized.q;
  if (!kernel.takes_two_runs(p.n)) {
    // A turn in the middle writes to its own outputs alone.
    if (n_panels < 3) return;
    std::fill_n(p.y, p.n * p.m, -1.0f);
    params.panel_begin = 1;
    params.panel_end = n_panels - 1;
    backend::multiply_rows(kernel, params);
    std::vector<float> expected = y;
    for (size_t i = 0; i < y.size(); ++i) {
      const int64_t panel = static_cast<int64_t>(i) % p.m / kernel.rows;
      if (panel == 0 || panel == n_panels - 1) expected[i] = -1.0f;
    }
    EXPECT_TRUE(same_bits(expected, std::vector<float>(p.y, p.y + p.n * p.m))) << "a turn of many rows";
    std::copy(y.begin(), y.end(), p.y);
    return;
  }
  // In two runs, from the first panel or the second one on: the first run is longer than the other or not.
  for (params.panel_begin = 0; params.panel_begin < std::min<int64_t>(2, n_panels); ++params.panel_begin) {
    std::fill_n(p.y, p.n * p.m, -1.0f);
    params.runs_ask_ahead = params.panel_begin == 0;
    params.run_step = (n_panels - params.panel_begin + 1) / 2;
    params.panel_end = params.panel_begin + params.run_step;
    params.run_end = n_panels;
    backend::multiply_rows(kernel, params);
    for (int64_t r = 0; r < p.n; ++r) {
      const int64_t first = r * p.m + params.panel_begin * kernel.rows, end = (r + 1) * p.m;
      EXPECT_TRUE(same_bits(std::vector<float>(y.begin() + first, y.begin() + end),
                            std::vector<float>(p.y + first, p.y + end)))
          << "other bits in two runs";
    }
  }
  // A turn in the middle of two longer runs, as threads take them.
  if (n_panels >= 5) {
    std::fill_n(p.y, p.n * p.m, -1.0f);
    params.panel_begin = 1;
    params.panel_end = 2;
    params.run_step = 3;
    params.run_end = n_panels;
    backend::multiply_rows(kernel, params);
    std::vector<float> expected = y;
    for (size_t i = 0; i < y.size(); ++i) {
      const int64_t panel = static_cast<int64_t>(i) % p.m / kernel.rows;
      if (panel != 1 && panel != 4) expected[i] = -1.0f;
    }
    EXPECT_TRUE(same_bits(expected, std::vector<float>(p.y, p.y + p.n * p.m))) << "a turn of two runs";
  }
  std::copy(y.begin(), y.end(), p.y);
}

void matmul(const CpuKernels& cpu, const kernels::MatmulParams& p) {
  const auto type = static_cast<size_t>(p.dtype);
  if (cpu.matmul[type].rows == 0) return kernels::reference::matmul(p);
  multiply(cpu, cpu.matmul[type], p);
  // Weights in two planes are the same weights.
  if (cpu.planes[type].whole.rows == 0) return;
  const std::vector<float> y(p.y, p.y + p.n * p.m);
  std::fill_n(p.y, p.n * p.m, -1.0f);
  multiply(cpu, cpu.planes[type].whole, p, &cpu.planes[type]);
  EXPECT_TRUE(same_bits(y, std::vector<float>(p.y, p.y + p.n * p.m))) << "other bits in two planes";
  expect_upper_plane(cpu, p);
  std::copy(y.begin(), y.end(), p.y);
}

// Head by head, last first: each stands for itself.
void kv_append(const CpuKernels& cpu, const kernels::KvAppendParams& p) {
  for (int64_t head = p.kv.n_kv_heads - 1; head >= 0; --head) cpu.cache_of(p.kv).kv_append(p, head, head + 1);
}

template <class Fn>
void for_parts(const kernels::AttentionParams& p, int64_t most_rows, const Fn& fn) {
  for (int64_t s = 0; s < p.n_seqs; ++s) {
    const int64_t rows = (p.cu_seqlens_q[s + 1] - p.cu_seqlens_q[s]) * (p.n_heads / p.kv.n_kv_heads);
    for (int64_t h = 0; h < p.kv.n_kv_heads; ++h) {
      for (int64_t row = 0; row < rows; row += most_rows)
        fn(kernels::AttentionPart{p, s, h, row, std::min(rows, row + most_rows)});
    }
  }
}

// Parts of so many rows, in lists of one, then two, then more.
void expect_same_in_pipelines(const CpuKernels& cpu, const kernels::AttentionParams& p, int64_t most_rows,
                              int fetched_streams, const std::vector<float>& alone) {
  std::fill_n(p.y, alone.size(), -1.0f);
  std::vector<kernels::AttentionPart> alike;
  for_parts(p, most_rows, [&](kernels::AttentionPart part) {
    part.fetched_streams = fetched_streams;
    part.row_end - part.row_begin == most_rows ? alike.push_back(part) : cpu.cache.attention(part);
  });
  size_t n = 0;
  for (size_t begin = 0; begin < alike.size(); begin += n) {
    n = std::min(n + 1, alike.size() - begin);
    if (begin + n < alike.size()) alike[begin + n - 1].next = &alike[begin + n];
    cpu.attention_pipeline(&alike[begin], static_cast<int64_t>(n));
  }
  EXPECT_TRUE(same_bits(alone, std::vector<float>(p.y, p.y + alone.size())))
      << "other bits in pipelines of parts of " << most_rows << " rows";
}

void attention(const CpuKernels& cpu, const kernels::AttentionParams& p) {
  const kernels::CacheKernels& cache = cpu.cache_of(p.kv);
  for_parts(p, cache.query_rows, [&](const kernels::AttentionPart& part) { cache.attention(part); });
  // What a part is told of the next one, whatever that is, changes nothing.
  const int64_t n_outputs = p.cu_seqlens_q[p.n_seqs] * p.n_heads * p.kv.head_dim;
  const std::vector<float> alone(p.y, p.y + n_outputs);
  std::fill_n(p.y, n_outputs, -1.0f);
  std::vector<kernels::AttentionPart> parts;
  for_parts(p, cache.query_rows, [&](const kernels::AttentionPart& part) { parts.push_back(part); });
  for (size_t i = 0; i < parts.size(); ++i) {
    kernels::AttentionPart own = parts[i];
    own.next = &parts[(i + 1) % parts.size()];
    own.fetched_streams = static_cast<int>(i % 6);
    own.is_fetched = i % 2 == 1;
    cache.attention(own);
  }
  EXPECT_TRUE(same_bits(alone, std::vector<float>(p.y, p.y + n_outputs))) << "other bits when fetching ahead";
  if (cpu.attention_pipeline == nullptr || cpu.in_tiles(p.kv)) return;
  for (int64_t most_rows = 1; most_rows <= 5; ++most_rows) {
    for (const int fetched_streams : {0, 2})
      expect_same_in_pipelines(cpu, p, most_rows, fetched_streams, alone);
  }
}

// The last chunk first, and chunks that no row sees too.
void attention_in_chunks(const CpuKernels& cpu, const kernels::AttentionParams& p) {
  const kernels::CacheKernels& cache = cpu.cache_of(p.kv);
  for_parts(p, cache.query_rows, [&](kernels::AttentionPart part) {
    const int64_t n_chunks =
        (p.context_lens[part.seq] + kernels::kAttentionChunk - 1) / kernels::kAttentionChunk;
    const int64_t size = (part.row_end - part.row_begin) * (p.kv.head_dim + 2);
    Guarded<float> partials(n_chunks * size);
    for (part.chunk = n_chunks - 1; part.chunk >= 0; --part.chunk) {
      part.partial = partials.data() + part.chunk * size;
      kernels::AttentionPart next = part;
      next.chunk = part.chunk == 0 ? n_chunks - 1 : part.chunk - 1;
      part.next = &next;
      cache.attention(part);
      part.next = nullptr;
    }
    part.partial = partials.data();
    cpu.merge_attention(part, n_chunks);
    partials.expect_canaries_alive();
  });
}

OpSet op_set(const kernels::CpuIsa& isa) {
  namespace reference = kernels::reference;
  const CpuKernels cpu = backend::kernels_of(isa);
  const auto with_cpu = [cpu](auto fn) { return [cpu, fn](const auto& p) { fn(cpu, p); }; };
  // Activations are rounded to 8 bits for quantized weights.
  const auto matmul_error = [cpu](DType dtype) {
    const kernels::XForm form = cpu.matmul[static_cast<size_t>(dtype)].x_form;
    return form == kernels::XForm::kInt8 || form == kernels::XForm::kInt8Halves ? 3e-6 : 1e-13;
  };
  const auto rounds_to_bf16 = [cpu](DType dtype) {
    return cpu.matmul[static_cast<size_t>(dtype)].x_form == kernels::XForm::kBf16;
  };
  const auto cache_order = [cpu](const kernels::KvLayerView& kv) {
    if (!cpu.in_tiles(kv)) return OpSet::CacheOrder::kPositions;
    return cpu.cache_of(kv).in_pairs ? OpSet::CacheOrder::kTilesOfPairs : OpSet::CacheOrder::kTilesOfLines;
  };
  // Products of bfloat16 keep 16 bits of queries and weights, those of float16 22.
  const auto attention_nmse = [cpu](const kernels::KvLayerView& kv) {
    const bool are_of_float16 = kv.dtype == DType::kF16 && cpu.cache_of(kv).in_pairs;
    return cpu.in_tiles(kv) && !are_of_float16 ? 4 * kAttentionNmse : kAttentionNmse;
  };
  return {isa.name,
          reference::embed,
          with_cpu(matmul),
          cpu.rms_norm,
          reference::rope_table,
          cpu.rope,
          with_cpu(kv_append),
          with_cpu(attention),
          cpu.add,
          cpu.act_mul,
          reference::gather_rows,
          reference::argmax,
          cpu.key_tile,
          cpu.block_multiple,
          cache_order,
          matmul_error,
          attention_nmse,
          with_cpu(attention_in_chunks),
          rounds_to_bf16};
}

}  // namespace

std::vector<OpSet> cpu_op_sets() {
  std::vector<OpSet> sets;
  for (const kernels::CpuIsa* isa : backend::available_isas(cpu_features())) sets.push_back(op_set(*isa));
  return sets;
}

}  // namespace inferno::test
