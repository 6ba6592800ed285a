#include "backend/repack_cache.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/check.h"

namespace inferno::backend {

RepackCache::RepackCache(std::string path, RepackKey key, Bytes bytes)
    : path_(std::move(path)), key_(std::move(key)) {
  auto file = RepackFile::open(path_, key_);
  if (file) {
    const Status whole = bytes == Bytes::kChecked ? file->check() : file->check_all_but_matrices();
    if (!whole) {
      was_damaged_ = true;
      file = whole.error();
    }
  }
  if (!file) {
    std::error_code ignored;
    if (std::filesystem::exists(path_, ignored)) rejection_ = file.error().message;
    return;
  }
  for (const RepackedMatrix& matrix : file->matrices()) in_file_.emplace(matrix.name, matrix);
  weights_are_finite_ = file->weights_are_finite();
  mapping_ = file->mapping();
}

std::shared_ptr<const std::byte> RepackCache::find(std::string_view name, const Tensor& tensor,
                                                   uint64_t bytes) {
  const auto found = in_file_.find(name);
  if (found == in_file_.end()) return nullptr;
  const RepackedMatrix& matrix = found->second;
  if (matrix.dtype != tensor.dtype || matrix.rows != tensor.rows() || matrix.cols != tensor.cols() ||
      matrix.bytes.size() != bytes) {
    return nullptr;
  }
  mapping_->prepare(matrix.bytes);
  used_.push_back(matrix);
  return {mapping_, matrix.bytes.data()};
}

void RepackCache::add(std::string_view name, const Tensor& tensor, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner) {
  used_.push_back({std::string(name), tensor.dtype, tensor.rows(), tensor.cols(), bytes});
  owners_.push_back(std::move(owner));
  has_news_ = true;
}

std::span<const std::byte> RepackCache::find_bytes(std::string_view name) {
  const auto found = in_file_.find(name);
  if (found == in_file_.end() || found->second.dtype) return {};
  if (std::ranges::find(used_, name, &RepackedMatrix::name) == used_.end()) used_.push_back(found->second);
  return found->second.bytes;
}

void RepackCache::add_bytes(std::string_view name, std::vector<std::byte> bytes) {
  CHECK(!bytes.empty(), "no bytes to keep as {}", name);
  std::erase_if(used_, [&](const RepackedMatrix& found) { return found.name == name; });
  const std::vector<std::byte>& kept = bytes_.emplace_back(std::move(bytes));
  used_.push_back({std::string(name), std::nullopt, 1, static_cast<int64_t>(kept.size()), kept});
  has_news_ = true;
}

Status RepackCache::save(const ProgressFn& progress, const CancelFn& cancelled) {
  const auto is_matrix = [](const RepackedMatrix& kept) { return kept.dtype.has_value(); };
  if (!has_news_ || std::ranges::none_of(used_, is_matrix)) return {};
  // What every start reads lies together. (Not std::ranges: clang 14 cannot compile its subrange of
  // libstdc++ 12.)
  std::stable_partition(used_.begin(), used_.end(), std::not_fn(is_matrix));
  TRY(make_cache_folder(std::filesystem::path(path_).parent_path().string()));
  remove_temporary_files(path_);
  TRY(write_repack_file(path_, key_, weights_are_finite_, used_, progress, cancelled));
  owners_.clear();
  has_news_ = false;
  return {};
}

}  // namespace inferno::backend
