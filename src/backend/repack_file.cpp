#include "backend/repack_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/checked_math.h"
#include "base/content_hash.h"
#include "base/text.h"

namespace inferno::backend {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they lie in memory");

constexpr std::array<char, 8> kMagic = {'I', 'N', 'F', 'R', 'E', 'P', 'K', '\n'};
constexpr uint32_t kFormatVersion = 2;
constexpr uint64_t kAlignment = 4096;
constexpr uint64_t kMaxNameBytes = 4096;
constexpr uint32_t kNoMatrix = ~uint32_t{0};  // instead of its type

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t format_version = kFormatVersion;
  uint32_t weights_are_finite = 0;
  uint64_t file_bytes = 0;
  uint64_t n_matrices = 0;
  uint64_t directory_bytes = 0;
  uint64_t hash = 0;  // of this header with 0 here, and of the directory
  std::array<char, 48> layout{};
  uint64_t sizes = 0, modified = 0, headers = 0, samples = 0;
};
static_assert(sizeof(Header) == 128);

// Its name follows it.
struct Entry {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  uint32_t dtype = 0;
  uint32_t name_bytes = 0;
};
static_assert(sizeof(Entry) == 48);

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

uint64_t hash_of(Header header, std::span<const std::byte> directory) {
  header.hash = 0;
  const std::array<uint64_t, 2> hashes = {content_hash(bytes_of(header)), content_hash(directory)};
  return content_hash(std::as_bytes(std::span(hashes)));
}

// Piece by piece, each of which `done` may give back.
template <class Done>
uint64_t hash_of_matrix(std::span<const std::byte> bytes, const Done& done) {
  constexpr size_t kPiece = size_t{4} << 20;
  std::vector<uint64_t> hashes;
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
    hashes.push_back(content_hash(piece));
    done(piece);
  }
  return content_hash(std::as_bytes(std::span(hashes)));
}

// Takes plain structs and names off the front of the directory.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  bool read(T& value) {
    if (left_.size() < sizeof value) return false;
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return true;
  }
  bool read(std::string& text, uint64_t bytes) {
    if (left_.size() < bytes) return false;
    text.assign(reinterpret_cast<const char*>(left_.data()), bytes);
    left_ = left_.subspan(bytes);
    return true;
  }
  bool empty() const { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
};

template <class... Args>
Error invalid(const std::string& path, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidFile, "{}: {}", escaped(path, path.size()),
                    fmt::format(format, std::forward<Args>(args)...));
}

Error damaged(const std::string& path, const RepackedMatrix& kept) {
  return invalid(path, "{}{}: its bytes are damaged; remove the file, it is made anew",
                 kept.dtype ? "matrix " : "", quote(kept.name));
}

// The header of a file that is whole, with its directory.
Status read_header(const std::string& path, std::span<const std::byte> file, Header& header,
                   std::span<const std::byte>& directory) {
  if (!Reader(file).read(header))
    return invalid(path, "expected at least {} bytes, found {}", sizeof header, file.size());
  if (header.magic != kMagic) return invalid(path, "is no repack cache");
  if (header.format_version != kFormatVersion) {
    return invalid(path, "expected version {} of the format, found {}", kFormatVersion,
                   header.format_version);
  }
  if (header.file_bytes != file.size())
    return invalid(path, "expected {} bytes, found {}", header.file_bytes, file.size());
  if (header.directory_bytes > file.size() - sizeof header) return invalid(path, "its directory is cut off");
  directory = file.subspan(sizeof header, header.directory_bytes);
  if (hash_of(header, directory) != header.hash) return invalid(path, "its header is damaged");
  return {};
}

Status check_key(const std::string& path, const Header& header, const RepackKey& key) {
  const auto end = std::find(header.layout.begin(), header.layout.end(), '\0');
  const std::string layout(header.layout.begin(), end);
  if (layout != key.layout)
    return invalid(path, "expected weights repacked for {}, found {}", quote(key.layout), quote(layout));
  if (header.sizes != key.sizes) return invalid(path, "the model's size has changed");
  if (header.modified != key.modified) return invalid(path, "the model was written anew");
  if (header.headers != key.headers) return invalid(path, "the model's header has changed");
  if (header.samples != key.samples) return invalid(path, "the model's weights have changed");
  return {};
}

// Header and directory, with everything in place.
std::vector<std::byte> make_front(const RepackKey& key, bool weights_are_finite,
                                  std::span<const RepackedMatrix> matrices) {
  CHECK(key.layout.size() < Header().layout.size(), "the layout's name {} is too long", key.layout);
  Header header;
  header.weights_are_finite = weights_are_finite ? 1 : 0;
  header.n_matrices = matrices.size();
  std::copy(key.layout.begin(), key.layout.end(), header.layout.begin());
  header.sizes = key.sizes;
  header.modified = key.modified;
  header.headers = key.headers;
  header.samples = key.samples;
  for (const RepackedMatrix& m : matrices) header.directory_bytes += sizeof(Entry) + m.name.size();

  std::vector<std::byte> front(sizeof header);
  const auto append = [&](std::span<const std::byte> bytes) {
    front.insert(front.end(), bytes.begin(), bytes.end());
  };
  uint64_t end = sizeof header + header.directory_bytes;
  for (const RepackedMatrix& m : matrices) {
    const uint64_t offset = (end + kAlignment - 1) / kAlignment * kAlignment;
    const uint64_t hash = hash_of_matrix(m.bytes, [](std::span<const std::byte>) {});
    append(bytes_of(Entry{offset, m.bytes.size(), hash, m.rows, m.cols,
                          m.dtype ? static_cast<uint32_t>(*m.dtype) : kNoMatrix,
                          static_cast<uint32_t>(m.name.size())}));
    append(std::as_bytes(std::span(m.name)));
    end = offset + m.bytes.size();
  }
  header.file_bytes = end;
  header.hash = hash_of(header, std::span(front).subspan(sizeof header));
  std::memcpy(front.data(), &header, sizeof header);
  return front;
}

}  // namespace

