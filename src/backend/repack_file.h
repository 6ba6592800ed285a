// The file of a repack cache: matrices as a backend has repacked them, and what else is kept of a model, to
// be mapped and used as they lie.
//
//   header     magic, version of this format, size, hash of header and directory, RepackKey
//   directory  for each matrix type, shape, where its bytes lie, their hash, its name; of what is no matrix
//              2^32 - 1 as its type and 1 row of as many columns as it has bytes
//   bytes      of each, in order, from a multiple of 4096 on; zeros between them
//
// Numbers are little-endian, hashes those of base/content_hash.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "base/result.h"
#include "tensor/dtype.h"

namespace inferno::backend {

// What a cache is good for: one layout of one model's weights. The hashes go over all files of a split model.
struct RepackKey {
  std::string layout;     // Backend::weight_layout(), at most 47 bytes
  uint64_t sizes = 0;     // of the sizes of the model's files
  uint64_t modified = 0;  // of the times of their last change
  uint64_t headers = 0;   // of everything that stands before their weights
  uint64_t samples = 0;   // of a sample of each tensor
};

struct RepackedMatrix {
  std::string name;            // the tensor's
  std::optional<DType> dtype;  // none: no matrix
  int64_t rows = 0;
  int64_t cols = 0;
  std::span<const std::byte> bytes;
};

// Whether a regular file begins as all of them do, of whatever version and model. A link is none.
bool is_repack_file(const std::string& path);

// Once open, every name and span is in bounds, and each span is 64-byte aligned.
class RepackFile {
 public:
  // Reads header and directory. Errors: kIo; kInvalidFile for a file that is not whole, not of this format or
  // not of `key`, with what it is instead.
  static Result<RepackFile> open(const std::string& path, const RepackKey& key);

  // In the file's order; no name twice.
  const std::vector<RepackedMatrix>& matrices() const { return matrices_; }
  // Whether somebody has read all weights of the model and found no NaN and no infinity.
  bool weights_are_finite() const { return weights_are_finite_; }
  const std::shared_ptr<const MappedFile>& mapping() const { return mapping_; }

  // Reads all bytes, or those of what is no matrix alone, and holds them against their hashes: kInvalidFile
  // names the first that differ.
  Status check(const ProgressFn& progress = {}) const;
  Status check_all_but_matrices() const;

 private:
  std::shared_ptr<const MappedFile> mapping_;
  std::vector<RepackedMatrix> matrices_;
  std::vector<uint64_t> hashes_;
  bool weights_are_finite_ = false;
};

// Whole or not at all, and read back before it takes the place of what was there.
Status write_repack_file(const std::string& path, const RepackKey& key, bool weights_are_finite,
                         std::span<const RepackedMatrix> matrices, const ProgressFn& progress = {},
                         const CancelFn& cancelled = {});

}  // namespace inferno::backend
