#include "backend/cuda/runtime.h"

namespace inferno::backend::cuda {
namespace {

// After which "any further CUDA work will return the same error" and "the process must be terminated and
// relaunched" (cudaError_t in the CUDA Runtime API).
bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorMpsClientTerminated:
#if CUDART_VERSION >= 13000
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice:
#endif
      return true;
    default:
      return false;
  }
}

}  // namespace

Error runtime_error(std::string_view doing, cudaError_t error) {
  static_cast<void>(cudaGetLastError());  // it is reported here, and not as some launch's
  return make_error(ErrorCode::kRuntime, "--backend cuda: {} failed: {} ({}); {}", doing,
                    cudaGetErrorString(error), cudaGetErrorName(error),
                    is_sticky(error)
                        ? "the device takes no more work of this process: start the program anew, or take "
                          "--backend parallel"
                        : "look at nvidia-smi, or take --backend parallel");
}

Result<OwnedStream> make_stream() {
  cudaStream_t stream = nullptr;
  TRY(check("making a stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
  return OwnedStream(stream);
}

Result<OwnedEvent> make_event() {
  cudaEvent_t event = nullptr;
  TRY(check("making an event", cudaEventCreate(&event)));
  return OwnedEvent(event);
}

}  // namespace inferno::backend::cuda
