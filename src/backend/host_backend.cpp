#include "backend/host_backend.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "backend/ceilings.h"
#include "backend/read_vector.h"
#include "base/memory.h"
#include "base/text.h"
#include "kernels/reference/reference.h"

namespace inferno::backend {

Result<Buffer> HostBackend::alloc(size_t bytes) {
  constexpr size_t kAlignment = 64;
  void* data = ::operator new (std::max<size_t>(bytes, 1), std::align_val_t{kAlignment}, std::nothrow);
  if (data == nullptr) {
    return make_error(ErrorCode::kResource, "out of memory: {} were asked for, {}", human_bytes(bytes),
                      memory_left_text(bytes));
  }
  return Buffer(data, bytes, [](void* p) { ::operator delete (p, std::align_val_t{kAlignment}); });
}

Status HostBackend::upload(void* device, const void* host, size_t bytes) {
  std::memcpy(device, host, bytes);
  return {};
}

Status HostBackend::download(void* host, const void* device, size_t bytes) {
  std::memcpy(host, device, bytes);
  return {};
}

Result<Ceilings> HostBackend::measure_ceilings(const CancelFn& cancelled) {
  return measure_cpu_ceilings({.cancelled = cancelled});
}

bool HostBackend::ceilings_take_seconds() const {
  const auto fresh = wants_fresh_ceilings();
  return (fresh && *fresh) || !has_cached_cpu_ceilings();
}

Result<CeilingsNow> HostBackend::measure_ceilings_now(std::span<const std::string_view> arithmetics,
                                                      uint64_t pass_bytes, const CancelFn& cancelled) {
  return measure_cpu_ceilings_now(arithmetics, pass_bytes, info().threads, cancelled);
}

void HostBackend::do_argmax(const ArgmaxArgs& a) {
  kernels::reference::argmax({a.x.as<float>(), a.y, a.x.rows(), a.x.cols()});
}

Result<Weight> HostBackend::load_vector(const WeightSource& source) {
  const Tensor& tensor = source.tensor;
  TRY_ASSIGN(Buffer buffer, alloc(static_cast<size_t>(tensor.n_elements()) * sizeof(float)));
  TRY(read_vector(source, static_cast<float*>(buffer.data())));
  const auto owner = std::make_shared<Buffer>(std::move(buffer));
  return Weight{DType::kF32, tensor.rows(), tensor.cols(), std::shared_ptr<const void>(owner, owner->data())};
}

}  // namespace inferno::backend
