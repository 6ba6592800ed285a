// gguf::Writer: makes GGUF v3 files, on disk or in memory: for tests, the quantizer and synthetic models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/atomic_file.h"
#include "base/result.h"
#include "gguf/file.h"

namespace inferno::gguf {

// Makes a tensor's data when it is wanted: the elements from `first_element` on, as many as `out` has room
// for. `first_element` is a multiple of kSuperBlock, and so is their number except at the tensor's end.
// Called in order from one thread; may fail, to be cancelled for one.
using TensorSource = std::function<Status(uint64_t first_element, std::span<std::byte> out)>;

// What File::open() would refuse (a key twice, a tensor whose data is not as long as its shape says, …) is
// the caller's mistake and fails a CHECK when it is added.
class Writer {
 public:
  // An alignment other than the default becomes the first key, general.alignment; no add() may name
  // that key.
  explicit Writer(uint32_t alignment = 32);

  // One call per key, in the order they are to stand in the file.
  void add(std::string_view key, std::string_view value);
  void add(std::string_view key, const char* value) { add(key, std::string_view(value)); }
  void add(std::string_view key, bool value);
  void add(std::string_view key, uint32_t value);
  void add(std::string_view key, int32_t value);
  void add(std::string_view key, uint64_t value);
  void add(std::string_view key, float value);
  void add(std::string_view key, double value);
  void add(std::string_view key, std::span<const std::string> values);
  void add(std::string_view key, std::span<const float> values);
  void add(std::string_view key, std::span<const int32_t> values);
  void add(std::string_view key, std::span<const uint32_t> values);
  // Any value, as read from another file.
  void add(std::string_view key, const Value& value);

  // Shape outermost first, as Tensor's. The data is copied into the file at save(), so it must live until
  // then.
  void add_tensor(std::string_view name, DType dtype, std::span<const int64_t> shape,
                  std::span<const std::byte> data);

  // As above with data that need not exist yet: neither save() nor build() holds it twice.
  void add_tensor(std::string_view name, DType dtype, std::span<const int64_t> shape, TensorSource source);

  // Of the whole file.
  uint64_t total_bytes() const;
  // The whole file in memory. CHECKs that no source fails.
  std::vector<std::byte> bytes() const;
  // A File called `name` that owns its bytes. kResource, before anything is allocated, when they do not fit
  // into memory; else the error of a source.
  Result<File> build(std::string name) const;
  // Writes to a temporary file beside `path`, syncs it and renames it: never half a file.
  Status save(const std::string& path) const;

 private:
  struct PendingTensor {
    std::string name;
    DType dtype;
    std::vector<uint64_t> dims;  // as in the file: innermost first
    uint64_t bytes;
    TensorSource source;
  };
  void begin_value(std::string_view key, ValueType type);
  void begin_array(std::string_view key, ValueType element_type, uint64_t count);
  template <class T>
  void add_scalar(std::string_view key, ValueType type, T value);
  template <class T>
  void add_array(std::string_view key, ValueType element_type, std::span<const T> values);
  std::vector<std::byte> header() const;  // up to and including the padding before the data section
  Status emit(const AppendFn& append) const;
  Status fill(std::span<std::byte> file) const;  // of total_bytes()

  uint32_t alignment_;
  uint64_t n_keys_ = 0;
  std::vector<std::byte> metadata_;
  std::vector<PendingTensor> tensors_;
  std::unordered_set<std::string> keys_;
  std::unordered_set<std::string> tensor_names_;
};

}  // namespace inferno::gguf
