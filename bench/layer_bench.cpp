// The operations of a decoder layer besides its matrices: attention, norm, rope, activation; of a model with
// 16 query heads, 8 key-value heads and a head_dim of 128.
#include "bench/backends.h"
#include "bench/registration.h"

namespace inferno {
namespace {

using bench_support::Arena;
using bench_support::Copies;

constexpr int64_t kHeads = 16, kKvHeads = 8, kHeadDim = 128, kHiddenDim = 6144;

// n queries at the end of a context, all of one sequence.
void attention(benchmark::State& state, const std::string& backend_name, DType kv_type, int64_t kv_heads,
               int64_t n, int64_t context) {
  Arena arena(backend_name);
  const size_t bytes = row_bytes(kv_type, static_cast<size_t>(context * kv_heads * kHeadDim));
  // A layer after the other: the keys and values of none are in a cache when its turn comes.
  const Copies copies = bench_support::copies_beyond_caches(2 * bytes);
  std::vector<backend::KvLayerView> layers;
  for (size_t i = 0; i < copies.n; ++i) {
    layers.push_back({arena.memory(bytes), arena.memory(bytes), kv_type, context, kv_heads, kHeadDim});
  }
  const std::vector<int32_t> cu_seqlens = {0, static_cast<int32_t>(n)};
  const std::vector<int32_t> context_lens = {static_cast<int32_t>(context)};
  const std::vector<int32_t> block_table = {0};
  const backend::BatchView host{.n_tokens = n,
                                .n_seqs = 1,
                                .max_blocks = 1,
                                .cu_seqlens_q = cu_seqlens.data(),
                                .context_lens = context_lens.data(),
                                .block_tables = block_table.data()};
  const Tensor q = arena.tensor({n, kHeads, kHeadDim});
  const Tensor y = arena.tensor({n, kHeads, kHeadDim});
  measure(state, arena, host, {DType::kF32, copies.operands},
          [&](backend::Backend& backend, const backend::BatchView& batch, size_t i) {
            backend.attention({q, layers[i % layers.size()], batch, y, 0.088f, 0});
          });
}

void rms_norm(benchmark::State& state, const std::string& backend_name, int64_t n) {
  Arena arena(backend_name);
  const backend::Weight w = arena.weight(DType::kF32, 1, kHeads * kHeadDim, backend::WeightUse::kVector);
  const Tensor x = arena.tensor({n, kHeads * kHeadDim});
  const Tensor y = arena.tensor({n, kHeads * kHeadDim});
  measure(state, arena, {.n_tokens = n}, {},
          [&](backend::Backend& backend, const backend::BatchView&, size_t) {
            backend.rms_norm({w, x, y, 1e-6f});
          });
}

void rope(benchmark::State& state, const std::string& backend_name, int64_t n) {
  Arena arena(backend_name);
  const Tensor x = arena.tensor({n, kHeads, kHeadDim});
  const Tensor cos_sin = arena.tensor({n, kHeadDim / 2, 2});
  measure(state, arena, {.n_tokens = n}, {},
          [&](backend::Backend& backend, const backend::BatchView&, size_t) {
            backend.rope({x, cos_sin, backend::RopeStyle::kHalves});
          });
}

void act_mul(benchmark::State& state, const std::string& backend_name, backend::Activation activation,
             int64_t n) {
  Arena arena(backend_name);
  const Tensor gate = arena.tensor({n, kHiddenDim});
  const Tensor up = arena.tensor({n, kHiddenDim});
  const Tensor y = arena.tensor({n, kHiddenDim});
  measure(state, arena, {.n_tokens = n}, {},
          [&](backend::Backend& backend, const backend::BatchView&, size_t) {
            backend.act_mul({gate, up, y, activation});
          });
}

const bool registered = bench_support::register_in_main([] {
  for (const std::string& b : bench_support::backends_here()) {
    const auto add = [&](const std::string& name, auto&&... arguments) {
      benchmark::RegisterBenchmark(fmt::format(fmt::runtime(name), b).c_str(), arguments...)->UseRealTime();
    };
    const auto add_attention = [&](const std::string& kind, DType kv_type, int64_t kv_heads, int64_t n,
                                   int64_t context) {
      add("attention/" + kind + "/{}/" + std::to_string(context), attention, b, kv_type, kv_heads, n,
          context);
    };
    add_attention("decode", DType::kF16, kKvHeads, 1, 512);
    add_attention("decode", DType::kF16, kKvHeads, 1, 4096);
    add_attention("decode_one_kv_head", DType::kF16, 1, 1, 4096);
    add_attention("decode_bf16", DType::kBF16, kKvHeads, 1, 4096);
    add_attention("decode_q8_0", DType::kQ8_0, kKvHeads, 1, 4096);
    add_attention("prefill", DType::kF16, kKvHeads, 512, 512);
    add_attention("prefill_bf16", DType::kBF16, kKvHeads, 512, 512);
    add_attention("prefill_q8_0", DType::kQ8_0, kKvHeads, 512, 512);
    for (const int64_t n : {1, 128}) {
      const std::string rows = "/{}/" + std::to_string(n);
      add("rms_norm" + rows, rms_norm, b, n);
      add("rope" + rows, rope, b, n);
      add("act_mul/silu" + rows, act_mul, b, backend::Activation::kSilu, n);
      add("act_mul/gelu_tanh" + rows, act_mul, b, backend::Activation::kGeluTanh, n);
    }
  }
});

}  // namespace
}  // namespace inferno
