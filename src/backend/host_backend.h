// What the backends that compute on the CPU share: memory, vectors, ceilings.
#pragma once

#include "backend/backend.h"

namespace inferno::backend {

class HostBackend : public Backend {
 public:
  // 64-byte aligned, uninitialized.
  Result<Buffer> alloc(size_t bytes) override;
  Status upload(void* device, const void* host, size_t bytes) override;
  Status download(void* host, const void* device, size_t bytes) override;
  const void* host_view(const void* device) const override { return device; }
  // Of all CPUs that this process may use, however many threads the backend uses.
  Result<Ceilings> measure_ceilings(const CancelFn& cancelled) override;
  bool ceilings_take_seconds() const override;
  Result<CeilingsNow> measure_ceilings_now(std::span<const std::string_view> arithmetics, uint64_t pass_bytes,
                                           const CancelFn& cancelled) override;

 protected:
  // No step takes it: whoever reads logits where they lie sees the highest on the way.
  void do_argmax(const ArgmaxArgs& a) override;

  // A norm or bias in F32.
  Result<Weight> load_vector(const WeightSource& source);
};

// What load_vector() has loaded.
inline const float* vector_of(const Weight& w) {
  return static_cast<const float*>(w.data.get());
}

}  // namespace inferno::backend
