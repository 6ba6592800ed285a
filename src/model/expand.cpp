#include "model/expand.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "gguf/writer.h"
#include "kernels/reference/reference.h"
#include "tensor/quant_blocks.h"

namespace inferno::model {
namespace {

// Not of the result: its alignment is the writer's, it is one file, and its type is F32.
bool is_left_out(std::string_view key) {
  return key == "general.alignment" || key == "general.file_type" || key == "general.quantization_version" ||
         key.starts_with("split.");
}

class Expansion {
 public:
  Expansion(const gguf::File& file, const ExpandOptions& options)
      : options_(options), pool_(options.n_threads) {
    for (const auto& [key, value] : file.metadata()) {
      if (!is_left_out(key)) writer_.add(key, value);
    }
    for (const gguf::TensorInfo& info : file.tensors()) add_tensor(info);
  }
  Expansion(const Expansion&) = delete;
  Expansion& operator=(const Expansion&) = delete;

  const gguf::Writer& writer() const { return writer_; }

 private:
  void add_tensor(const gguf::TensorInfo& info) {
    const Tensor& tensor = info.tensor;
    const auto shape = std::span(tensor.shape).first(static_cast<size_t>(tensor.n_dims));
    if (!traits(tensor.dtype).is_weight) {
      writer_.add_tensor(info.name, tensor.dtype, shape, {tensor.as<const std::byte>(), tensor.bytes()});
      return;
    }
    total_bytes_ += static_cast<uint64_t>(tensor.n_elements()) * sizeof(float);
    writer_.add_tensor(info.name, DType::kF32, shape,
                       [this, tensor](uint64_t first_element, std::span<std::byte> out) {
                         if (options_.cancelled && options_.cancelled())
                           return Status(Error{ErrorCode::kCancelled, "cancelled"});
                         dequantize(tensor, first_element, out);
                         return Status();
                       });
  }

  // In pieces, on all threads.
  void dequantize(const Tensor& tensor, uint64_t first_element, std::span<std::byte> out) {
    constexpr size_t kPiece = size_t{1} << 16;  // elements
    static_assert(kPiece % kSuperBlock == 0);
    const size_t n = out.size() / sizeof(float);
    auto* values = reinterpret_cast<float*>(out.data());  // tensors of a file in memory are aligned
    pool_.parallel_for((n + kPiece - 1) / kPiece, [&](size_t i) {
      const size_t begin = i * kPiece;
      kernels::reference::dequantize(
          tensor.dtype, tensor.as<const std::byte>() + row_bytes(tensor.dtype, first_element + begin),
          values + begin, static_cast<int64_t>(std::min(kPiece, n - begin)));
    });
    done_bytes_ += out.size();
    if (options_.progress) options_.progress("expanding", done_bytes_, total_bytes_);
  }

  const ExpandOptions& options_;
  ThreadPool pool_;
  gguf::Writer writer_;
  uint64_t total_bytes_ = 0;  // of all expanded tensors
  uint64_t done_bytes_ = 0;
};

}  // namespace

Result<gguf::File> expand_to_f32(const gguf::File& file, const ExpandOptions& options) {
  const Expansion expansion(file, options);
  return expansion.writer().build(file.path() + " as F32");
}

}  // namespace inferno::model
