#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ops/op_case.h"
#include "support/canary.h"
#include "support/random.h"
#include "tensor/half.h"

namespace inferno::test {
namespace {

struct Shape {
  int64_t n_heads, n_kv_heads, head_dim;
  int64_t window;
  DType dtype;

  std::string describe() const {
    return std::to_string(n_heads) + "/" + std::to_string(n_kv_heads) + " heads of " +
           std::to_string(head_dim) + ", window " + std::to_string(window) + ", " + std::string(name(dtype));
  }
};

// One sequence: keys and values of its positions and queries for its last ones.
struct Sequence {
  int64_t context, n_queries;
  std::vector<float> q;     // (n_queries, n_heads, head_dim)
  std::vector<float> k, v;  // (context, n_kv_heads, head_dim), as the cache's type can hold them
};

// To values that the type can hold: storing them rounds no more.
void round_to(DType dtype, std::vector<float>& x) {
  if (dtype == DType::kF16) {
    for (float& value : x) value = f16_to_f32(f32_to_f16(value));
  } else if (dtype == DType::kBF16) {
    for (float& value : x) value = bf16_to_f32(f32_to_bf16(value));
  } else if (dtype == DType::kQ8_0) {
    for (size_t block = 0; block < x.size(); block += 32) {
      const std::span<float> values(x.data() + block, 32);
      float largest = 0;
      for (const float value : values) largest = std::max(largest, std::abs(value));
      const float d = f16_to_f32(f32_to_f16(largest / 127));
      for (float& value : values) value = d == 0.0f ? 0.0f : d * std::nearbyint(value / d);
    }
  }
}

Sequence make_sequence(const Shape& shape, int64_t context, int64_t n_queries) {
  Random random(static_cast<uint64_t>(context * 1000 + n_queries));
  const int64_t kv_size = context * shape.n_kv_heads * shape.head_dim;
  Sequence sequence = {context, n_queries,
                       random.floats(n_queries * shape.n_heads * shape.head_dim, -2.0, 2.0),
                       random.floats(kv_size, -2.0, 2.0), random.floats(kv_size, -2.0, 2.0)};
  round_to(shape.dtype, sequence.k);
  round_to(shape.dtype, sequence.v);
  return sequence;
}

// A sequence that ends `drop` queries earlier and asks only the last `n_queries` of those left.
Sequence part_of(const Shape& shape, const Sequence& whole, int64_t drop, int64_t n_queries) {
  const int64_t q_row = shape.n_heads * shape.head_dim;
  const auto end = whole.q.end() - drop * q_row;
  return {whole.context - drop, n_queries, std::vector<float>(end - n_queries * q_row, end), whole.k,
          whole.v};
}

// Writes the sequences into a cache of blocks and runs them as one batch. Blocks are handed out in turn, so
// that the block table of no sequence is in order. What belongs to no visible position is NaN.
std::vector<float> run(const OpSet& ops, const Shape& shape, const std::vector<Sequence>& sequences,
                       int64_t wanted_block_size) {
  const int64_t block_size = ops.block_size(wanted_block_size);
  int64_t max_blocks = 0;
  std::vector<float> q;
  std::vector<int32_t> cu_seqlens_q = {0};
  std::vector<int32_t> context_lens;
  for (const Sequence& s : sequences) {
    max_blocks = std::max(max_blocks, (s.context + block_size - 1) / block_size);
    q.insert(q.end(), s.q.begin(), s.q.end());
    cu_seqlens_q.push_back(cu_seqlens_q.back() + static_cast<int32_t>(s.n_queries));
    context_lens.push_back(static_cast<int32_t>(s.context));
  }
  const int64_t n_seqs = static_cast<int64_t>(sequences.size());
  const int64_t n_blocks = n_seqs * max_blocks;
  const int64_t cache_elements = n_blocks * block_size * shape.n_kv_heads * shape.head_dim;
  std::vector<uint8_t> k_cache(row_bytes(shape.dtype, static_cast<size_t>(cache_elements)), 0xff);
  std::vector<uint8_t> v_cache = k_cache;
  const kernels::KvLayerView kv = {k_cache.data(), v_cache.data(),   shape.dtype,
                                   block_size,     shape.n_kv_heads, shape.head_dim};

  std::vector<int32_t> block_tables(static_cast<size_t>(n_blocks));
  for (int64_t s = 0; s < n_seqs; ++s) {
    const Sequence& sequence = sequences[static_cast<size_t>(s)];
    for (int64_t b = 0; b < max_blocks; ++b) {
      block_tables[static_cast<size_t>(s * max_blocks + b)] =
          static_cast<int32_t>((max_blocks - 1 - b) * n_seqs + s);
    }
    std::vector<int64_t> slots;
    for (int64_t p = 0; p < sequence.context; ++p) {
      const int64_t block = block_tables[static_cast<size_t>(s * max_blocks + p / block_size)];
      slots.push_back(block * block_size + p % block_size);
    }
    ops.kv_append({sequence.k.data(), sequence.v.data(), kv, slots.data(), sequence.context});
  }

  Guarded<float> y(static_cast<int64_t>(q.size()));
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  ops.attention({q.data(), kv, block_tables.data(), cu_seqlens_q.data(), context_lens.data(), y.data(),
                 n_seqs, max_blocks, shape.n_heads, scale, shape.window});
  y.expect_canaries_alive();
  return y.values();
}

// Softmax over all visible positions at once, in double.
std::vector<double> truth_of(const Shape& shape, const Sequence& s) {
  const double scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  std::vector<double> y(s.q.size(), 0.0);
  for (int64_t row = 0; row < s.n_queries * shape.n_heads; ++row) {
    const int64_t position = s.context - s.n_queries + row / shape.n_heads;
    const int64_t kv_head = row % shape.n_heads * shape.n_kv_heads / shape.n_heads;
    const auto at = [&](int64_t p, int64_t d) {
      return static_cast<size_t>((p * shape.n_kv_heads + kv_head) * shape.head_dim + d);
    };
    std::vector<double> scores(static_cast<size_t>(position) + 1, -std::numeric_limits<double>::infinity());
    for (int64_t p = 0; p <= position; ++p) {
      if (shape.window != 0 && p <= position - shape.window) continue;
      double dot = 0.0;
      for (int64_t d = 0; d < shape.head_dim; ++d) {
        dot += static_cast<double>(s.q[static_cast<size_t>(row * shape.head_dim + d)]) * s.k[at(p, d)];
      }
      scores[static_cast<size_t>(p)] = dot * scale;
    }
    const double max = *std::max_element(scores.begin(), scores.end());
    double sum = 0.0;
    for (double& score : scores) sum += score = std::exp(score - max);
    for (int64_t p = 0; p <= position; ++p) {
      const double weight = scores[static_cast<size_t>(p)] / sum;
      if (weight == 0.0) continue;
      for (int64_t d = 0; d < shape.head_dim; ++d) {
        y[static_cast<size_t>(row * shape.head_dim + d)] += weight * s.v[at(p, d)];
      }
    }
  }
  return y;
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const DType dtype : cache_types()) {
    const bool has_blocks = dtype == DType::kQ8_0;
    const int64_t small = has_blocks ? 32 : 16;
    for (const int64_t head_dim : {8, 20, 32, 48, 64, 80, 96, 128, 256}) {
      if (!has_blocks || head_dim % 32 == 0) all.push_back({4, 2, head_dim, 0, dtype});
    }
    for (const int64_t ratio : {1, 2, 3, 4, 5, 8}) all.push_back({2 * ratio, 2, small, 0, dtype});
    for (const int64_t window : {1, 2, 7, 100, 255, 256, 257, 300, 5000})
      all.push_back({2, 1, small, window, dtype});
    // Those were heads of no whole tile of a matrix, which AMX and AVX-512's pipeline do not take; these are
    // of some.
    if (dtype == DType::kF32) continue;
    for (const int64_t ratio : {1, 3, 4}) all.push_back({2 * ratio, 2, 64, 0, dtype});
    for (const int64_t window : {1, 7, 257, 300}) all.push_back({2, 1, 64, window, dtype});
    for (const int64_t head_dim : {192, 320}) all.push_back({4, 2, head_dim, 0, dtype});
  }
  return all;
}

class AttentionTest : public OpTest {};

TEST_P(AttentionTest, CloseToDouble) {
  for (const Shape& shape : shapes()) {
    const double most = ops().attention_nmse({nullptr, nullptr, shape.dtype, 0, 1, shape.head_dim});
    for (const int64_t context : {1, 2, 17, 63, 64, 65, 255, 256, 257, 530}) {
      SCOPED_TRACE(shape.describe() + ", context " + std::to_string(context));
      const Sequence s = make_sequence(shape, context, std::min<int64_t>(context, 3));
      EXPECT_LE(nmse(run(ops(), shape, {s}, context), truth_of(shape, s)), most);
    }
  }
}

TEST_P(AttentionTest, BlockLayoutChangesNoBit) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.describe());
    const Sequence s = make_sequence(shape, 530, 4);
    const std::vector<float> contiguous = run(ops(), shape, {s}, 530);
    for (const int64_t block_size : {1, 16, 100, 256, 1024}) {
      EXPECT_TRUE(same_bits(run(ops(), shape, {s}, block_size), contiguous)) << "block size " << block_size;
    }
  }
}

