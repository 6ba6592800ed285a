#include "backend/cuda/cublas_lt.h"

#include <dlfcn.h>

#include <string>

namespace inferno::backend::cuda {
namespace {

// What dlopen and dlsym have to say of what they did last.
std::string reason() {
  const char* text = dlerror();
  return text != nullptr ? text : "no reason was given";
}

// It stays in the process when it is closed: what it has registered with the driver may still be called.
void* open(const std::string& name) {
  return dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
}

template <class Function>
Status look_up(const CublasLt& lib, const char* name, Function*& function) {
  void* const found = dlsym(lib.library.get(), name);
  if (found == nullptr) return make_error(ErrorCode::kUnavailable, "cuBLASLt: {}", reason());
  function = reinterpret_cast<Function*>(found);
  return {};
}

}  // namespace

void CublasLt::Close::operator()(void* library) const {
  dlclose(library);
}

Result<CublasLt> load_cublas_lt() {
  const std::string name = "libcublasLt.so";
  CublasLt lib = {};
  lib.library.reset(open(fmt::format("{}.{}", name, CUDART_VERSION / 1000)));
  const std::string why_not = lib.library ? "" : reason();
  if (!lib.library) lib.library.reset(open(name));
  if (!lib.library) {
    return make_error(ErrorCode::kUnavailable,
                      "cuBLASLt: {}; install CUDA's package libcublas, or name its folder in LD_LIBRARY_PATH",
                      why_not);
  }
  TRY(look_up(lib, "cublasLtGetStatusString", lib.get_status_string));
  TRY(look_up(lib, "cublasLtCreate", lib.create));
  TRY(look_up(lib, "cublasLtDestroy", lib.destroy));
  TRY(look_up(lib, "cublasLtMatmulDescCreate", lib.matmul_desc_create));
  TRY(look_up(lib, "cublasLtMatmulDescDestroy", lib.matmul_desc_destroy));
  TRY(look_up(lib, "cublasLtMatmulDescSetAttribute", lib.matmul_desc_set_attribute));
  TRY(look_up(lib, "cublasLtMatrixLayoutCreate", lib.matrix_layout_create));
  TRY(look_up(lib, "cublasLtMatrixLayoutDestroy", lib.matrix_layout_destroy));
  TRY(look_up(lib, "cublasLtMatmulPreferenceCreate", lib.preference_create));
  TRY(look_up(lib, "cublasLtMatmulPreferenceDestroy", lib.preference_destroy));
  TRY(look_up(lib, "cublasLtMatmulPreferenceSetAttribute", lib.preference_set_attribute));
  TRY(look_up(lib, "cublasLtMatmulAlgoGetHeuristic", lib.algo_get_heuristic));
  TRY(look_up(lib, "cublasLtMatmul", lib.matmul));
  return lib;
}

}  // namespace inferno::backend::cuda
