// From a path to something that generates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "base/result.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

namespace inferno::model {

// Whether weights are looked at for NaN and infinity, each tensor right before the backend takes it.
enum class TensorCheck {
  // Files below 1 GiB are, unless a repack cache knows that all is well, and synthetic models are not; what
  // is found is a warning.
  kAuto,
  kNone,    // no
  kStrict,  // yes; a model of which any is found is kInvalidFile
};

struct LoadOptions {
  TensorCheck tensor_check = TensorCheck::kAuto;
  // The folder of repack caches (repack.h), or empty: none. What speaks against one is a warning.
  std::string repack_cache;
  ProgressFn progress;
  // Asked before each tensor: the load ends with kCancelled. Once all are there it gives up writing the
  // repack cache, no more.
  CancelFn cancelled;
};

// What a model's path names: a .gguf file, or "synthetic:PRESET[:TYPE[:SEED]]" (synthetic.h), which is made
// in memory unless `cancelled` (kCancelled).
Result<gguf::File> open_model(const std::string& path, const ProgressFn& progress = {},
                              const CancelFn& cancelled = {});

// The repack cache that a load took weights from or left behind.
struct RepackCacheUse {
  std::string path;
  uint64_t bytes = 0;        // of the file
  bool was_written = false;  // by this load: it was absent, stale or incomplete
};

struct LoadedModel {
  std::unique_ptr<Model> model;
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  // What the caller should show: those of the file, and of the weights.
  std::vector<std::string> warnings;
  std::optional<RepackCacheUse> repack_cache;
};

// `path` as open_model() takes it.
Result<LoadedModel> load_from_gguf_path(const std::string& path, std::shared_ptr<backend::Backend> backend,
                                        const LoadOptions& options = {});
// Of a file that is already open, embedded ones included.
Result<LoadedModel> load_from_gguf(gguf::File file, std::shared_ptr<backend::Backend> backend,
                                   const LoadOptions& options = {});

}  // namespace inferno::model
