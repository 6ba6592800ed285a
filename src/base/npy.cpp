#include "base/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/checked_math.h"
#include "base/mapped_file.h"
#include "base/text.h"

namespace inferno::npy {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they stand in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // of the data in the file, as the format asks of writers

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// The header is a Python dictionary literal with three keys in any order:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  // nullopt unless the whole text is such a dictionary with each key once.
  std::optional<Header> parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!accept('{')) return std::nullopt;
    while (!accept('}')) {
      const std::optional<std::string> key = string();
      if (!key || !accept(':')) return std::nullopt;
      bool* seen = *key == "descr"           ? &has_descr
                   : *key == "fortran_order" ? &has_order
                   : *key == "shape"         ? &has_shape
                                             : nullptr;
      if (seen == nullptr || *seen || !value(*key, header)) return std::nullopt;
      *seen = true;
      if (!accept(',') && !next_is('}')) return std::nullopt;
    }
    skip_spaces();
    if (!rest_.empty() || !has_descr || !has_order || !has_shape) return std::nullopt;
    return header;
  }

 private:
  bool value(std::string_view key, Header& header) {
    if (key == "shape") return tuple(header.shape);
    if (key == "fortran_order") return boolean(header.fortran_order);
    std::optional<std::string> descr = string();
    if (descr) header.descr = *std::move(descr);
    return descr.has_value();
  }

  void skip_spaces() {
    const size_t n = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(n == std::string_view::npos ? rest_.size() : n);
  }

  bool next_is(char c) {
    skip_spaces();
    return !rest_.empty() && rest_.front() == c;
  }

  bool accept(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool accept(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string> string() {
    const char quote = next_is('\'') ? '\'' : '"';
    if (!accept(quote)) return std::nullopt;
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool boolean(bool& value) {
    value = accept("True");
    return value || accept("False");
  }

  bool tuple(std::vector<int64_t>& values) {
    if (!accept('(')) return false;
    while (!accept(')')) {
      skip_spaces();
      int64_t n = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
      if (error != std::errc() || n < 0) return false;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      values.push_back(n);
      if (!accept(',') && !next_is(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
};

std::optional<uint64_t> data_bytes(std::span<const int64_t> shape) {
  std::optional<uint64_t> bytes = sizeof(float);
  for (const int64_t n : shape) {
    if (bytes) bytes = checked_mul(*bytes, static_cast<uint64_t>(n));
  }
  return bytes;
}

// "(3, 4)", "(3,)" or "()", as Python writes a tuple.
std::string python_tuple(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string make_preamble(std::span<const int64_t> shape) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", python_tuple(shape));
  constexpr size_t kFixed = kMagic.size() + 2 + 2;  // magic, version, header length
  const size_t unpadded = kFixed + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  CHECK(header.size() <= 0xffff, "a shape of {} dimensions does not fit version 1.0", shape.size());
  std::string preamble(kMagic);
  preamble +=
      {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return preamble + header;
}

// The header's text and where the data starts.
struct Preamble {
  std::string_view header;
  size_t data_offset;
};

Result<Preamble> read_preamble(const std::string& name, std::string_view file) {
  if (!file.starts_with(kMagic)) {
    return make_error(ErrorCode::kInvalidFile,
                      "{}: offset 0: expected a .npy file (\"\\x93NUMPY\"), found \"{}\"", name,
                      escaped(file.substr(0, kMagic.size())));
  }
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(file[i]); };
  if (file.size() < 8)
    return make_error(ErrorCode::kInvalidFile, "{}: offset 6: the file ends before its version", name);
  if ((byte(6) != 1 && byte(6) != 2) || byte(7) != 0) {
    return make_error(ErrorCode::kInvalidFile, "{}: offset 6: expected .npy version 1.0 or 2.0, found {}.{}",
                      name, byte(6), byte(7));
  }
  const size_t length_bytes = byte(6) == 1 ? 2 : 4;
  const size_t start = 8 + length_bytes;
  if (file.size() < start) {
    return make_error(ErrorCode::kInvalidFile, "{}: offset 8: the file ends before its header's length",
                      name);
  }
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= static_cast<size_t>(byte(8 + i)) << (8 * i);
  if (length > file.size() - start) {
    return make_error(ErrorCode::kInvalidFile, "{}: offset 8: the header says {} bytes, but only {} follow",
                      name, length, file.size() - start);
  }
  return Preamble{file.substr(start, length), start + length};
}

}  // namespace

Result<Array> read(const std::string& path) {
  TRY_ASSIGN(const std::shared_ptr<const MappedFile> mapped, MappedFile::open(path));
  const std::string name = escaped(path, path.size());
  const std::span<const std::byte> bytes = mapped->bytes();
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TRY_ASSIGN(const Preamble preamble, read_preamble(name, file));

  std::optional<Header> header = HeaderParser(preamble.header).parse();
  if (!header) {
    return make_error(ErrorCode::kInvalidFile,
                      "{}: header: expected a dictionary of descr, fortran_order and shape, found \"{}\"",
                      name, escaped(preamble.header));
  }
  if (header->descr != "<f4") {
    return make_error(ErrorCode::kInvalidFile,
                      "{}: header: expected descr '<f4' (little-endian float32), found '{}'", name,
                      escaped(header->descr));
  }
  if (header->fortran_order) {
    return make_error(ErrorCode::kInvalidFile, "{}: header: expected C order, found Fortran order", name);
  }
  const std::optional<uint64_t> expected = data_bytes(header->shape);
  const size_t found = file.size() - preamble.data_offset;
  if (expected != found) {
    return make_error(ErrorCode::kInvalidFile, "{}: offset {}: shape {} needs {} bytes of data, found {}",
                      name, preamble.data_offset, python_tuple(header->shape),
                      expected ? std::to_string(*expected) : "more than 2^64", found);
  }
  Array array{std::move(header->shape), std::vector<float>(found / sizeof(float))};
  if (found != 0) std::memcpy(array.data.data(), bytes.data() + preamble.data_offset, found);
  return array;
}

Status write(const std::string& path, std::span<const int64_t> shape, std::span<const float> data) {
  CHECK(data_bytes(shape) == data.size_bytes(), "shape {} does not fit {} elements", python_tuple(shape),
        data.size());
  return write_file_atomically(path, [&](const AppendFn& append) -> Status {
    const std::string preamble = make_preamble(shape);
    TRY(append(std::as_bytes(std::span(preamble))));
    return append(std::as_bytes(data));
  });
}

}  // namespace inferno::npy
