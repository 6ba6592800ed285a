#include "model/check_tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "kernels/reference/reference.h"

namespace inferno::model {
namespace {

constexpr size_t kPiece = 1024;  // elements expanded at once: a multiple of every block

struct NotFinite {
  int64_t first;
  int64_t count;
};

std::optional<NotFinite> find_not_finite(const Tensor& tensor) {
  std::array<float, kPiece> values;
  NotFinite found{0, 0};
  const int64_t n = tensor.n_elements();
  for (int64_t done = 0; done < n; done += static_cast<int64_t>(kPiece)) {
    const int64_t now = std::min<int64_t>(static_cast<int64_t>(kPiece), n - done);
    const auto* from = tensor.as<const std::byte>() + row_bytes(tensor.dtype, static_cast<size_t>(done));
    kernels::reference::dequantize(tensor.dtype, from, values.data(), now);
    for (int64_t i = 0; i < now; ++i) {
      if (std::isfinite(values[static_cast<size_t>(i)])) continue;
      if (found.count++ == 0) found.first = done + i;
    }
  }
  return found.count > 0 ? std::optional(found) : std::nullopt;
}

}  // namespace

Status check_tensors(const gguf::File& file, const ProgressFn& progress) {
  uint64_t total = 0;
  uint64_t done = 0;
  for (const gguf::TensorInfo& info : file.tensors()) total += info.tensor.bytes();
  for (const gguf::TensorInfo& info : file.tensors()) {
    if (traits(info.tensor.dtype).is_weight) {
      if (const auto found = find_not_finite(info.tensor)) {
        return make_error(
            ErrorCode::kInvalidFile,
            "{}: tensor {} (data at byte {}): expected finite numbers, found {} of {} elements that are "
            "not, the first at {}",
            escaped(file.path(), 4096), quote(info.name), info.file_offset, found->count,
            info.tensor.n_elements(), found->first);
      }
    }
    done += info.tensor.bytes();
    if (progress) progress("checking", done, total);
  }
  return {};
}

}  // namespace inferno::model
