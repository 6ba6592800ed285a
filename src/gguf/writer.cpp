#include "gguf/writer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/checked_math.h"
#include "gguf/limits.h"

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
  CHECK(bytes == data.size(), "tensor \"{}\": {} bytes of data, its shape needs {}", name, data.size(),
        bytes.value_or(0));
  tensors_.push_back({std::string(name), dtype, dims, data});
}

std::vector<std::byte> Writer::header() const {
  const bool states_alignment = alignment_ != kDefaultAlignment;
  std::vector<std::byte> out;
  append_bytes(out, std::as_bytes(std::span("GGUF", 4)));
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
    offset = align_up(offset + tensor.data.size(), alignment_);
  }
  out.resize(align_up(out.size(), alignment_));
  return out;
}

Status Writer::emit(const AppendFn& append) const {
  TRY(append(header()));
  const std::vector<std::byte> zeros(alignment_);
  for (const PendingTensor& tensor : tensors_) {
    TRY(append(tensor.data));
    const uint64_t padding = align_up(tensor.data.size(), alignment_) - tensor.data.size();
    TRY(append(std::span(zeros).first(padding)));
  }
  return {};
}

std::vector<std::byte> Writer::bytes() const {
  std::vector<std::byte> out;
  const Status status = emit([&](std::span<const std::byte> bytes) -> Status {
    append_bytes(out, bytes);
    return {};
  });
  CHECK(status.ok(), "appending to memory failed");
  return out;
}

Status Writer::save(const std::string& path) const {
  return write_file_atomically(path, [this](const AppendFn& append) { return emit(append); });
}

}  // namespace inferno::gguf
