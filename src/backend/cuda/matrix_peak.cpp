#include "backend/cuda/matrix_peak.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "backend/cuda/cublas_lt.h"
#include "backend/cuda/device_memory.h"
#include "backend/cuda/timed_passes.h"
#include "base/text.h"
#include "tensor/half.h"

namespace inferno::backend::cuda {
namespace {

constexpr const char* kDoing = "measuring the matrix peak";
constexpr int64_t kMostRows = 8192;
constexpr int64_t kLeastRows = 256;
constexpr size_t kMostWorkspaceBytes = size_t{32} << 20;  // as NVIDIA recommends for Hopper
constexpr size_t kMostFillBytes = size_t{1} << 20;
constexpr int kMostAlgorithms = 4;
constexpr double kMostMs = 200;  // of one of them

size_t matrix_bytes(int64_t rows) {
  return static_cast<size_t>(rows * rows) * sizeof(uint16_t);
}

size_t workspace_bytes(int64_t rows) {
  return std::min(matrix_bytes(rows), kMostWorkspaceBytes);
}

Result<int64_t> rows_that_fit() {
  const uint64_t room = free_bytes().value_or(0) / 2;
  int64_t rows = kMostRows;
  while (3 * matrix_bytes(rows) + workspace_bytes(rows) > room) rows /= 2;
  if (rows >= kLeastRows) return rows;
  return make_error(ErrorCode::kResource, "{}: {} of the GPU's memory are too few", kDoing,
                    human_bytes(room));
}

Status check_cublas(const CublasLt& lib, const char* what, int32_t status) {
  if (status == kCublasSuccess) return {};
  static_cast<void>(cudaGetLastError());  // it is reported here, and not as some launch's
  return make_error(ErrorCode::kRuntime, "{}: {} failed: {}", kDoing, what, lib.get_status_string(status));
}

template <class T>
using Owned = std::unique_ptr<T, int32_t (*)(T*)>;

template <class T, class... Args, class... Values>
Result<Owned<T>> make(const CublasLt& lib, const char* what, int32_t (*create)(T**, Args...),
                      int32_t (*destroy)(T*), Values... values) {
  T* object = nullptr;
  TRY(check_cublas(lib, what, create(&object, values...)));
  return Owned<T>(object, destroy);
}

// The product of two square matrices, the first of them transposed, so that both are read along their
// columns, as a layer's activations and weights are along their rows.
class Product {
 public:
  static Result<Product> create(const CublasLt& lib, int64_t rows) {
    TRY_ASSIGN(auto context, make(lib, "cublasLtCreate", lib.create, lib.destroy));
    TRY_ASSIGN(auto product, make(lib, "cublasLtMatmulDescCreate", lib.matmul_desc_create,
                                  lib.matmul_desc_destroy, kCublasComputeF32, kCudaF32));
    TRY(check_cublas(lib, "cublasLtMatmulDescSetAttribute",
                     lib.matmul_desc_set_attribute(product.get(), kCublasLtTransposeA, &kCublasTransposed,
                                                   sizeof kCublasTransposed)));
    const auto n = static_cast<uint64_t>(rows);
    TRY_ASSIGN(auto layout, make(lib, "cublasLtMatrixLayoutCreate", lib.matrix_layout_create,
                                 lib.matrix_layout_destroy, kCudaBf16, n, n, rows));
    Product made(lib, std::move(context), std::move(product), std::move(layout));
    TRY_ASSIGN(made.memory_, alloc(3 * matrix_bytes(rows) + workspace_bytes(rows)));
    made.rows_ = rows;
    return made;
  }

  // Numbers between -1 and 1, as a model's are: of zeros a device makes more in a second, since it takes less
  // power. Some columns of them, again and again.
  Status fill(cudaStream_t stream) {
    const size_t piece = std::min(kMostFillBytes, matrix_bytes(rows_));
    std::minstd_rand random;
    std::uniform_real_distribution<float> number(-1, 1);
    std::vector<uint16_t> numbers(piece / sizeof(uint16_t));
    for (uint16_t& value : numbers) value = f32_to_bf16(number(random));
    const size_t both = 2 * matrix_bytes(rows_);
    TRY(check(kDoing, cudaMemcpyAsync(matrix(0), numbers.data(), piece, cudaMemcpyHostToDevice, stream)));
    for (size_t filled = piece; filled < both; filled *= 2) {
      TRY(check(kDoing,
                cudaMemcpyAsync(matrix(0) + filled, matrix(0), filled, cudaMemcpyDeviceToDevice, stream)));
    }
    TRY(check(kDoing, cudaStreamSynchronize(stream)));
    const std::span<const uint16_t> column = std::span(numbers).last(static_cast<size_t>(rows_));
    last_ = 0;
    for (const uint16_t value : column) last_ += std::pow(bf16_to_f32(value), 2.0);
    return {};
  }

