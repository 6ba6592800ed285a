#include "backend/host_memory.h"

#include <algorithm>
#include <new>

#include "base/text.h"

namespace inferno::backend {

Result<Buffer> alloc_host(size_t bytes) {
  constexpr size_t kAlignment = 64;
  void* data = ::operator new (std::max<size_t>(bytes, 1), std::align_val_t{kAlignment}, std::nothrow);
  if (data == nullptr) {
    return make_error(ErrorCode::kResource, "out of memory: {} were asked for", human_bytes(bytes));
  }
  return Buffer(data, bytes, [](void* p) { ::operator delete (p, std::align_val_t{kAlignment}); });
}

}  // namespace inferno::backend
