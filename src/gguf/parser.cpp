#include "gguf/parser.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "base/checked_math.h"
#include "gguf/limits.h"
#include "gguf/lookalike.h"
#include "gguf/name_index.h"

namespace inferno::gguf {
namespace {

// The least that an entry takes in the file: key length, one byte of key, type, one byte of value …
constexpr uint64_t kMinKeyValueBytes = 8 + 1 + 4 + 1;
// … and name length, one byte of name, number of dimensions, one dimension, type, offset.
constexpr uint64_t kMinTensorInfoBytes = 8 + 1 + 4 + 8 + 4 + 8;

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes)
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", std::to_integer<unsigned>(b));
  return text;
}

}  // namespace

Result<File> Parser::parse(std::span<const std::byte> bytes, std::string name) {
  Parser parser(bytes, std::move(name));
  TRY(parser.run());
  return std::move(parser.file_);
}

Status Parser::run() {
  TRY(read_magic());
  TRY(read_version());
  TRY_ASSIGN(const uint64_t n_tensors, read<uint64_t>("the number of tensors"));
  TRY_ASSIGN(const uint64_t n_keys, read<uint64_t>("the number of metadata keys"));
  if (n_tensors > kMaxTensors) {
    return invalid(8, "tensor count is {}, expected at most {}", n_tensors, kMaxTensors);
  }
  if (n_tensors > cursor_.remaining() / kMinTensorInfoBytes) {
    return invalid(8,
                   "tensor count is {}, but the {} bytes that follow cannot hold so many (file truncated?)",
                   n_tensors, cursor_.remaining());
  }
  if (n_keys > kMaxKeys)
    return invalid(16, "metadata key count is {}, expected at most {}", n_keys, kMaxKeys);
  if (n_keys > cursor_.remaining() / kMinKeyValueBytes) {
    return invalid(
        16, "metadata key count is {}, but the {} bytes that follow cannot hold so many (file truncated?)",
        n_keys, cursor_.remaining());
  }
  TRY(read_metadata(n_keys));
  TRY(read_alignment());
  TRY(read_tensors(n_tensors));
  TRY(place_data());
  return check_overlaps();
}

Status Parser::read_magic() {
  if (bytes_.empty()) return invalid(0, "the file is empty (0 bytes), expected a GGUF model");
  const auto found = bytes_.first(std::min(bytes_.size(), kMagic.size()));
  if (kMagic.starts_with(as_text(found))) {
    TRY(take(kMagic.size(), "the magic \"GGUF\""));
    return {};
  }
  const std::string lookalike = describe_lookalike(bytes_);
  if (!lookalike.empty()) return invalid(0, "not a GGUF file; it looks like {}", lookalike);
  return invalid(0, "not a GGUF file: expected the magic \"GGUF\" (47 47 55 46), found {}", hex(found));
}

Status Parser::read_version() {
  const uint64_t at = cursor_.position();
  TRY_ASSIGN(file_.version_, read<uint32_t>("the version"));
  if (file_.version_ == 2 || file_.version_ == 3) return {};
  const uint32_t swapped = __builtin_bswap32(file_.version_);
  if (swapped >= 1 && swapped <= 3) {
    return invalid(
        at,
        "the file is big-endian (wrong endianness, version {}): convert the model again for little-endian",
        swapped);
  }
  return invalid(at, "version is {}, expected 2 or 3: {}", file_.version_,
                 file_.version_ < 2 ? "convert the model again with a current tool"
                                    : "the file is newer than this program, or damaged");
}

Status Parser::read_metadata(uint64_t n_keys) {
  // Not for all that the file says it has: memory is taken for entries that exist.
  constexpr uint64_t kUsualKeys = 64;
  file_.metadata_.reserve(std::min(n_keys, kUsualKeys));
  for (uint64_t i = 0; i < n_keys; ++i) {
    TRY_ASSIGN(File::KeyValue entry, read_key_value(i));
    file_.metadata_.push_back(entry);
  }
  item_kind_ = {};
  file_.metadata_by_key_ = sorted_by_name(file_.metadata_);
  if (const auto twice = first_duplicate(file_.metadata_, file_.metadata_by_key_)) {
    const File::KeyValue& entry = file_.metadata_[*twice];
    return invalid(entry.value.offset, "metadata key {} is there twice, expected unique keys",
                   quoted_name(entry.key));
  }
  return {};
}

