#include "quantize/quantize_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/text.h"
#include "base/thread_pool.h"
#include "gguf/limits.h"
#include "gguf/split.h"
#include "gguf/writer.h"
#include "kernels/reference/reference.h"
#include "quantize/quantize_row.h"
#include "tensor/quant_blocks.h"

namespace inferno::quantize {
namespace {

constexpr std::string_view kFileTypeKey = "general.file_type";
constexpr std::string_view kVersionKey = "general.quantization_version";
constexpr uint32_t kQuantizationVersion = 2;

bool is_quantized(DType dtype) {
  return traits(dtype).block_elems > 1;
}

// The largest weight that a format holds.
float largest_weight(DType dtype) {
  const bool wide = dtype == DType::kF32 || dtype == DType::kBF16;
  return wide ? std::numeric_limits<float>::max() : 65504.0f;
}

// Renaming onto a file that is still being read would lose the original.
Status check_not_a_source(const gguf::File& file, const std::string& path) {
  std::vector<std::string> sources = {file.path()};
  if (auto shard = gguf::parse_shard_name(file.path()); shard && file.n_shards() > 1) {
    for (shard->number = 2; shard->number <= shard->count; ++shard->number) {
      sources.push_back(gguf::shard_path(*shard));
    }
  }
  for (const std::string& source : sources) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(source, path, ignored)) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: expected another file than the one that is read; the original would be lost",
                      escaped(path, 4096));
  }
  return {};
}

class Quantization {
 public:
  Quantization(const gguf::File& file, const FileType& file_type, const Options& options)
      : file_(file),
        options_(options),
        pool_(options.n_threads),
        writer_(static_cast<uint32_t>(file.alignment())) {
    const std::vector<DType> types = tensor_types(file, file_type);
    report_.bytes_before = file.file_bytes();
    report_.tensors.reserve(types.size());
    for (size_t i = 0; i < types.size(); ++i) add_tensor(file.tensors()[i], types[i]);
    add_metadata(file_type);
  }
  Quantization(const Quantization&) = delete;
  Quantization& operator=(const Quantization&) = delete;

  uint64_t file_bytes() const { return writer_.total_bytes(); }

  Result<Report> save(const std::string& path) {
    TRY(writer_.save(path));
    report_.bytes_after = writer_.total_bytes();
    return std::move(report_);
  }

 private:
  void add_tensor(const gguf::TensorInfo& info, DType wanted) {
    const Tensor& tensor = info.tensor;
    const auto shape = std::span(tensor.shape).first(static_cast<size_t>(tensor.n_dims));
    const DType to = tensor.dtype == wanted ? wanted : storage_type(wanted, tensor.cols());
    QuantizedTensor& entry =
        report_.tensors.emplace_back(QuantizedTensor{std::string(info.name),
                                                     {shape.begin(), shape.end()},
                                                     tensor.dtype,
                                                     to,
                                                     wanted,
                                                     static_cast<uint64_t>(tensor.n_elements()),
                                                     tensor.bytes(),
                                                     0,
                                                     {}});
    entry.bytes_after = row_bytes(to, entry.n_elements);
    total_bytes_ += tensor.bytes();
    writer_.add_tensor(info.name, to, shape, [this, &info, &entry](uint64_t first, std::span<std::byte> out) {
      return convert(info, entry, first, out);
    });
  }

  void add_metadata(const FileType& file_type) {
    const bool has_blocks =
        std::any_of(report_.tensors.begin(), report_.tensors.end(),
                    [](const QuantizedTensor& tensor) { return is_quantized(tensor.to); });
    for (const auto& [key, value] : file_.metadata()) {
      if (key == kFileTypeKey) {
        writer_.add(key, file_type.id);
      } else if (key == kVersionKey) {
        if (has_blocks) writer_.add(key, kQuantizationVersion);
      } else if (key != gguf::kAlignmentKey && !key.starts_with("split.")) {
        writer_.add(key, value);
      }
    }
    if (file_.find(kFileTypeKey) == nullptr) writer_.add(kFileTypeKey, file_type.id);
    if (has_blocks && file_.find(kVersionKey) == nullptr) writer_.add(kVersionKey, kQuantizationVersion);
  }

