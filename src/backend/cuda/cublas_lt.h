// What is used of NVIDIA's library of matrix products, declared here so that no build needs its header, and
// the library itself, which is looked for while the program runs. Functions, types and values are those of
// "Using the cuBLASLt API" in NVIDIA's cuBLAS documentation, alike in 11.x to 13.x; their names there stand
// beside them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"

namespace inferno::backend::cuda {

struct CublasLtContext;     // cublasLtHandle_t points to one
struct CublasLtProduct;     // cublasLtMatmulDesc_t
struct CublasLtLayout;      // cublasLtMatrixLayout_t
struct CublasLtPreference;  // cublasLtMatmulPreference_t

// cublasLtMatmulHeuristicResult_t
struct CublasLtChoice {
  uint64_t algorithm[8];  // cublasLtMatmulAlgo_t
  size_t workspace_bytes;
  int32_t status;
  float waves;
  int32_t reserved[4];
};
static_assert(sizeof(CublasLtChoice) == 96);

constexpr int32_t kCublasSuccess = 0;          // CUBLAS_STATUS_SUCCESS
constexpr int32_t kCublasComputeF32 = 68;      // CUBLAS_COMPUTE_32F
constexpr int32_t kCudaF32 = 0;                // CUDA_R_32F
constexpr int32_t kCudaBf16 = 14;              // CUDA_R_16BF
constexpr int32_t kCublasTransposed = 1;       // CUBLAS_OP_T
constexpr int32_t kCublasLtTransposeA = 3;     // CUBLASLT_MATMUL_DESC_TRANSA, an int32_t
constexpr int32_t kCublasLtMostWorkspace = 1;  // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, a uint64_t

// Its functions; those of int32_t return a cublasStatus_t.
struct CublasLt {
  struct Close {
    void operator()(void* library) const;
  };
  std::unique_ptr<void, Close> library;

  const char* (*get_status_string)(int32_t status);
  int32_t (*create)(CublasLtContext** context);
  int32_t (*destroy)(CublasLtContext* context);
  int32_t (*matmul_desc_create)(CublasLtProduct** product, int32_t compute_type, int32_t scale_type);
  int32_t (*matmul_desc_destroy)(CublasLtProduct* product);
  int32_t (*matmul_desc_set_attribute)(CublasLtProduct* product, int32_t attribute, const void* value,
                                       size_t bytes);
  int32_t (*matrix_layout_create)(CublasLtLayout** layout, int32_t type, uint64_t rows, uint64_t cols,
                                  int64_t stride);  // columns one after another, so many elements apart
  int32_t (*matrix_layout_destroy)(CublasLtLayout* layout);
  int32_t (*preference_create)(CublasLtPreference** preference);
  int32_t (*preference_destroy)(CublasLtPreference* preference);
  int32_t (*preference_set_attribute)(CublasLtPreference* preference, int32_t attribute, const void* value,
                                      size_t bytes);
  // The likely fastest first.
  int32_t (*algo_get_heuristic)(CublasLtContext* context, CublasLtProduct* product, CublasLtLayout* a,
                                CublasLtLayout* b, CublasLtLayout* c, CublasLtLayout* d,
                                CublasLtPreference* preference, int n_asked, CublasLtChoice* choices,
                                int* n_found);
  // d = alpha * a * b + beta * c
  int32_t (*matmul)(CublasLtContext* context, CublasLtProduct* product, const void* alpha, const void* a,
                    CublasLtLayout* a_layout, const void* b, CublasLtLayout* b_layout, const void* beta,
                    const void* c, CublasLtLayout* c_layout, void* d, CublasLtLayout* d_layout,
                    const uint64_t* algorithm, void* workspace, size_t workspace_bytes, cudaStream_t stream);
};

// That of the CUDA that this program was built with, or whichever bears no version. kUnavailable, with what
// to do, where there is none.
Result<CublasLt> load_cublas_lt();

}  // namespace inferno::backend::cuda
