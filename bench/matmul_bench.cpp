// gemv/BACKEND/TYPE: a matrix times one vector, as in decode; gemm: times 128 of them, as in prefill.
#include "bench/backends.h"
#include "bench/registration.h"

namespace inferno {
namespace {

using bench_support::Arena;
using bench_support::Copies;

constexpr int64_t kRows = 4096;
constexpr int64_t kCols = 2048;

void matmul(benchmark::State& state, const std::string& backend_name, DType dtype, int64_t n) {
  Arena arena(backend_name);
  // A matrix after the other, as in decode: none is in a cache when its turn comes.
  const Copies copies = bench_support::copies_beyond_caches(row_bytes(dtype, kRows * kCols));
  const auto weights = arena.weights(copies.n, dtype, kRows, kCols, backend::WeightUse::kMatmul);
  const backend::Weight no_bias;
  const Tensor x = arena.tensor({n, kCols});
  const Tensor y = arena.tensor({n, kRows});
  measure(state, arena, {.n_tokens = n}, {dtype, copies.operands},
          [&](backend::Backend& backend, const backend::BatchView&, size_t i) {
            backend.matmul({weights[i % weights.size()], no_bias, x, y});
          });
}

const bool registered = bench_support::register_in_main([] {
  for (const std::string& backend_name : bench_support::backends_here()) {
    for (const DType dtype :
         {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
          DType::kQ5_1, DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL,
          DType::kIQ4_XS, DType::kMXFP4}) {
      const std::string suffix = fmt::format("/{}/{}", backend_name, name(dtype));
      benchmark::RegisterBenchmark(("gemv" + suffix).c_str(), matmul, backend_name, dtype, int64_t{1})
          ->UseRealTime();
      benchmark::RegisterBenchmark(("gemm" + suffix).c_str(), matmul, backend_name, dtype, int64_t{128})
          ->UseRealTime();
    }
  }
});

}  // namespace
}  // namespace inferno
