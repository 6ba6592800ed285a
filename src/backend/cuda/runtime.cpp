#include "backend/cuda/runtime.h"

namespace inferno::backend::cuda {

Error runtime_error(std::string_view doing, cudaError_t error) {
  static_cast<void>(cudaGetLastError());  // it is reported here, and not as some launch's
  return make_error(ErrorCode::kRuntime,
                    "--backend cuda: {} failed: {} ({}); a device that has failed once needs a new start of "
                    "the program, and --backend parallel needs none",
                    doing, cudaGetErrorString(error), cudaGetErrorName(error));
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