  // A window of a tensor, in pieces on all threads.
  Status convert(const gguf::TensorInfo& info, QuantizedTensor& entry, uint64_t first_element,
                 std::span<std::byte> out) {
    if (options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed)) {
      return Error{ErrorCode::kCancelled, "cancelled"};
    }
    const DTypeTraits& to = traits(entry.to);
    const size_t n = out.size() / to.block_bytes * to.block_elems;
    const std::byte* const from = info.tensor.as<const std::byte>() + row_bytes(entry.from, first_element);
    if (!traits(entry.from).is_weight) {
      std::memcpy(out.data(), from, out.size());
    } else {
      std::vector<Piece> pieces((n + kPieceElements - 1) / kPieceElements);
      pool_.parallel_for(pieces.size(), [&](size_t i) {
        const size_t begin = i * kPieceElements;
        const size_t count = std::min(kPieceElements, n - begin);
        pieces[i] = convert_piece(entry, from + row_bytes(entry.from, begin),
                                  out.data() + row_bytes(entry.to, begin), count);
        if (pieces[i].bad) *pieces[i].bad += first_element + begin;
      });
      // In order, so that the sums are the same with any number of threads.
      for (const Piece& piece : pieces) {
        if (piece.bad) return bad_weight(info, entry, *piece.bad, piece.bad_value);
        entry.distance += piece.distance;
      }
    }
    done_bytes_ += row_bytes(entry.from, n);
    if (options_.progress) options_.progress("quantizing", done_bytes_, total_bytes_);
    return {};
  }

  struct Piece {
    Distance distance;
    std::optional<uint64_t> bad;  // the first element that cannot be stored
    float bad_value = 0;
  };
  static constexpr size_t kPieceElements = size_t{1} << 14;
  static_assert(kPieceElements % kSuperBlock == 0);

  static Piece convert_piece(const QuantizedTensor& entry, const std::byte* from, std::byte* to, size_t n) {
    const auto count = static_cast<int64_t>(n);
    std::vector<float> source(n), stored(n);
    kernels::reference::dequantize(entry.from, from, source.data(), count);
    Piece piece;
    const float largest =
        entry.from == entry.to ? std::numeric_limits<float>::max() : largest_weight(entry.to);
    const auto reject = [&](size_t i) {
      piece.bad = i;
      piece.bad_value = source[i];
      return piece;
    };
    for (size_t i = 0; i < n; ++i) {
      if (!(std::fabs(source[i]) <= largest)) return reject(i);
    }
    if (entry.from == entry.to) {
      std::memcpy(to, from, row_bytes(entry.to, n));
      stored = source;
    } else {
      find_quantize(entry.to)(source.data(), to, count);
      kernels::reference::dequantize(entry.to, to, stored.data(), count);
    }
    for (size_t i = 0; i < n; ++i) {
      if (!std::isfinite(stored[i])) return reject(i);
      const double error = double{stored[i]} - double{source[i]};
      piece.distance += {error * error, double{source[i]} * double{source[i]}};
    }
    return piece;
  }

  Error bad_weight(const gguf::TensorInfo& info, const QuantizedTensor& entry, uint64_t element,
                   float value) const {
    const std::string expected = std::isfinite(value) ? fmt::format("weights that {} can hold, up to {}",
                                                                    name(entry.to), largest_weight(entry.to))
                                                      : "finite weights";
    return make_error(
        ErrorCode::kInvalidFile, "{}: tensor {} (data at byte {}): expected {}, element {} is {}",
        escaped(file_.path(), 4096), quote(info.name), info.file_offset, expected, element, value);
  }

  const gguf::File& file_;
  const Options& options_;
  ThreadPool pool_;
  gguf::Writer writer_;
  Report report_;
  uint64_t total_bytes_ = 0;  // of the source's tensors
  uint64_t done_bytes_ = 0;
};

}  // namespace

double Distance::relative_rmse() const {
  return source > 0 ? std::sqrt(error / source) : 0.0;
}

Distance& Distance::operator+=(const Distance& other) {
  error += other.error;
  source += other.source;
  return *this;
}

uint64_t quantized_bytes(const gguf::File& file, const FileType& file_type) {
  const Options one_thread{.n_threads = 1, .progress = {}, .cancelled = nullptr};
  return Quantization(file, file_type, one_thread).file_bytes();
}

Result<Report> quantize_file(const gguf::File& file, const FileType& file_type, const std::string& path,
                             const Options& options) {
  TRY(check_not_a_source(file, path));
  return Quantization(file, file_type, options).save(path);
}

}  // namespace inferno::quantize
