// What the CUDA backend's files share of the runtime: its errors as ours, and owners of its objects.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace inferno::backend::cuda {

// kRuntime: what failed, in the runtime's words, and what to do. `doing` begins the sentence: "copying to the
// device".
Error runtime_error(std::string_view doing, cudaError_t error);

inline Status check(std::string_view doing, cudaError_t error) {
  if (error == cudaSuccess) return {};
  return runtime_error(doing, error);
}

template <auto kDestroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const {
    static_cast<void>(kDestroy(object));
  }
};
using OwnedStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStreamDestroy>>;
using OwnedEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEventDestroy>>;
using PinnedMemory = std::unique_ptr<void, Destroy<cudaFreeHost>>;

Result<OwnedStream> make_stream();
Result<OwnedEvent> make_event();

}  // namespace inferno::backend::cuda
