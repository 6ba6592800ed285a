#include "backend/repack_cache.h"

#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "base/cache_folder.h"

namespace inferno::backend {

RepackCache::RepackCache(std::string path, RepackKey key, Bytes bytes)
    : path_(std::move(path)), key_(std::move(key)) {
  auto file = RepackFile::open(path_, key_);
  if (file && bytes == Bytes::kChecked) {
    if (const Status whole = file->check(); !whole) {
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

Status RepackCache::save(const ProgressFn& progress, const CancelFn& cancelled) {
  if (!has_news_ || used_.empty()) return {};
  TRY(make_cache_folder(std::filesystem::path(path_).parent_path().string()));
  remove_temporary_files(path_);
  TRY(write_repack_file(path_, key_, weights_are_finite_, used_, progress, cancelled));
  owners_.clear();
  has_news_ = false;
  return {};
}

}  // namespace inferno::backend
