// A libcublasLt.so for the emulated device: takes one kind of product, that of square matrices of BF16, the
// first one transposed, and refuses every other. It computes the diagonal, and writes the rest of the result
// and its workspace, so that memory which it was not given is missed. $FAKE_CUBLAS_LT_FAULT is the name of a
// function that is to refuse, or "wrong" for products that are.
#include "emulated_cuda/fake_cublas_lt.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "backend/cuda/cublas_lt.h"
#include "tensor/half.h"

using namespace inferno::backend::cuda;  // NOLINT: what follows has the names of NVIDIA's

namespace inferno::backend::cuda {

struct CublasLtContext {};
struct CublasLtProduct {
  bool in_f32;
  int32_t transpose_a;
};
struct CublasLtLayout {
  bool bf16;
  uint64_t rows, cols;
  int64_t stride;
};
struct CublasLtPreference {
  uint64_t most_workspace;
};

}  // namespace inferno::backend::cuda

namespace {

constexpr int32_t kInvalidValue = 7;   // CUBLAS_STATUS_INVALID_VALUE
constexpr int32_t kNotSupported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED
constexpr uint64_t kAlgorithm = 0x616c676f;
constexpr int kAlgorithms = 2;

decltype(&emulated_launch) launch = nullptr;
int objects = 0;

bool has_fault(std::string_view name) {
  const char* fault = std::getenv("FAKE_CUBLAS_LT_FAULT");
  return fault != nullptr && fault == name;
}

template <class T>
int32_t create(const char* function, T** object, T value) {
  if (has_fault(function)) return kNotSupported;
  *object = new T(value);
  ++objects;
  return kCublasSuccess;
}

template <class T>
int32_t destroy(T* object) {
  delete object;
  --objects;
  return kCublasSuccess;
}

template <class T>
int32_t set(T& attribute, const void* value, size_t bytes) {
  if (bytes != sizeof attribute) return kInvalidValue;
  std::memcpy(&attribute, value, bytes);
  return kCublasSuccess;
}

bool is_taken(const CublasLtProduct& product, const CublasLtLayout& layout) {
  return product.in_f32 && product.transpose_a == kCublasTransposed && layout.bf16 &&
         layout.rows == layout.cols && layout.rows == static_cast<uint64_t>(layout.stride);
}

void multiply(const uint16_t* a, const uint16_t* b, uint16_t* d, uint64_t n) {
  std::memset(d, 0, n * n * sizeof *d);
  for (uint64_t column = 0; column < n; ++column) {
    float sum = 0;
    for (uint64_t i = column * n; i < (column + 1) * n; ++i)
      sum += inferno::bf16_to_f32(a[i]) * inferno::bf16_to_f32(b[i]);
    d[column * n + column] = inferno::f32_to_bf16(sum);
  }
}

}  // namespace

extern "C" {

void fake_cublas_lt_connect(decltype(&emulated_launch) launch_kernel) {
  launch = launch_kernel;
}

int fake_cublas_lt_objects() {
  return objects;
}

const char* cublasLtGetStatusString(int32_t status) {
  return status == kNotSupported ? "not supported" : "invalid value";
}

int32_t cublasLtCreate(CublasLtContext** context) {
  return create(__func__, context, {});
}
int32_t cublasLtDestroy(CublasLtContext* context) {
  return destroy(context);
}

int32_t cublasLtMatmulDescCreate(CublasLtProduct** product, int32_t compute_type, int32_t scale_type) {
  return create(__func__, product, {compute_type == kCublasComputeF32 && scale_type == kCudaF32, 0});
}
int32_t cublasLtMatmulDescDestroy(CublasLtProduct* product) {
  return destroy(product);
}
int32_t cublasLtMatmulDescSetAttribute(CublasLtProduct* product, int32_t attribute, const void* value,
                                       size_t bytes) {
  return attribute == kCublasLtTransposeA ? set(product->transpose_a, value, bytes) : kInvalidValue;
}

int32_t cublasLtMatrixLayoutCreate(CublasLtLayout** layout, int32_t type, uint64_t rows, uint64_t cols,
                                   int64_t stride) {
  return create(__func__, layout, {type == kCudaBf16, rows, cols, stride});
}
int32_t cublasLtMatrixLayoutDestroy(CublasLtLayout* layout) {
  return destroy(layout);
}

int32_t cublasLtMatmulPreferenceCreate(CublasLtPreference** preference) {
  return create(__func__, preference, {0});
}
int32_t cublasLtMatmulPreferenceDestroy(CublasLtPreference* preference) {
  return destroy(preference);
}
int32_t cublasLtMatmulPreferenceSetAttribute(CublasLtPreference* preference, int32_t attribute,
                                             const void* value, size_t bytes) {
  return attribute == kCublasLtMostWorkspace ? set(preference->most_workspace, value, bytes) : kInvalidValue;
}

// Some that it takes, and between them one that it does not.
int32_t cublasLtMatmulAlgoGetHeuristic(CublasLtContext*, CublasLtProduct* product, CublasLtLayout* a,
                                       CublasLtLayout* b, CublasLtLayout* c, CublasLtLayout* d,
                                       CublasLtPreference* preference, int n_asked, CublasLtChoice* choices,
                                       int* n_found) {
  for (const CublasLtLayout* layout : {a, b, c, d})
    if (!is_taken(*product, *layout)) return kInvalidValue;
  if (has_fault(__func__) || n_asked < kAlgorithms + 1) return kNotSupported;
  *n_found = kAlgorithms + 1;
  for (int i = 0; i < *n_found; ++i) {
    choices[i] = {};
    choices[i].status = i == 1 ? kNotSupported : kCublasSuccess;
    choices[i].algorithm[0] = i == 1 ? 0 : kAlgorithm;
    choices[i].workspace_bytes = preference->most_workspace;
    choices[i].algorithm[1] = preference->most_workspace;
  }
  return kCublasSuccess;
}

int32_t cublasLtMatmul(CublasLtContext*, CublasLtProduct* product, const void* alpha, const void* a,
                       CublasLtLayout* a_layout, const void* b, CublasLtLayout* b_layout, const void* beta,
                       const void* c, CublasLtLayout* c_layout, void* d, CublasLtLayout* d_layout,
                       const uint64_t* algorithm, void* workspace, size_t workspace_bytes, cudaStream_t) {
  for (const CublasLtLayout* layout : {a_layout, b_layout, c_layout, d_layout})
    if (!is_taken(*product, *layout)) return kInvalidValue;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0 || c != d ||
      algorithm[0] != kAlgorithm || workspace_bytes < algorithm[1])
    return kInvalidValue;
  if (has_fault(__func__)) return kNotSupported;
  const bool is_wrong = has_fault("wrong");
  const uint64_t n = a_layout->rows;
  const auto kernel = [=] {
    std::memset(workspace, 0, workspace_bytes);
    auto* const product_of = static_cast<uint16_t*>(d);
    multiply(static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), product_of, n);
    if (is_wrong) product_of[n * n - 1] = 0;
  };
  const cudaError_t error = launch(dim3(1), dim3(1), kernel,
                                   {reinterpret_cast<uintptr_t>(a), reinterpret_cast<uintptr_t>(b),
                                    reinterpret_cast<uintptr_t>(d), reinterpret_cast<uintptr_t>(workspace)});
  return error == cudaSuccess ? kCublasSuccess : kNotSupported;
}

}  // extern "C"