  Result<std::vector<CublasLtChoice>> algorithms() const {
    TRY_ASSIGN(const auto preference,
               make(lib_, "cublasLtMatmulPreferenceCreate", lib_.preference_create, lib_.preference_destroy));
    const uint64_t most = workspace_bytes(rows_);
    TRY(check_cublas(
        lib_, "cublasLtMatmulPreferenceSetAttribute",
        lib_.preference_set_attribute(preference.get(), kCublasLtMostWorkspace, &most, sizeof most)));
    std::vector<CublasLtChoice> choices(kMostAlgorithms);
    int n_found = 0;
    CublasLtLayout* const layout = layout_.get();
    TRY(check_cublas(lib_, "cublasLtMatmulAlgoGetHeuristic",
                     lib_.algo_get_heuristic(context_.get(), product_.get(), layout, layout, layout, layout,
                                             preference.get(), kMostAlgorithms, choices.data(), &n_found)));
    choices.resize(static_cast<size_t>(std::clamp(n_found, 0, kMostAlgorithms)));
    std::erase_if(choices, [](const CublasLtChoice& choice) { return choice.status != kCublasSuccess; });
    if (choices.empty()) return make_error(ErrorCode::kRuntime, "{}: cuBLASLt knows no algorithm", kDoing);
    return choices;
  }

  Status put(const CublasLtChoice& choice, cudaStream_t stream) const {
    constexpr float kOne = 1;
    constexpr float kZero = 0;
    CublasLtLayout* const layout = layout_.get();
    return check_cublas(lib_, "cublasLtMatmul",
                        lib_.matmul(context_.get(), product_.get(), &kOne, matrix(0), layout, matrix(1),
                                    layout, &kZero, matrix(2), layout, matrix(2), layout, choice.algorithm,
                                    matrix(3), workspace_bytes(rows_), stream));
  }

  // Of what was computed last: one that left some out would raise the ceiling unnoticed. The last element is
  // the sum of a column's squares, the matrices being alike.
  Status check_last(cudaStream_t stream) const {
    uint16_t last = 0;
    TRY(check(kDoing,
              cudaMemcpyAsync(&last, matrix(3) - sizeof last, sizeof last, cudaMemcpyDeviceToHost, stream)));
    TRY(check(kDoing, cudaStreamSynchronize(stream)));
    if (std::abs(bf16_to_f32(last) - last_) <= last_ / 100) return {};
    return make_error(ErrorCode::kRuntime, "{}: expected cuBLASLt to compute {:.4g}, found {:.4g}", kDoing,
                      last_, bf16_to_f32(last));
  }

 private:
  Product(const CublasLt& lib, Owned<CublasLtContext> context, Owned<CublasLtProduct> product,
          Owned<CublasLtLayout> layout)
      : lib_(lib), context_(std::move(context)), product_(std::move(product)), layout_(std::move(layout)) {}

  // Two factors, their product, and behind them the workspace.
  std::byte* matrix(size_t i) const {
    return static_cast<std::byte*>(memory_.data()) + i * matrix_bytes(rows_);
  }

  const CublasLt& lib_;
  Owned<CublasLtContext> context_;
  Owned<CublasLtProduct> product_;
  Owned<CublasLtLayout> layout_;  // of all three
  Buffer memory_;
  int64_t rows_ = 0;
  double last_ = 0;  // what the last element of the product should be
};

}  // namespace

Result<MatrixPeak> measure_matrix_peak(cudaStream_t stream) {
  TRY_ASSIGN(const CublasLt lib, load_cublas_lt());
  TRY_ASSIGN(const int64_t rows, rows_that_fit());
  TRY_ASSIGN(Product product, Product::create(lib, rows));
  TRY(product.fill(stream));
  TRY_ASSIGN(const std::vector<CublasLtChoice> algorithms, product.algorithms());
  PassTimes fastest;
  for (const CublasLtChoice& algorithm : algorithms) {
    TRY(product.put(algorithm, stream));  // not timed: what is used for the first time may be loaded then
    TRY(check(kDoing, cudaStreamSynchronize(stream)));
    TRY_ASSIGN(const PassTimes times,
               time_passes(
                   kDoing, stream, [&] { return product.put(algorithm, stream); }, kMostMs));
    TRY(product.check_last(stream));
    if (fastest.shortest_ms == 0 || times.shortest_ms < fastest.shortest_ms) fastest = times;
  }
  const auto gflop_per_s = [&](double ms) {
    return ms > 0 ? 2e-6 * std::pow(static_cast<double>(rows), 3) / ms : 0.0;
  };
  return MatrixPeak{gflop_per_s(fastest.shortest_ms), gflop_per_s(fastest.median_ms), rows};
}

}  // namespace inferno::backend::cuda