Result<File::KeyValue> Parser::read_key_value(uint64_t index) {
  item_kind_ = "metadata key";
  item_index_ = index;
  item_name_ = {};
  const uint64_t at = cursor_.position();
  TRY_ASSIGN(const std::string_view key, read_string("key", kMaxKeyBytes));
  if (const std::string problem = key_problem(key); !problem.empty())
    return invalid(at, "the key {}", problem);
  item_name_ = key;
  TRY_ASSIGN(const Value value, read_value());
  return File::KeyValue{key, value};
}

Result<Value> Parser::read_value() {
  const uint64_t type_at = cursor_.position();
  TRY_ASSIGN(const uint32_t type, read<uint32_t>("value type"));
  if (type > static_cast<uint32_t>(ValueType::kFloat64)) {
    return invalid(type_at, "value type is {}, expected 0 to 12", type);
  }
  Value value;
  value.type = static_cast<ValueType>(type);
  if (value.type == ValueType::kArray) return read_array();
  value.element_type = value.type;
  value.offset = cursor_.position();
  TRY(check_elements(value));
  value.payload = bytes_.subspan(value.offset, cursor_.position() - value.offset);
  return value;
}

Result<Value> Parser::read_array() {
  const uint64_t type_at = cursor_.position();
  TRY_ASSIGN(const uint32_t type, read<uint32_t>("array element type"));
  if (type > static_cast<uint32_t>(ValueType::kFloat64)) {
    return invalid(type_at, "array element type is {}, expected 0 to 12", type);
  }
  Value value;
  value.type = ValueType::kArray;
  value.element_type = static_cast<ValueType>(type);
  if (value.element_type == ValueType::kArray) {
    return invalid(type_at,
                   "the value is an array of arrays, which is not supported; expected scalars or strings");
  }
  const uint64_t count_at = cursor_.position();
  TRY_ASSIGN(value.count, read<uint64_t>("array element count"));
  if (value.count > kMaxArrayElements) {
    return invalid(count_at, "array element count is {}, expected at most {}", value.count,
                   kMaxArrayElements);
  }
  if (value.count > cursor_.remaining() / element_bytes(value.element_type)) {
    return invalid(count_at, "array element count is {} ({}), but only {} bytes are left (file truncated?)",
                   value.count, name(value.element_type), cursor_.remaining());
  }
  value.offset = cursor_.position();
  TRY(check_elements(value));
  value.payload = bytes_.subspan(value.offset, cursor_.position() - value.offset);
  return value;
}

// Steps over value.count elements.
Status Parser::check_elements(const Value& value) {
  if (value.element_type == ValueType::kString) {
    // There are a quarter of a million; what cannot be stepped over, read_string() has the words for.
    for (uint64_t i = 0; i < value.count; ++i) {
      if (!cursor_.skip_string(kMaxStringBytes)) TRY(read_string("string", kMaxStringBytes));
    }
    return {};
  }
  const uint64_t at = cursor_.position();
  TRY_ASSIGN(const auto bytes, take(value.count * element_bytes(value.element_type), "value"));
  if (value.element_type != ValueType::kBool) return {};
  const auto bad = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (bad == bytes.end()) return {};
  return invalid(at + static_cast<uint64_t>(bad - bytes.begin()), "bool is {}, expected 0 or 1",
                 std::to_integer<int>(*bad));
}

Status Parser::read_alignment() {
  file_.alignment_ = kDefaultAlignment;
  const Value* value = file_.find(kAlignmentKey);
  if (value == nullptr) return {};
  if (value->type != ValueType::kUint32) {
    return invalid(value->offset, "metadata key \"{}\" has type {}, expected u32", kAlignmentKey,
                   name(value->type));
  }
  file_.alignment_ = load<uint32_t>(value->payload.data());
  if (is_valid_alignment(file_.alignment_)) return {};
  return invalid(value->offset, "metadata key \"{}\" is {}, expected a power of two from {} to {}",
                 kAlignmentKey, file_.alignment_, kMinAlignment, kMaxAlignment);
}