TEST_P(AttentionTest, TheBatchAroundChangesNoBit) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.describe());
    const std::vector<Sequence> batch = {make_sequence(shape, 40, 17), make_sequence(shape, 300, 1),
                                         make_sequence(shape, 7, 7), make_sequence(shape, 257, 2)};
    std::vector<float> one_by_one;
    for (const Sequence& s : batch) {
      const std::vector<float> y = run(ops(), shape, {s}, 16);
      one_by_one.insert(one_by_one.end(), y.begin(), y.end());
    }
    EXPECT_TRUE(same_bits(run(ops(), shape, batch, 16), one_by_one));
  }
}

TEST_P(AttentionTest, HowThePrefillIsCutChangesNoBit) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.describe());
    constexpr int64_t kQueries = 12;
    const Sequence whole = make_sequence(shape, 262, kQueries);  // its queries cross the border of a chunk
    const std::vector<float> at_once = run(ops(), shape, {whole}, 16);
    for (const int64_t step : {1, 5}) {
      std::vector<float> in_parts;
      for (int64_t done = 0; done < kQueries; done += step) {
        const int64_t n = std::min(step, kQueries - done);
        const std::vector<float> y = run(ops(), shape, {part_of(shape, whole, kQueries - done - n, n)}, 16);
        in_parts.insert(in_parts.end(), y.begin(), y.end());
      }
      EXPECT_TRUE(same_bits(in_parts, at_once)) << step << " queries at a time";
    }
  }
}

