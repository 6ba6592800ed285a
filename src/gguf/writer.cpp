#include "gguf/writer.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/memory.h"
#include "base/text.h"
#include "gguf/limits.h"
#include "tensor/quant_blocks.h"

namespace inferno::gguf {
namespace {

constexpr uint32_t kVersion = 3;

void append_bytes(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  const size_t end = out.size();
  out.resize(end + bytes.size());
  if (!bytes.empty()) std::memcpy(out.data() + end, bytes.data(), bytes.size());
}

template <class T>
void append_number(std::vector<std::byte>& out, T number) {
  append_bytes(out, std::as_bytes(std::span(&number, 1)));
}

void append_string(std::vector<std::byte>& out, std::string_view text) {
  CHECK(text.size() <= kMaxStringBytes, "a string of {} bytes, the limit is {}", text.size(),
        kMaxStringBytes);
  append_number<uint64_t>(out, text.size());
  append_bytes(out, std::as_bytes(std::span(text)));
}

uint64_t align_up(uint64_t value, uint64_t alignment) {
  const auto aligned = checked_align_up(value, alignment);
  CHECK(aligned.has_value(), "{} bytes cannot be aligned to {}", value, alignment);
  return *aligned;
}

uint64_t add_size(uint64_t a, uint64_t b) {
  const auto sum = checked_add(a, b);
  CHECK(sum.has_value(), "{} + {} bytes do not fit 64 bits", a, b);
  return *sum;
}

// Calls visit(first element, offset in bytes, bytes) for one window after the other of a tensor's data, until
// one fails.
template <class Visit>
Status for_each_window(DType dtype, uint64_t tensor_bytes, Visit&& visit) {
  constexpr size_t kWindowElements = size_t{1} << 22;  // large enough for many threads to work on
  static_assert(kWindowElements % kSuperBlock == 0);
  const uint64_t window_bytes = row_bytes(dtype, kWindowElements);
  uint64_t first_element = 0;
  for (uint64_t offset = 0; offset < tensor_bytes; offset += window_bytes) {
    TRY(visit(first_element, offset, std::min(window_bytes, tensor_bytes - offset)));
    first_element += kWindowElements;
  }
  return {};
}

}  // namespace

Writer::Writer(uint32_t alignment) : alignment_(alignment) {
  CHECK(is_valid_alignment(alignment), "alignment {}", alignment);
}

void Writer::begin_value(std::string_view key, ValueType type) {
  const std::string problem = key_problem(key);
  CHECK(problem.empty(), "the metadata key \"{}\" {}", key, problem);
  CHECK(key != kAlignmentKey, "the alignment is set by the constructor");
  CHECK(keys_.emplace(key).second, "the metadata key \"{}\" is added twice", key);
  CHECK(n_keys_ < kMaxKeys, "more than {} metadata keys", kMaxKeys);
  ++n_keys_;
  append_string(metadata_, key);
  append_number(metadata_, static_cast<uint32_t>(type));
}

void Writer::begin_array(std::string_view key, ValueType element_type, uint64_t count) {
  CHECK(count <= kMaxArrayElements, "the array \"{}\" has {} elements, the limit is {}", key, count,
        kMaxArrayElements);
  begin_value(key, ValueType::kArray);
  append_number(metadata_, static_cast<uint32_t>(element_type));
  append_number(metadata_, count);
}

template <class T>
void Writer::add_scalar(std::string_view key, ValueType type, T value) {
  begin_value(key, type);
  append_number(metadata_, value);
}

template <class T>
void Writer::add_array(std::string_view key, ValueType element_type, std::span<const T> values) {
  begin_array(key, element_type, values.size());
  append_bytes(metadata_, std::as_bytes(values));
}

void Writer::add(std::string_view key, std::string_view value) {
  begin_value(key, ValueType::kString);
  append_string(metadata_, value);
}

void Writer::add(std::string_view key, bool value) {
  add_scalar(key, ValueType::kBool, static_cast<uint8_t>(value));
}

void Writer::add(std::string_view key, uint32_t value) {
  add_scalar(key, ValueType::kUint32, value);
}

void Writer::add(std::string_view key, int32_t value) {
  add_scalar(key, ValueType::kInt32, value);
}

void Writer::add(std::string_view key, uint64_t value) {
  add_scalar(key, ValueType::kUint64, value);
}

void Writer::add(std::string_view key, float value) {
  add_scalar(key, ValueType::kFloat32, value);
}

void Writer::add(std::string_view key, double value) {
  add_scalar(key, ValueType::kFloat64, value);
}

void Writer::add(std::string_view key, std::span<const std::string> values) {
  begin_array(key, ValueType::kString, values.size());
  for (const std::string& value : values) append_string(metadata_, value);
}

void Writer::add(std::string_view key, std::span<const float> values) {
  add_array(key, ValueType::kFloat32, values);
}

void Writer::add(std::string_view key, std::span<const int32_t> values) {
  add_array(key, ValueType::kInt32, values);
}

void Writer::add(std::string_view key, std::span<const uint32_t> values) {
  add_array(key, ValueType::kUint32, values);
}

void Writer::add(std::string_view key, const Value& value) {
  if (value.type == ValueType::kArray) {
    begin_array(key, value.element_type, value.count);
  } else {
    begin_value(key, value.type);
  }
  append_bytes(metadata_, value.payload);
}

void Writer::add_tensor(std::string_view name, DType dtype, std::span<const int64_t> shape,
                        std::span<const std::byte> data) {
  const DTypeTraits& dtype_traits = traits(dtype);
  add_tensor(name, dtype, shape, [data, &dtype_traits](uint64_t first_element, std::span<std::byte> out) {
    const uint64_t begin = first_element / dtype_traits.block_elems * dtype_traits.block_bytes;
    std::memcpy(out.data(), data.data() + begin, out.size());
    return Status();
  });
  const uint64_t bytes = tensors_.back().bytes;
  CHECK(bytes == data.size(), "tensor \"{}\": {} bytes of data, its shape needs {}", name, data.size(),
        bytes);
}

void Writer::add_tensor(std::string_view name, DType dtype, std::span<const int64_t> shape,
                        TensorSource source) {
  const std::string problem = tensor_name_problem(name);
  CHECK(problem.empty(), "the tensor name \"{}\" {}", name, problem);
  CHECK(tensor_names_.emplace(name).second, "the tensor \"{}\" is added twice", name);
  CHECK(tensors_.size() < kMaxTensors, "more than {} tensors", kMaxTensors);
  CHECK(!shape.empty() && shape.size() <= kMaxDims, "tensor \"{}\" has {} dimensions", name, shape.size());
  CHECK(*std::min_element(shape.begin(), shape.end()) > 0, "tensor \"{}\" has a dimension below 1", name);
  const std::vector<uint64_t> dims(shape.rbegin(), shape.rend());
  const DTypeTraits& dtype_traits = traits(dtype);
  CHECK(dims[0] % dtype_traits.block_elems == 0,
        "tensor \"{}\": rows of {} elements are no whole blocks of {}", name, dims[0], dtype_traits.name);
  const auto bytes = tensor_bytes(dtype_traits, dims);
  CHECK(bytes.has_value(), "tensor \"{}\": its size does not fit 63 bits", name);
  tensors_.push_back({std::string(name), dtype, dims, *bytes, std::move(source)});
}

std::vector<std::byte> Writer::header() const {
  const bool states_alignment = alignment_ != kDefaultAlignment;
  std::vector<std::byte> out;
  append_bytes(out, std::as_bytes(std::span(kMagic)));
  append_number(out, kVersion);
  append_number<uint64_t>(out, tensors_.size());
  append_number<uint64_t>(out, n_keys_ + (states_alignment ? 1 : 0));
  if (states_alignment) {
    append_string(out, kAlignmentKey);
    append_number(out, static_cast<uint32_t>(ValueType::kUint32));
    append_number(out, alignment_);
  }
  append_bytes(out, metadata_);
  uint64_t offset = 0;
  for (const PendingTensor& tensor : tensors_) {
    append_string(out, tensor.name);
    append_number(out, static_cast<uint32_t>(tensor.dims.size()));
    append_bytes(out, std::as_bytes(std::span(tensor.dims)));
    append_number(out, static_cast<uint32_t>(tensor.dtype));
    append_number(out, offset);
    offset = add_size(offset, align_up(tensor.bytes, alignment_));
  }
  out.resize(align_up(out.size(), alignment_));
  return out;
}

uint64_t Writer::total_bytes() const {
  uint64_t sum = header().size();
  for (const PendingTensor& tensor : tensors_) sum = add_size(sum, align_up(tensor.bytes, alignment_));
  return sum;
}

// Through a window, so that no tensor is ever whole in memory.
Status Writer::emit(const AppendFn& append) const {
  TRY(append(header()));
  std::vector<std::byte> window;
  const std::vector<std::byte> zeros(alignment_);
  for (const PendingTensor& tensor : tensors_) {
    TRY(for_each_window(tensor.dtype, tensor.bytes, [&](uint64_t first_element, uint64_t, uint64_t bytes) {
      window.resize(bytes);
      Status made = tensor.source(first_element, window);
      return made ? append(window) : made;
    }));
    const uint64_t padding = align_up(tensor.bytes, alignment_) - tensor.bytes;
    TRY(append(std::span(zeros).first(padding)));
  }
  return {};
}

Status Writer::fill(std::span<std::byte> file) const {
  const std::vector<std::byte> front = header();
  std::memcpy(file.data(), front.data(), front.size());
  file = file.subspan(front.size());
  for (const PendingTensor& tensor : tensors_) {
    TRY(for_each_window(tensor.dtype, tensor.bytes,
                        [&](uint64_t first_element, uint64_t offset, uint64_t bytes) {
                          return tensor.source(first_element, file.subspan(offset, bytes));
                        }));
    const uint64_t end = align_up(tensor.bytes, alignment_);
    std::fill_n(file.data() + tensor.bytes, end - tensor.bytes, std::byte{0});
    file = file.subspan(end);
  }
  return {};
}

std::vector<std::byte> Writer::bytes() const {
  std::vector<std::byte> out(total_bytes());
  const Status status = fill(out);
  CHECK(status.ok(), "{}", status.error().message);
  return out;
}

Result<File> Writer::build(std::string name) const {
  constexpr std::align_val_t kAlignment{64};  // of a cache line
  const uint64_t bytes = total_bytes();
  const auto available = available_memory();
  if (available && bytes > *available) {
    return make_error(ErrorCode::kResource, "{}: needs {} of memory, {} are available",
                      escaped(name, name.size()), human_bytes(bytes), human_bytes(*available));
  }
  void* data = ::operator new(bytes, kAlignment, std::nothrow);
  if (data == nullptr) {
    return make_error(ErrorCode::kResource, "{}: out of memory: {} were asked for",
                      escaped(name, name.size()), human_bytes(bytes));
  }
  Buffer buffer(data, bytes, [](void* p) { ::operator delete(p, kAlignment); });
  TRY(fill({static_cast<std::byte*>(data), bytes}));
  return File::from_buffer(std::move(buffer), std::move(name));
}

Status Writer::save(const std::string& path) const {
  return write_file_atomically(path, [this](const AppendFn& append) { return emit(append); });
}

}  // namespace inferno::gguf
