// How fast the device multiplies matrices is measured with a library that may be there.
#include "backend/cuda/matrix_peak.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/backend.h"
#include "backend/cuda/device_memory.h"
#include "emulated_cuda/fake_cublas_lt.h"
#include "emulated_cuda/faults.h"
#include "support/run_program.h"

namespace inferno {
namespace {

using backend::cuda::MatrixPeak;

constexpr size_t kMemory = size_t{4} << 20;

class EmulatedCudaMatrixPeak : public testing::Test {
 protected:
  void SetUp() override {
    setenv("EMULATED_CUDA_LIBRARIES", FAKE_CUDA_LIBRARIES, 1);
    emulated_cuda::start_device({.memory_bytes = kMemory});
  }
  void TearDown() override {
    unsetenv("EMULATED_CUDA_LIBRARIES");
    unsetenv("FAKE_CUBLAS_LT_FAULT");
    emulated_cuda::start_device();
  }

  static int objects() {
    void* const library = dlopen("libcublasLt.so.13", RTLD_LAZY);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<decltype(fake_cublas_lt_objects)*>(dlsym(library, "fake_cublas_lt_objects"))();
  }
  static std::string why_not(const char* fault) {
    setenv("FAKE_CUBLAS_LT_FAULT", fault, 1);
    const Result<MatrixPeak> peak = backend::cuda::measure_matrix_peak(nullptr);
    EXPECT_EQ(objects(), 0) << fault;
    EXPECT_EQ(backend::cuda::free_bytes(), kMemory) << fault;
    EXPECT_EQ(emulated_cuda::diagnosis(), "");
    if (peak) return "it was measured";
    EXPECT_EQ(peak.error().code, ErrorCode::kRuntime);
    return peak.error().message;
  }
};

TEST_F(EmulatedCudaMatrixPeak, IsMeasuredAndGivesBackWhatItTook) {
  const Result<MatrixPeak> peak = backend::cuda::measure_matrix_peak(nullptr);
  ASSERT_TRUE(peak.ok()) << peak.error().message;
  EXPECT_GT(peak->best_gflop_per_s, 0);
  EXPECT_GT(peak->typical_gflop_per_s, 0);
  EXPECT_LE(peak->steadiness(), 1);
  EXPECT_EQ(peak->rows, 512) << "2 MiB of 4 are those of three matrices and of the workspace";
  EXPECT_GT(emulated_cuda::launch_count(), 0);
  EXPECT_EQ(emulated_cuda::diagnosis(), "");
  EXPECT_EQ(objects(), 0);
  EXPECT_EQ(backend::cuda::free_bytes(), kMemory);
}

TEST_F(EmulatedCudaMatrixPeak, SaysWhatTheLibraryRefuses) {
  for (const char* function :
       {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatrixLayoutCreate",
        "cublasLtMatmulPreferenceCreate", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) {
    EXPECT_EQ(why_not(function),
              fmt::format("measuring the matrix peak: {} failed: not supported", function));
  }
}

TEST_F(EmulatedCudaMatrixPeak, OfWrongProductsIsNone) {
  EXPECT_TRUE(test::contains(why_not("wrong"), "expected cuBLASLt to compute 17")) << why_not("wrong");
}

TEST_F(EmulatedCudaMatrixPeak, NeedsSomeMemoryAndTheLibrary) {
  emulated_cuda::start_device({.memory_bytes = size_t{256} << 10});
  const Result<MatrixPeak> small = backend::cuda::measure_matrix_peak(nullptr);
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().code, ErrorCode::kResource) << small.error().message;
  unsetenv("EMULATED_CUDA_LIBRARIES");
  const Result<MatrixPeak> without = backend::cuda::measure_matrix_peak(nullptr);
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(test::contains(without.error().message, "libcublasLt.so.13: cannot open shared object file"))
      << without.error().message;
}

TEST_F(EmulatedCudaMatrixPeak, IsAmongTheBackendsCeilings) {
  const auto backend = *backend::create_backend("cuda");
  const auto ceilings = backend->measure_ceilings({});
  ASSERT_TRUE(ceilings.ok()) << ceilings.error().message;
  ASSERT_EQ(ceilings->peaks.size(), 1u);
  EXPECT_EQ(ceilings->peaks[0].isa, "sm_90");
  EXPECT_GT(ceilings->peak("bf16", 1), 0);
}

}  // namespace
}  // namespace inferno