// Many query rows of a KV head go through kernels of their own.
TEST_P(AttentionTest, HowManyQueriesAreTogetherChangesNoBit) {
  for (const DType dtype : cache_types()) {
    for (const auto& [ratio, head_dim, window] : {std::array<int64_t, 3>{1, 64, 0},
                                                  {2, 128, 0},
                                                  {3, 64, 300},
                                                  {2, 64, 7},
                                                  {1, 256, 100},
                                                  {2, 96, 0},
                                                  {4, 64, 0},
                                                  {5, 64, 0}}) {
      const Shape shape = {2 * ratio, 2, head_dim, window, dtype};
      SCOPED_TRACE(shape.describe());
      constexpr int64_t kQueries = 67;
      // The last queries begin chunks of positions, and where the windows begin differs.
      for (const int64_t context : {kQueries, int64_t{90}, int64_t{290}, int64_t{545}}) {
        const Sequence whole = make_sequence(shape, context, kQueries);
        const std::vector<float> at_once = run(ops(), shape, {whole}, 16);
        const int64_t per_query = static_cast<int64_t>(at_once.size()) / kQueries;
        for (const int64_t query : {0, 1, 22, 33, 44, 55, 65, 66}) {
          const std::vector<float> alone =
              run(ops(), shape, {part_of(shape, whole, kQueries - 1 - query, 1)}, 16);
          const std::span<const float> of_all(at_once.data() + query * per_query,
                                              static_cast<size_t>(per_query));
          EXPECT_TRUE(same_bits(alone, std::vector<float>(of_all.begin(), of_all.end())))
              << "context " << context << ", query " << query;
        }
      }
    }
  }
}

