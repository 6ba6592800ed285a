// Matrix times vectors in every weight format, and the loop that reads memory and does nothing else: its
// ceiling.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/reference/reference.h"

namespace inferno {
namespace {

constexpr int64_t kRows = 512;
constexpr int64_t kCols = 1024;

void read_memory(benchmark::State& state) {
  const std::vector<uint64_t> memory((size_t{256} << 20) / sizeof(uint64_t), 1);
  const auto bytes = static_cast<int64_t>(memory.size() * sizeof(uint64_t));
  for (auto _ : state) benchmark::DoNotOptimize(kernels::reference::read_all(memory.data(), bytes));
  state.SetBytesProcessed(state.iterations() * bytes);
}
BENCHMARK(read_memory);

// Rows of x: 1 is decode, 16 a small prefill.
void matmul(benchmark::State& state, DType dtype) {
  const int64_t n = state.range(0);
  const size_t bytes = row_bytes(dtype, kRows * kCols);
  // Small positive bytes are harmless values in every format.
  const std::vector<uint8_t> weights(bytes, 0x11);
  const std::vector<float> x(static_cast<size_t>(n * kCols), 0.5f);
  std::vector<float> y(static_cast<size_t>(n * kRows));
  for (auto _ : state) {
    kernels::reference::matmul({weights.data(), dtype, nullptr, x.data(), y.data(), n, kRows, kCols});
    benchmark::DoNotOptimize(y.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(n * kRows * kCols),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

const bool registered = [] {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0, DType::kQ4_1,
                            DType::kQ5_0, DType::kQ5_1, DType::kQ2_K, DType::kQ3_K, DType::kQ4_K,
                            DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4}) {
    benchmark::RegisterBenchmark(("matmul/" + std::string(name(dtype))).c_str(), matmul, dtype)
        ->Arg(1)
        ->Arg(16);
  }
  return true;
}();

}  // namespace
}  // namespace inferno
