#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "cuda_runtime.h"
#include "emulated_cuda/fake_cublas_lt.h"

#undef dlopen

void* emulated_dlopen(const char* name, int flags) {
  const char* folder = std::getenv("EMULATED_CUDA_LIBRARIES");
  const std::string path = std::string(folder != nullptr ? folder : "emulated") + "/" + name;
  void* const library = dlopen(path.c_str(), flags);
  if (library == nullptr) return nullptr;
  if (void* const connect = dlsym(library, "fake_cublas_lt_connect"))
    reinterpret_cast<decltype(fake_cublas_lt_connect)*>(connect)(&emulated_launch);
  return library;
}
