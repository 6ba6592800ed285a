// Turns the bytes of one GGUF file into a File, checking everything on the way. Memory: what the header's
// entries take once they are known to exist; no count from the file is believed before.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/text.h"
#include "gguf/cursor.h"
#include "gguf/file.h"

namespace inferno::gguf {

class Parser {
 public:
  // `name` is the file's, for errors. The bytes must outlive the File.
  static Result<File> parse(std::span<const std::byte> bytes, std::string name);

 private:
  Parser(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), cursor_(bytes) {
    file_.path_ = std::move(name);
    file_.file_bytes_ = bytes.size();
  }

  Status run();
  Status read_magic();
  Status read_version();
  Status read_metadata(uint64_t n_keys);
  Result<File::KeyValue> read_key_value(uint64_t index);
  Result<Value> read_value();
  Result<Value> read_array();
  Status check_elements(const Value& value);
  Status read_alignment();
  Status read_tensors(uint64_t n_tensors);
  Result<TensorInfo> read_tensor(uint64_t index);
  Status read_shape_and_type(TensorInfo& info);
  Status place_data();
  Status check_overlaps();
  void warn_of_unused_bytes(uint64_t holes, uint64_t used_end);

  // The next bytes; `field` names them in the error when the file ends before.
  Result<std::span<const std::byte>> take(uint64_t count, std::string_view field);
  template <class T>
  Result<T> read(std::string_view field);
  // A length and that many bytes; the length is checked against the rest of the file and `max_bytes`.
  Result<std::string_view> read_string(std::string_view field, uint64_t max_bytes);

  // "model.gguf: at byte 24: metadata key "general.alignment": …"
  template <class... Args>
  Error invalid(uint64_t at, fmt::format_string<Args...> format, Args&&... args) const {
    return make_error(ErrorCode::kInvalidFile, "{}: at byte {}: {}{}", display_path(), at, item_text(),
                      fmt::format(format, std::forward<Args>(args)...));
  }
  std::string item_text() const;
  std::string display_path() const;
  static std::string quoted_name(std::string_view text);
  // Where a name that was read stands in the file.
  uint64_t position_of(std::string_view text) const;

  std::span<const std::byte> bytes_;
  Cursor cursor_;
  File file_;

  // What is being read, for errors.
  std::string_view item_kind_;
  uint64_t item_index_ = 0;
  std::string_view item_name_;
};

}  // namespace inferno::gguf