bool is_repack_file(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  std::array<char, kMagic.size()> first = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(first.data(), first.size()) && first == kMagic;
}

Result<RepackFile> RepackFile::open(const std::string& path, const RepackKey& key) {
  RepackFile result;
  TRY_ASSIGN(result.mapping_, MappedFile::open(path));
  result.mapping_->want_huge_pages();
  const std::span<const std::byte> file = result.mapping_->bytes();
  Header header;
  std::span<const std::byte> directory;
  TRY(read_header(path, file, header, directory));
  TRY(check_key(path, header, key));

  Reader reader(directory);
  std::set<std::string_view> names;
  uint64_t end = sizeof header + directory.size();
  if (header.n_matrices > directory.size() / sizeof(Entry))
    return invalid(path, "its directory is too short");
  result.matrices_.reserve(header.n_matrices);
  for (uint64_t i = 0; i < header.n_matrices; ++i) {
    const auto bad = [&](std::string_view what) { return invalid(path, "entry {}: {}", i, what); };
    Entry entry;
    RepackedMatrix matrix;
    if (!reader.read(entry) || entry.name_bytes > kMaxNameBytes ||
        !reader.read(matrix.name, entry.name_bytes))
      return bad("its name is cut off");
    if (entry.rows <= 0 || entry.cols <= 0) return bad("its shape is not positive");
    const auto begin = checked_align_up(end, kAlignment);
    const auto next_end = begin ? checked_add(*begin, entry.bytes) : std::nullopt;
    if (!next_end || entry.offset != *begin || *next_end > file.size())
      return bad("its bytes are not in place");
    end = *next_end;
    if (entry.dtype != kNoMatrix) matrix.dtype = static_cast<DType>(entry.dtype);
    matrix.rows = entry.rows;
    matrix.cols = entry.cols;
    matrix.bytes = file.subspan(entry.offset, entry.bytes);
    if (!matrix.dtype && (matrix.rows != 1 || static_cast<uint64_t>(matrix.cols) != entry.bytes))
      return bad("it is no matrix, and its shape not that of its bytes");
    result.hashes_.push_back(entry.hash);
    result.matrices_.push_back(std::move(matrix));
    if (!names.insert(result.matrices_.back().name).second) return bad("its name is there twice");
  }
  if (!reader.empty() || end != file.size()) return invalid(path, "has bytes of no entry");
  result.weights_are_finite_ = header.weights_are_finite == 1;
  return result;
}

Status RepackFile::check(const ProgressFn& progress) const {
  for (size_t i = 0; i < matrices_.size(); ++i) {
    const RepackedMatrix& matrix = matrices_[i];
    const auto release = [&](std::span<const std::byte> piece) { mapping_->release(piece); };
    if (hash_of_matrix(matrix.bytes, release) != hashes_[i]) {
      return damaged(mapping_->path(), matrix);
    }
    if (progress) progress("checking the repack cache", i + 1, matrices_.size());
  }
  return {};
}

Status RepackFile::check_all_but_matrices() const {
  for (size_t i = 0; i < matrices_.size(); ++i) {
    const RepackedMatrix& kept = matrices_[i];
    const auto keep = [](std::span<const std::byte>) {};
    if (!kept.dtype && hash_of_matrix(kept.bytes, keep) != hashes_[i]) return damaged(mapping_->path(), kept);
  }
  return {};
}

Status write_repack_file(const std::string& path, const RepackKey& key, bool weights_are_finite,
                         std::span<const RepackedMatrix> matrices, const ProgressFn& progress,
                         const CancelFn& cancelled) {
  const std::vector<std::byte> front = make_front(key, weights_are_finite, matrices);
  const auto write = [&](const AppendFn& append) -> Status {
    constexpr std::array<std::byte, kAlignment> kZeros{};
    TRY(append(front));
    uint64_t end = front.size();
    for (size_t i = 0; i < matrices.size(); ++i) {
      TRY(append(std::span(kZeros).first((kAlignment - end % kAlignment) % kAlignment)));
      if (cancelled && cancelled()) return Error{ErrorCode::kCancelled, "cancelled"};
      TRY(append(matrices[i].bytes));
      end = matrices[i].bytes.size();  // as good as its place: it began at a multiple of kAlignment
      if (progress) progress("writing the repack cache", i + 1, matrices.size());
    }
    return {};
  };
  const auto check = [&](const std::string& temporary_path) -> Status {
    if (cancelled && cancelled()) return Error{ErrorCode::kCancelled, "cancelled"};
    TRY_ASSIGN(const RepackFile file, RepackFile::open(temporary_path, key));
    return file.check();
  };
  return write_file_atomically(path, write, check);
}

}  // namespace inferno::backend
