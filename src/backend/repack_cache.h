// RepackCache: what load_weight made in an earlier run of the same model, or makes for later ones. A backend
// asks it by the tensor's name; whoever loads the model opens and saves it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/repack_file.h"
#include "tensor/tensor.h"

namespace inferno::backend {

class RepackCache {
 public:
  // Whether matrices are held against their hashes, whose damage shows in numbers alone; all else always is.
  enum class Bytes { kTrusted, kChecked };

  // Takes what lies at `path` if it is good for `key`; else begins empty, and rejection() says why unless
  // nothing lay there.
  RepackCache(std::string path, RepackKey key, Bytes bytes = Bytes::kTrusted);

  const std::string& path() const { return path_; }
  const std::string& rejection() const { return rejection_; }
  // Whether that is because its bytes are not those that were written.
  bool was_damaged() const { return was_damaged_; }
  // Whether there is a file that is used.
  bool is_open() const { return mapping_ != nullptr; }

  // Whether the file lacks anything that was added.
  bool has_news() const { return has_news_; }

  bool weights_are_finite() const { return weights_are_finite_; }
  void set_weights_are_finite() {
    has_news_ |= !weights_are_finite_;
    weights_are_finite_ = true;
  }

  // The `bytes` that the matrix was repacked into, 64-byte aligned and for as long as the pointer lives;
  // nullptr if the file does not have them.
  std::shared_ptr<const std::byte> find(std::string_view name, const Tensor& tensor, uint64_t bytes);
  // What find() did not find.
  void add(std::string_view name, const Tensor& tensor, std::span<const std::byte> bytes,
           std::shared_ptr<const void> owner);

  // The same of what is no matrix but belongs to the model, under a name that no tensor has: empty if the
  // file does not have it. What is added takes the place of what was found.
  std::span<const std::byte> find_bytes(std::string_view name);
  void add_bytes(std::string_view name, std::vector<std::byte> bytes);
  // Keeps alive what find_bytes() gave.
  std::shared_ptr<const void> owner() const { return mapping_; }

  // Writes everything that was found or added, if there is anything new in it and a matrix among it; the
  // owners may then go. What writers that were killed have left behind is removed. Errors besides kIo:
  // kCancelled.
  Status save(const ProgressFn& progress = {}, const CancelFn& cancelled = {});

 private:
  std::string path_;
  RepackKey key_;
  std::string rejection_;
  bool was_damaged_ = false;
  std::shared_ptr<const MappedFile> mapping_;                   // of the file that is used
  std::map<std::string, RepackedMatrix, std::less<>> in_file_;  // by name
  bool weights_are_finite_ = false;
  bool has_news_ = false;
  std::vector<RepackedMatrix> used_;                 // what was found or added
  std::vector<std::shared_ptr<const void>> owners_;  // of matrices that were added
  std::vector<std::vector<std::byte>> bytes_;        // that were added
};

}  // namespace inferno::backend