Status Parser::read_tensors(uint64_t n_tensors) {
  file_.tensors_.reserve(n_tensors);
  for (uint64_t i = 0; i < n_tensors; ++i) {
    TRY_ASSIGN(const TensorInfo info, read_tensor(i));
    file_.tensors_.push_back(info);
  }
  item_kind_ = {};
  file_.tensors_by_name_ = sorted_by_name(file_.tensors_);
  if (const auto twice = first_duplicate(file_.tensors_, file_.tensors_by_name_)) {
    const std::string_view tensor_name = file_.tensors_[*twice].name;
    return invalid(position_of(tensor_name), "tensor {} is there twice, expected unique names",
                   quoted_name(tensor_name));
  }
  return {};
}

Result<TensorInfo> Parser::read_tensor(uint64_t index) {
  item_kind_ = "tensor";
  item_index_ = index;
  item_name_ = {};
  TensorInfo info;
  const uint64_t name_at = cursor_.position();
  TRY_ASSIGN(info.name, read_string("name", kMaxTensorNameBytes));
  if (const std::string problem = tensor_name_problem(info.name); !problem.empty()) {
    return invalid(name_at, "the name {} {}", quoted_name(info.name), problem);
  }
  item_name_ = info.name;
  TRY(read_shape_and_type(info));
  const uint64_t offset_at = cursor_.position();
  TRY_ASSIGN(info.offset, read<uint64_t>("offset"));
  if (info.offset % file_.alignment_ != 0) {
    return invalid(offset_at, "offset is {}, expected a multiple of the alignment, {}", info.offset,
                   file_.alignment_);
  }
  return info;
}

Status Parser::read_shape_and_type(TensorInfo& info) {
  const uint64_t n_dims_at = cursor_.position();
  TRY_ASSIGN(const uint32_t n_dims, read<uint32_t>("number of dimensions"));
  if (n_dims < 1 || n_dims > kMaxDims) {
    return invalid(n_dims_at, "number of dimensions is {}, expected 1 to {}", n_dims, kMaxDims);
  }
  std::array<uint64_t, kMaxDims> dims{};  // as in the file: innermost first
  for (uint32_t i = 0; i < n_dims; ++i) {
    const uint64_t at = cursor_.position();
    TRY_ASSIGN(dims[i], read<uint64_t>("dimension"));
    if (dims[i] < 1 || dims[i] > INT64_MAX) {
      return invalid(at, "dimension {} is {}, expected 1 to {}", i, static_cast<int64_t>(dims[i]), INT64_MAX);
    }
    info.tensor.shape[n_dims - 1 - i] = static_cast<int64_t>(dims[i]);
  }
  info.tensor.n_dims = static_cast<int>(n_dims);
  const uint64_t type_at = cursor_.position();
  TRY_ASSIGN(const uint32_t type, read<uint32_t>("type"));
  const DTypeTraits* traits = find_dtype(type);
  if (traits == nullptr) {
    const std::string_view known = unsupported_dtype_name(type);
    if (known.empty()) return invalid(type_at, "tensor type {} is unknown", type);
    return invalid(type_at, "tensor type {}, {}, is not supported", type, known);
  }
  info.tensor.dtype = traits->dtype;
  if (dims[0] % traits->block_elems != 0) {
    return invalid(n_dims_at + 4, "rows have {} elements, expected a multiple of {}, the block size of {}",
                   dims[0], traits->block_elems, traits->name);
  }
  if (!tensor_bytes(*traits, std::span(dims).first(n_dims))) {
    return invalid(n_dims_at + 4, "the size of shape {} in {} overflows", info.tensor.shape_string(),
                   traits->name);
  }
  return {};
}

