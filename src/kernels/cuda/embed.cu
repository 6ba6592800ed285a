#include "kernels/cuda/device/formats.h"
#include "kernels/cuda/device/launch_kernel.h"

namespace inferno::kernels::cuda {
namespace {

template <class Format>
__global__ void embed_kernel(EmbedParams p) {
  const int64_t i = thread_number();
  if (i >= p.n * p.dim) return;
  const auto* row = static_cast<const typename Format::Block*>(p.table) +
                    static_cast<int64_t>(p.ids[i / p.dim]) * (p.dim / Format::kElems);
  p.y[i] = Format::at(row, i % p.dim) * p.scale;
}

}  // namespace

void embed(const EmbedParams& p, Stream stream) {
  with_format(p.dtype,
              [&](auto format) { launch_for_each(p.n * p.dim, embed_kernel<decltype(format)>, stream, p); });
}

}  // namespace inferno::kernels::cuda
