// What the kernel benchmarks share: every backend that is here, and tensors in its memory.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "bench/ceiling.h"

namespace inferno::bench_support {

// Each backend once, by its own name; "auto" is one of the others.
inline std::vector<std::string> backends_here() {
  std::vector<std::string> names;
  for (const std::string_view name : backend::backend_names()) {
    if (name != "auto" && backend::create_backend(name)) names.emplace_back(name);
  }
  return names;
}

// Tensors of a backend, filled with values around 1/2 so that nothing is subnormal or infinite.
class Arena {
 public:
  explicit Arena(const std::string& backend_name) : backend_(*backend::create_backend(backend_name)) {}

  backend::Backend& backend() { return *backend_; }

  Tensor tensor(std::initializer_list<int64_t> shape) {
    Tensor t;
    t.dtype = backend_->info().activation_dtype;
    for (const int64_t size : shape) t.shape[static_cast<size_t>(t.n_dims++)] = size;
    const std::vector<float> values(static_cast<size_t>(t.n_elements()), 0.5f);
    if (t.dtype != DType::kF32) throw std::runtime_error("activations of this backend are not F32");
    t.data = store(values.data(), t.bytes());
    return t;
  }

  template <class T>
  T* array(const std::vector<T>& values) {
    return static_cast<T*>(store(values.data(), values.size() * sizeof(T)));
  }

  // Zeroed memory: keys and values.
  void* memory(size_t bytes) {
    const std::vector<std::byte> zeros(bytes);
    return store(zeros.data(), bytes);
  }

  backend::Weight weight(DType dtype, int64_t rows, int64_t cols, backend::WeightUse use) {
    return weights(1, dtype, rows, cols, use).front();
  }

  // n of a shape. Small positive bytes are harmless values in every format.
  std::vector<backend::Weight> weights(size_t n, DType dtype, int64_t rows, int64_t cols,
                                       backend::WeightUse use) {
    const size_t bytes = row_bytes(dtype, static_cast<size_t>(rows * cols));
    host_.emplace_back(n * bytes, uint8_t{0x11});
    std::vector<backend::Weight> loaded;
    for (size_t i = 0; i < n; ++i) {
      const Tensor t{
          .dtype = dtype, .n_dims = 2, .shape = {rows, cols}, .data = host_.back().data() + i * bytes};
      loaded.push_back(*backend_->load_weight(t, use));
    }
    backend_->settle(std::chrono::seconds(10));
    return loaded;
  }

 private:
  void* store(const void* data, size_t bytes) {
    buffers_.push_back(*backend_->alloc(bytes));
    const Status uploaded = backend_->upload(buffers_.back().data(), data, bytes);
    if (!uploaded) throw std::runtime_error(uploaded.error().message);
    return buffers_.back().data();
  }

  std::shared_ptr<backend::Backend> backend_;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<uint8_t>> host_;  // what weights may still be read from
};

// What an operation reads: weights of which type, and from where.
struct Reads {
  DType dtype = DType::kF32;
  Operands operands = Operands::kInCaches;
};

// Runs one pass of `operation(backend, batch, i)`, the batch as the device sees it, in iteration i and puts
// what it must move and compute beside the time: bytes and FLOP per second, and the share of the ceiling that
// binds.
template <class Operation>
void measure(benchmark::State& state, Arena& arena, const backend::BatchView& batch, Reads reads,
             Operation&& operation) {
  backend::Backend& backend = arena.backend();
  backend.reset_counters();
  size_t i = 0;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    const backend::BatchView view = backend.begin_forward(batch);
    operation(backend, view, i++);
    if (!backend.end_forward()) state.SkipWithError("the backend failed");
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const metrics::Cost& cost = backend.counters();
  state.SetBytesProcessed(static_cast<int64_t>(cost.bytes()));
  state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(cost.flops), benchmark::Counter::kIsRate);
  const bench::Limits limits = limits_now(backend, std::string(name(reads.dtype)), kCopiesBytes);
  set_share_of_ceiling(state, cost, seconds.count(), limits, reads.operands);
}

}  // namespace inferno::bench_support
