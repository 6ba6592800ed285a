// kernels_bench: what benchmark_main is, after the benchmarks of each backend are there.
#include <benchmark/benchmark.h>

#include "bench/registration.h"

int main(int argc, char** argv) {
  for (const auto add : inferno::bench_support::registrations()) add();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