// Of values whose products with weights are so small that some kernels take them for zeros, all do or none.
TEST_P(AttentionTest, HowManyQueriesAreTogetherChangesNoBitOfSmallValues) {
  for (const DType dtype : cache_types()) {
    for (const float factor : {0x1p-17f, 0x1p-124f}) {
      const Shape shape = {4, 2, 64, 0, dtype};
      constexpr int64_t kQueries = 40;
      Sequence whole = make_sequence(shape, 290, kQueries);
      for (float& value : whole.v) value *= factor;
      const std::vector<float> at_once = run(ops(), shape, {whole}, 16);
      const int64_t per_query = static_cast<int64_t>(at_once.size()) / kQueries;
      for (const int64_t query : {0, 1, 22, 39}) {
        const std::vector<float> alone =
            run(ops(), shape, {part_of(shape, whole, kQueries - 1 - query, 1)}, 16);
        const auto of_all = at_once.begin() + query * per_query;
        EXPECT_TRUE(same_bits(alone, std::vector<float>(of_all, of_all + per_query)))
            << shape.describe() << ", values times " << factor << ", query " << query;
      }
    }
  }
}

TEST_P(AttentionTest, CuttingItIntoChunksChangesNoBit) {
  if (!ops().attention_in_chunks) return;  // the reference is never cut
  OpSet cut = ops();
  cut.attention = cut.attention_in_chunks;
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.describe());
    for (const int64_t n_queries : {1, 13}) {
      const std::vector<Sequence> batch = {make_sequence(shape, 1100, n_queries),
                                           make_sequence(shape, 262, n_queries), make_sequence(shape, 30, 1)};
      EXPECT_TRUE(same_bits(run(cut, shape, batch, 64), run(ops(), shape, batch, 64)));
    }
  }
}

// A chunk whose scores are far below those of the one before weighs almost nothing, but the same either way.
TEST_P(AttentionTest, CuttingOffAFarSmallerChunkChangesNoBit) {
  if (!ops().attention_in_chunks) return;
  OpSet cut = ops();
  cut.attention = cut.attention_in_chunks;
  for (const DType dtype : cache_types()) {
    const Shape shape = {1, 1, 64, 0, dtype};
    for (const float lower : {72.0f, 79.0f, 86.0f, 100.0f}) {
      Sequence s = make_sequence(shape, kernels::kAttentionChunk + 40, 1);
      std::fill(s.q.begin(), s.q.end(), 1.0f);
      std::fill(s.k.begin(), s.k.end(), 0.0f);
      // A score is the sum of a key over 8.
      for (int64_t p = 0; p < kernels::kAttentionChunk; ++p) s.k[static_cast<size_t>(p * 64)] = lower * 8;
      round_to(dtype, s.k);
      std::fill_n(s.v.begin(), kernels::kAttentionChunk * 64, 0.0f);
      const std::vector<float> whole = run(ops(), shape, {s}, 64);
      EXPECT_TRUE(std::ranges::all_of(whole, [](float y) { return std::isfinite(y); }));
      EXPECT_TRUE(same_bits(run(cut, shape, {s}, 64), whole)) << shape.describe() << ", lower by " << lower;
    }
  }
}

TEST_P(AttentionTest, PositionsOutsideTheWindowAreNotRead) {
  for (const DType dtype : cache_types()) {
    for (const auto& [n_heads, window] :
         {std::array<int64_t, 2>{4, 1}, {4, 100}, {4, 256}, {4, 300}, {16, 100}, {16, 300}, {40, 257}}) {
      const Shape shape = {n_heads, 2, 32, window, dtype};
      SCOPED_TRACE(shape.describe());
      Sequence s = make_sequence(shape, 600, 1);
      const std::vector<float> clean = run(ops(), shape, {s}, 16);
      const auto outside = (s.context - window) * shape.n_kv_heads * shape.head_dim;
      std::fill(s.k.begin(), s.k.begin() + outside, NAN);
      std::fill(s.v.begin(), s.v.begin() + outside, NAN);
      EXPECT_TRUE(same_bits(run(ops(), shape, {s}, 16), clean));
      s.v[static_cast<size_t>(outside)] = NAN;  // the oldest that is seen
      EXPECT_TRUE(std::isnan(run(ops(), shape, {s}, 16)[0]));
    }
  }
}

TEST_P(AttentionTest, LargeScoresDoNotOverflow) {
  for (const DType dtype : cache_types()) {
    const Shape shape = {1, 1, 32, 0, dtype};
    Sequence s = make_sequence(shape, 300, 2);
    for (float& value : s.q) value *= 1e4f;
    const std::vector<float> y = run(ops(), shape, {s}, 16);
    for (const float value : y) EXPECT_LE(std::abs(value), 2.001f) << shape.describe();
  }
}

INFERNO_FOR_EACH_OP_SET(AttentionTest);

}  // namespace
}  // namespace inferno::test
