// gguf::File: a GGUF model file, memory-mapped and completely validated by open(). Source: the GGUF
// specification, versions 2 and 3, little-endian. Once open, every name, array and tensor span is in bounds
// and well-formed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace inferno::gguf {

// The 13 metadata types, by their ids in the file.
enum class ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
std::string_view name(ValueType type);

// A metadata value: a view into the file's bytes. Strings and arrays are not copied.
struct Value {
  ValueType type = ValueType::kUint8;
  ValueType element_type = ValueType::kUint8;  // of an array; never kArray
  uint64_t count = 1;                          // elements of an array; 1 for a scalar
  std::span<const std::byte> payload;          // the elements as they stand in the file
  uint64_t offset = 0;                         // where the payload begins in the file, for error messages
};

// Where element `index` of an array (0 of a scalar) begins in the file, for error messages. Linear for
// strings.
uint64_t element_offset(const Value& value, uint64_t index);

// Walks an array of strings (or one string) without copying it.
class StringRange {
 public:
  explicit StringRange(const Value& value) : value_(value) {}
  class Iterator {
   public:
    Iterator(const std::byte* at, uint64_t left) : at_(at), left_(left) {}
    std::string_view operator*() const;
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return left_ != other.left_; }

   private:
    const std::byte* at_;
    uint64_t left_;
  };
  Iterator begin() const { return {value_.payload.data(), value_.count}; }
  Iterator end() const { return {nullptr, 0}; }
  uint64_t size() const { return value_.count; }
  // Of all strings together (of a Value that holds strings); each stands in the file behind its length.
  uint64_t n_bytes() const { return value_.payload.size() - value_.count * sizeof(uint64_t); }

 private:
  Value value_;
};

struct TensorInfo {
  std::string_view name;
  Tensor tensor;  // shape outermost first (the file stores it innermost first); data inside the file's bytes
  uint64_t offset = 0;       // relative to the data section of its file, as the header states it
  uint64_t file_offset = 0;  // from the beginning of its file
  size_t shard = 0;          // which file of a split model
};

class File {
 public:
  // Opens FILE, or all of a split model when FILE is one of its shards (-00001-of-0000N.gguf). The metadata
  // is the first shard's.
  static Result<File> open(const std::string& path);
  // Parses bytes that outlive the File (an embedded model, a fuzzer's input); `name` stands in errors. Tensor
  // data is as aligned as `bytes` is.
  static Result<File> from_memory(std::span<const std::byte> bytes, std::string name);
  // As from_memory(); the File and its copies own the bytes.
  static Result<File> from_buffer(Buffer bytes, std::string name);

  const std::string& path() const { return path_; }  // the first shard's, for a split model
  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }
  size_t n_shards() const { return n_shards_; }
  uint64_t file_bytes() const { return file_bytes_; }    // of all shards
  uint64_t data_offset() const { return data_offset_; }  // of the first file's data section

  // In file order. Keys and tensor names are unique.
  struct KeyValue {
    std::string_view key;
    Value value;
  };
  const std::vector<KeyValue>& metadata() const { return metadata_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }

  const Value* find(std::string_view key) const;
  const TensorInfo* find_tensor(std::string_view name) const;

  // Typed access. T is bool, std::string_view, float, double or an integer. Integers widen and narrow only
  // when the value fits exactly; floats accept f32 and f64 (rounded to T) and must be finite. Missing key or
  // wrong type: an error naming file, key, offset, expected and found.
  template <class T>
  Result<T> meta(std::string_view key) const;
  // As meta(), but std::nullopt when the key is absent.
  template <class T>
  Result<std::optional<T>> meta_optional(std::string_view key) const;
  // An array (or, for a scalar, one element) converted like meta() does. T is float, int32_t, uint32_t,
  // uint64_t, bool.
  template <class T>
  Result<std::vector<T>> meta_array(std::string_view key) const;
  // The same, exactly as many as `to` has room for, some of which may be written where that fails. T is float
  // or int32_t.
  template <class T>
  Status meta_array_to(std::string_view key, std::span<T> to) const;
  // An array of strings.
  Result<StringRange> meta_strings(std::string_view key) const;

  // Gives back the memory that holds the tensor's data, of a file that is mapped: for a reader that has made
  // its own of it. Who reads the data again waits for the file.
  void release(const TensorInfo& info) const;
  // Whether the tensor lies in a mapped file that copy() reads, so that no page of it is mapped. Not where a
  // model is split into so many files that they are not kept open.
  bool copies_from_file(const TensorInfo& info) const {
    return info.shard < mappings_.size() && mappings_[info.shard]->can_copy();
  }
  // The tensor's bytes from `offset` on, as many as `to` has. From any thread. kIo where its file cannot be
  // read.
  Status copy(const TensorInfo& info, size_t offset, std::span<std::byte> to) const;

  // The files that it is mapped from, all shards in order; none for bytes in memory.
  const std::vector<std::shared_ptr<const MappedFile>>& mapped_files() const { return mappings_; }

  // Things that are allowed but worth a word (bytes after the last tensor, …), for the caller to show.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  friend class Parser;
  static Result<File> open_one(const std::string& path, uint64_t n_shards = 1);
  static Result<File> open_shards(File given);
  void append_shard(File shard);

  std::string path_;
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  size_t n_shards_ = 1;
  uint64_t file_bytes_ = 0;
  uint64_t data_offset_ = 0;
  std::vector<KeyValue> metadata_;
  std::vector<TensorInfo> tensors_;
  // Positions in metadata_ and tensors_, sorted by name. Sorted rather than hashed: no file can choose names
  // that make a look-up or the check for duplicates slow.
  std::vector<uint32_t> metadata_by_key_;
  std::vector<uint32_t> tensors_by_name_;
  std::vector<std::string> warnings_;
  // What all the views point into: the shards' files, or a buffer if it is ours.
  std::vector<std::shared_ptr<const MappedFile>> mappings_;
  std::shared_ptr<const Buffer> buffer_;
};

}  // namespace inferno::gguf
