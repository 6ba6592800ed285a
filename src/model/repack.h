// Which repack cache belongs to a model: the backend keeps bytes under tensors' names
// (backend/repack_cache.h), this is about the files that they were made of.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/repack_cache.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "base/result.h"
#include "gguf/file.h"

namespace inferno::model {

// What the cache of a mapped file's weights must have been made of and for: sizes and times of its files,
// their headers, 4 KiB of each tensor, and the backend's layout. kIo where these cannot be read.
Result<backend::RepackKey> repack_key(const gguf::File& file, const backend::Backend& backend);

// FOLDER/<name of the file>-<hash of its path>.<ISA>.repack: a model that is replaced takes its cache's
// place.
std::string repack_cache_path(const std::string& folder, const gguf::File& file,
                              const backend::Backend& backend);

// A file of such a name, a cache that some start has left there, or what a start that was killed had written
// of one.
struct StoredRepackCache {
  std::string path;
  std::string model;  // its file's name without folder and ending, letters, digits, "-" and "_" alone
  std::string isa;
  uint64_t bytes = 0;
  std::time_t written = 0;
  bool is_unfinished = false;
};

// Whether `model` means the one that the cache is of: StoredRepackCache::model, the path of a file, of which
// only the caches of the model in this place are meant, or the name that a file had which is gone.
bool is_cache_of(const StoredRepackCache& cache, const std::string& model);

// The caches in `folder`, of any version, ordered by model and ISA; none of a folder that is not there. kIo
// when it cannot be read.
Result<std::vector<StoredRepackCache>> stored_repack_caches(const std::string& folder);

// Removes the file and what writers that were killed have left beside it. A program that has mapped it goes
// on. Errors: kIo.
Status remove_repack_cache(const StoredRepackCache& cache);

// Whether the backend repacks weights and the model is in a file, so that a cache can belong to it.
bool can_have_repack_cache(const gguf::File& file, const backend::Backend& backend);

// The model's cache in `folder`, empty where there is none that is good. nullptr for an empty folder, and
// with a warning for a model that is in no file, for one that cannot be read and for a backend that does not
// repack.
std::unique_ptr<backend::RepackCache> open_repack_cache(const std::string& folder, const gguf::File& file,
                                                        const backend::Backend& backend,
                                                        backend::RepackCache::Bytes bytes,
                                                        std::vector<std::string>& warnings);

// Where it cannot be written, that is a warning; being cancelled is none.
void save_repack_cache(backend::RepackCache& cache, const ProgressFn& progress, const CancelFn& cancelled,
                       std::vector<std::string>& warnings);

// Holds the bytes of the model's cache in `folder` against their hashes. Errors: kIo when there is none
// or the model cannot be read; kInvalidFile; kUnavailable where there cannot be one.
Status check_repack_cache(const std::string& folder, const gguf::File& file, const backend::Backend& backend,
                          const ProgressFn& progress);

}  // namespace inferno::model
