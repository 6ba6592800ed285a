// The steps of a decoder layer as a backend fuses them, against the primitives that they stand for
// (backend/steps.cpp has the same composition): the same bits.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "ops/format_oracle.h"
#include "support/random.h"

namespace inferno::test {
namespace {

using backend::Backend;
using backend::BatchView;
using backend::Weight;
using backend::WeightUse;
using kernels::RopeStyle;

constexpr int64_t kDim = 256, kHidden = 512;  // K-quants' blocks have 256
constexpr int64_t kHeads = 4, kKvHeads = 2;
constexpr int64_t kBlockSize = 64, kBlocks = 2;

struct StepCase {
  std::string name;
  int64_t n;
  std::array<DType, 3> types;  // of wq, wk, wv; of w_gate, w_up and w_down; wo has the first
  DType kv_type;
  int64_t head_dim, n_pairs;
  RopeStyle style;
  bool head_norms, biases, post_norms;
  backend::Activation activation;
};

void PrintTo(const StepCase& c, std::ostream* out) {
  *out << c.name;
}

class StepsTest : public testing::TestWithParam<std::tuple<std::string, StepCase>> {
 protected:
  Tensor floats(std::initializer_list<int64_t> shape) {
    Tensor t;
    for (const int64_t size : shape) t.shape[static_cast<size_t>(t.n_dims++)] = size;
    t.data = uploaded(random_.floats(t.n_elements()).data(), t.bytes());
    return t;
  }
  // Another one with the same values.
  Tensor copy(const Tensor& t) {
    Tensor other = t;
    const std::vector<std::byte> bytes = downloaded(t.data, t.bytes());
    other.data = uploaded(bytes.data(), bytes.size());
    return other;
  }
  Weight matrix(DType dtype, int64_t rows, int64_t cols) {
    auto& bytes = host_.emplace_back(random_weights(dtype, rows * cols, random_));
    return *backend_->load_weight(
        Tensor{.dtype = dtype, .n_dims = 2, .shape = {rows, cols}, .data = bytes.data()}, WeightUse::kMatmul);
  }
  Weight vector(int64_t n, bool is_there = true) {
    if (!is_there) return {};
    const std::vector<float> values = random_.floats(n);
    auto& bytes = host_.emplace_back(static_cast<size_t>(n) * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return *backend_->load_weight(
        Tensor{.dtype = DType::kF32, .n_dims = 1, .shape = {n}, .data = bytes.data()}, WeightUse::kVector);
  }
  kernels::KvLayerView cache(DType dtype) {
    const size_t bytes = row_bytes(dtype, static_cast<size_t>(kBlocks * kBlockSize * kKvHeads * c_.head_dim));
    const std::vector<std::byte> zeros(bytes);
    return {uploaded(zeros.data(), bytes),
            uploaded(zeros.data(), bytes),
            dtype,
            kBlockSize,
            kKvHeads,
            c_.head_dim};
  }
  // Positions from 59 on, so that some are in the second block.
  BatchView batch(int64_t n) {
    for (int64_t i = 0; i < n; ++i) slots_.push_back(59 + i);
    return {.n_tokens = n, .n_seqs = 1, .slot_mapping = slots_.data()};
  }
  template <class Run>
  void forward(const BatchView& host, const Run& run) {
    run(backend_->begin_forward(host));
    const Status ended = backend_->end_forward();
    ASSERT_TRUE(ended.ok()) << ended.error().message;
  }
  bool is_same(const Tensor& a, const Tensor& b) {
    return downloaded(a.data, a.bytes()) == downloaded(b.data, b.bytes());
  }
  void expect_same(const Tensor& a, const Tensor& b, const char* what) { EXPECT_TRUE(is_same(a, b)) << what; }
  void expect_same(const kernels::KvLayerView& a, const kernels::KvLayerView& b) {
    const size_t bytes =
        row_bytes(a.dtype, static_cast<size_t>(kBlocks * kBlockSize * kKvHeads * c_.head_dim));
    const std::vector<std::byte> keys = downloaded(a.k, bytes);
    EXPECT_TRUE(keys == downloaded(b.k, bytes)) << "keys";
    EXPECT_TRUE(downloaded(a.v, bytes) == downloaded(b.v, bytes)) << "values";
    EXPECT_TRUE(keys != std::vector<std::byte>(bytes)) << "nothing was stored";
  }

  std::shared_ptr<Backend> backend_ = *backend::create_backend(std::get<0>(GetParam()));
  const StepCase& c_ = std::get<1>(GetParam());

 private:
  void* uploaded(const void* data, size_t bytes) {
    buffers_.push_back(*backend_->alloc(bytes));
    const Status status = backend_->upload(buffers_.back().data(), data, bytes);
    EXPECT_TRUE(status.ok());
    return buffers_.back().data();
  }
  std::vector<std::byte> downloaded(const void* data, size_t bytes) {
    std::vector<std::byte> result(bytes);
    EXPECT_TRUE(backend_->download(result.data(), data, bytes).ok());
    return result;
  }

  Random random_{17};
  std::vector<Buffer> buffers_;
  std::vector<std::vector<uint8_t>> host_;
  std::vector<int64_t> slots_;
};

Tensor per_head(Tensor t, int64_t head_dim) {
  t.shape = {t.n_elements() / head_dim, head_dim};
  t.n_dims = 2;
  return t;
}

TEST_P(StepsTest, Qkv) {
  const int64_t n = c_.n;
  const Weight norm = vector(kDim), wq = matrix(c_.types[0], kHeads * c_.head_dim, kDim),
               wk = matrix(c_.types[1], kKvHeads * c_.head_dim, kDim),
               wv = matrix(c_.types[2], kKvHeads * c_.head_dim, kDim);
  const Weight bq = vector(wq.rows, c_.biases), bk = vector(wk.rows, c_.biases),
               bv = vector(wv.rows, c_.biases);
  const Weight q_norm = vector(c_.head_dim, c_.head_norms), k_norm = vector(c_.head_dim, c_.head_norms);
  const Tensor x = floats({n, kDim}), cos_sin = floats({n, c_.n_pairs, 2}), normed = floats({n, kDim});
  const Tensor q = floats({n, kHeads, c_.head_dim}), k = floats({n, kKvHeads, c_.head_dim}),
               v = floats({n, kKvHeads, c_.head_dim});
  const Tensor fused_q = copy(q);
  const kernels::KvLayerView kv = cache(c_.kv_type), fused_kv = cache(c_.kv_type);
  const BatchView host = batch(n);
  forward(host, [&](const BatchView& view) {
    backend_->qkv_step({x, norm, 1e-6f, wq, wk, wv, bq, bk, bv, q_norm, k_norm, cos_sin, c_.style, fused_kv,
                        view, fused_q, normed, k, v});
  });
  forward(host, [&](const BatchView& view) {
    backend_->rms_norm({norm, x, normed, 1e-6f});
    backend_->matmul({wq, bq, normed, q});
    backend_->matmul({wk, bk, normed, k});
    backend_->matmul({wv, bv, normed, v});
    if (c_.head_norms)
      backend_->rms_norm({q_norm, per_head(q, c_.head_dim), per_head(q, c_.head_dim), 1e-6f});
    if (c_.head_norms)
      backend_->rms_norm({k_norm, per_head(k, c_.head_dim), per_head(k, c_.head_dim), 1e-6f});
    backend_->rope({q, cos_sin, c_.style});
    backend_->rope({k, cos_sin, c_.style});
    backend_->kv_append({k, v, kv, view});
  });
  expect_same(q, fused_q, "queries");
  expect_same(kv, fused_kv);
}

TEST_P(StepsTest, OutProj) {
  const int64_t n = c_.n;
  const Weight wo = matrix(c_.types[0], kDim, kHeads * c_.head_dim), bias = vector(kDim, c_.biases),
               post_norm = vector(kDim, c_.post_norms);
  const Tensor attended = floats({n, kHeads, c_.head_dim}), x = floats({n, kDim}),
               scratch = floats({n, kDim});
  const Tensor fused_x = copy(x), before = copy(x);
  forward(batch(n), [&](const BatchView&) {
    backend_->out_proj_step({attended, wo, bias, post_norm, 1e-6f, fused_x, scratch});
  });
  forward(batch(n), [&](const BatchView&) {
    backend_->matmul({wo, bias, attended, scratch});
    if (c_.post_norms) backend_->rms_norm({post_norm, scratch, scratch, 1e-6f});
    backend_->add({x, scratch});
  });
  expect_same(x, fused_x, "the residual stream");
  EXPECT_FALSE(is_same(x, before)) << "nothing was added";
}

TEST_P(StepsTest, Mlp) {
  const int64_t n = c_.n;
  const Weight no_bias;
  const Weight norm = vector(kDim), post_norm = vector(kDim, c_.post_norms);
  const Weight w_gate = matrix(c_.types[0], kHidden, kDim), w_up = matrix(c_.types[1], kHidden, kDim),
               w_down = matrix(c_.types[2], kDim, kHidden);
  const Tensor x = floats({n, kDim}), normed = floats({n, kDim}), gate = floats({n, kHidden}),
               up = floats({n, kHidden});
  const Tensor fused_x = copy(x), before = copy(x);
  forward(batch(n), [&](const BatchView&) {
    backend_->mlp_step(
        {norm, 1e-6f, w_gate, w_up, w_down, post_norm, c_.activation, fused_x, normed, gate, up});
  });
  forward(batch(n), [&](const BatchView&) {
    backend_->rms_norm({norm, x, normed, 1e-6f});
    backend_->matmul({w_gate, no_bias, normed, gate});
    backend_->matmul({w_up, no_bias, normed, up});
    backend_->act_mul({gate, up, gate, c_.activation});
    backend_->matmul({w_down, no_bias, gate, normed});
    if (c_.post_norms) backend_->rms_norm({post_norm, normed, normed, 1e-6f});
    backend_->add({x, normed});
  });
  expect_same(x, fused_x, "the residual stream");
  EXPECT_FALSE(is_same(x, before)) << "nothing was added";
}

TEST_P(StepsTest, LmHead) {
  const int64_t n = c_.n;
  constexpr int64_t kVocab = 300;
  const Weight norm = vector(kDim), head = matrix(c_.types[0], kVocab, kDim), no_bias;
  const Tensor x = floats({n + 2, kDim}), rows = floats({n, kDim});
  const Tensor logits = floats({n, kVocab}), step_logits = copy(logits);
  std::vector<int32_t> wanted;
  for (int64_t i = 0; i < n; ++i) wanted.push_back(static_cast<int32_t>(n + 1 - i));
  const BatchView host = {.n_tokens = n + 2, .n_logits = n, .logits_indices = wanted.data()};
  // Two floats' room for each.
  const Tensor places = floats({n, 2}), step_places = floats({n, 2});
  const auto highest = [](const Tensor& t) { return static_cast<kernels::Argmax*>(t.data); };
  const bool is_host = backend_->host_view(x.data) != nullptr;  // it is asked for no highest
  forward(host, [&](const BatchView& view) {
    backend_->lm_head_step(
        {x, view, norm, 1e-6f, head, rows, step_logits, !is_host, is_host ? nullptr : highest(step_places)});
  });
  forward(host, [&](const BatchView& view) {
    backend_->gather_rows({x, view.logits_indices, rows});
    backend_->rms_norm({norm, rows, rows, 1e-6f});
    backend_->matmul({head, no_bias, rows, logits});
    backend_->argmax({logits, highest(places)});
  });
  expect_same(logits, step_logits, "the logits");
  if (!is_host) expect_same(places, step_places, "the highest of each row");
}

// Those that fuse steps.
std::vector<std::string> backends_here() {
  std::vector<std::string> names;
  for (const char* name : {"simd", "parallel", "cuda"}) {
    if (backend::create_backend(name)) names.emplace_back(name);
  }
  return names;
}

std::vector<StepCase> step_cases() {
  using backend::Activation;
  const auto all = [](DType dtype) { return std::array{dtype, dtype, dtype}; };
  return {
      {"qwen3_F32", 3, all(DType::kF32), DType::kF32, 64, 24, RopeStyle::kHalves, true, false, false,
       Activation::kSilu},
      {"qwen2_BF16", 1, all(DType::kBF16), DType::kF16, 80, 40, RopeStyle::kHalves, false, true, false,
       Activation::kSilu},
      {"wide_heads_F16", 2, all(DType::kF16), DType::kQ8_0, 288, 144, RopeStyle::kHalves, true, false, false,
       Activation::kSilu},
      {"llama_Q4_K_M",
       9,
       {DType::kQ4_K, DType::kQ4_K, DType::kQ6_K},
       DType::kBF16,
       64,
       32,
       RopeStyle::kInterleaved,
       false,
       false,
       false,
       Activation::kSilu},
      {"llama_mixed",
       2,
       {DType::kQ4_0, DType::kQ8_0, DType::kQ4_0},
       DType::kF16,
       64,
       32,
       RopeStyle::kInterleaved,
       false,
       true,
       false,
       Activation::kSilu},
      // Some products take 8 bits, some floats.
      {"llama_mixed_with_F32",
       17,
       {DType::kQ8_0, DType::kF32, DType::kQ4_0},
       DType::kF16,
       64,
       32,
       RopeStyle::kInterleaved,
       false,
       false,
       false,
       Activation::kSilu},
      {"gemma3_Q8_0", 17, all(DType::kQ8_0), DType::kQ8_0, 256, 128, RopeStyle::kHalves, true, false, true,
       Activation::kGeluTanh},
  };
}

INSTANTIATE_TEST_SUITE_P(On, StepsTest,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::ValuesIn(step_cases())),
                         [](const testing::TestParamInfo<std::tuple<std::string, StepCase>>& info_) {
                           return std::get<1>(info_.param).name + "_" + std::get<0>(info_.param);
                         });

}  // namespace
}  // namespace inferno::test