// Finds the data section and every tensor's bytes in it.
Status Parser::place_data() {
  const uint64_t header_end = cursor_.position();
  const auto data_offset = checked_align_up(header_end, file_.alignment_);
  if (!data_offset || (*data_offset > bytes_.size() && !file_.tensors_.empty())) {
    return invalid(header_end,
                   "the data section would begin beyond the end of the file, {} bytes (file truncated?)",
                   bytes_.size());
  }
  file_.data_offset_ = std::min<uint64_t>(*data_offset, bytes_.size());
  const uint64_t available = bytes_.size() - file_.data_offset_;
  for (TensorInfo& info : file_.tensors_) {
    const uint64_t size = info.tensor.bytes();
    const auto end = checked_add(info.offset, size);
    if (!end || *end > available) {
      return invalid(
          position_of(info.name),
          "tensor {}: offset {} and size {} reach beyond the data section, {} bytes (file truncated?)",
          quoted_name(info.name), info.offset, size, available);
    }
    info.file_offset = file_.data_offset_ + info.offset;
    // Tensor is a view for readers and writers alike; these bytes are only read.
    info.tensor.data = const_cast<std::byte*>(bytes_.data() + info.file_offset);
  }
  return {};
}

Status Parser::check_overlaps() {
  std::vector<uint32_t> order(file_.tensors_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return file_.tensors_[a].file_offset < file_.tensors_[b].file_offset;
  });
  uint64_t used_end = file_.data_offset_;
  uint64_t holes = 0;
  const TensorInfo* previous = nullptr;
  for (const uint32_t i : order) {
    const TensorInfo& info = file_.tensors_[i];
    if (info.file_offset < used_end) {
      return invalid(position_of(info.name),
                     "tensor {} at data offset {} overlaps tensor {} at {}, which has {} bytes",
                     quoted_name(info.name), info.offset, quoted_name(previous->name), previous->offset,
                     previous->tensor.bytes());
    }
    const uint64_t gap = info.file_offset - used_end;
    if (gap >= file_.alignment_) holes += gap;
    used_end = info.file_offset + info.tensor.bytes();
    previous = &info;
  }
  warn_of_unused_bytes(holes, used_end);
  return {};
}

void Parser::warn_of_unused_bytes(uint64_t holes, uint64_t used_end) {
  if (holes > 0) {
    file_.warnings_.push_back(
        fmt::format("{}: {} bytes between tensors belong to none", display_path(), holes));
  }
  const uint64_t trailing = bytes_.size() - used_end;
  if (trailing >= file_.alignment_) {
    file_.warnings_.push_back(
        fmt::format("{}: {} bytes from byte {} to the end of the file belong to no tensor", display_path(),
                    trailing, used_end));
  }
}

Result<std::span<const std::byte>> Parser::take(uint64_t count, std::string_view field) {
  const auto taken = cursor_.take(count);
  if (taken) return *taken;
  return invalid(cursor_.position(),
                 "{} needs {} bytes, but only {} are left: the file is truncated at {} bytes", field, count,
                 cursor_.remaining(), bytes_.size());
}

template <class T>
Result<T> Parser::read(std::string_view field) {
  TRY_ASSIGN(const auto bytes, take(sizeof(T), field));
  return load<T>(bytes.data());
}

Result<std::string_view> Parser::read_string(std::string_view field, uint64_t max_bytes) {
  const uint64_t at = cursor_.position();
  TRY_ASSIGN(const uint64_t length, read<uint64_t>(field));
  if (length > max_bytes)
    return invalid(at, "{} length is {}, expected at most {}", field, length, max_bytes);
  if (length > cursor_.remaining()) {
    return invalid(at, "{} length is {}, but only {} bytes are left: the file is truncated at {} bytes",
                   field, length, cursor_.remaining(), bytes_.size());
  }
  TRY_ASSIGN(const auto bytes, take(length, field));
  return as_text(bytes);
}

std::string Parser::item_text() const {
  if (item_kind_.empty()) return {};
  if (item_name_.empty()) return fmt::format("{} #{}: ", item_kind_, item_index_);
  return fmt::format("{} {}: ", item_kind_, quoted_name(item_name_));
}

std::string Parser::quoted_name(std::string_view text) {
  return '"' + escaped(text) + '"';
}

std::string Parser::display_path() const {
  return escaped(file_.path_, 4096);
}

uint64_t Parser::position_of(std::string_view text) const {
  return static_cast<uint64_t>(text.data() - as_text(bytes_).data());
}

}  // namespace inferno::gguf
