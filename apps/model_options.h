// What every command that runs a model has in common: which model, which backend, which cache; and loading it
// with a progress bar.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/command_line.h"
#include "base/result.h"
#include "model/load.h"

namespace inferno::apps {

struct ModelOptions {
  std::string backend = "auto";
  unsigned threads = 0;  // 0: what the backend chooses
  std::string numa = "distribute";
  std::string kv = "basic";
  std::string kv_type = "f16";
  bool no_kv = false;
  std::optional<bool> check_tensors;  // absent: a warning for files below 1 GiB
  std::optional<bool> head_screen;    // absent: large heads, where it takes next to no memory
  std::string repack_cache;           // "": none; "auto": the usual folder; else a folder
};

// --kv-type alone.
void add_kv_type_option(Command command, ModelOptions& options);
// --repack-cache alone.
Option add_repack_cache_option(Command command, ModelOptions& options, const std::string& description);
// --backend, --threads, --numa, --kv-type, --check-tensors and --repack-cache; with_kv adds --kv and --no-kv.
void add_model_options(Command command, ModelOptions& options, bool with_kv);

// --head-screen and --no-head-screen.
void add_head_screen_option(Command command, ModelOptions& options);

// Warns of backend::missed_isa(), once in a process: for commands that compute or measure.
void warn_of_missed_isa();
// By --backend, --threads and --numa, which the calling thread then keeps to. On the CPU,
// warn_of_missed_isa().
Result<std::shared_ptr<backend::Backend>> create_backend(const ModelOptions& options);

// The folder of repack caches, or "" for none.
Result<std::string> repack_cache_folder(const ModelOptions& options);

// Of kv::kTypes; kUnavailable for a cache that is not there.
Result<DType> kv_type(const ModelOptions& options);

// A model on the command line is a file that exists, what is named like one (by its ending .gguf, or as one
// word with a slash in it), or a synthetic model.
bool names_a_model(const std::string& argument);
// "; a model is a .gguf file or synthetic:NAME:TYPE", and which synthetic model may be meant.
std::string what_models_are(const std::string& argument);
// A short word that is no model, but could have been meant as one.
bool may_be_meant_as_a_model(const std::string& text);
// kInvalidArgument for a folder that --repack-cache has left behind as an argument, for want of a "=".
Status check_repack_cache_argument(const ModelOptions& options, const std::string& argument);

// Opens what model::open_model() does, or the embedded demo model when `path` is empty; a bar on stderr, when
// that is a terminal, while a synthetic model is made.
Result<gguf::File> open_model(const std::string& path);
// Bytes of the keys and values of `tokens` positions of this model, its context at most; errors as
// kv::check_type().
Result<uint64_t> kv_bytes(const gguf::File& file, DType kv_type, int64_t tokens);
// kResource, with the sum, when all weights and `kv_bytes` are more than the backend has memory for: on the
// host speeds would be those of the disk, on a device there would be none.
Status check_memory(const gguf::File& file, uint64_t kv_bytes, const backend::Backend& backend);
// Opens and loads the model; a bar on stderr when that is a terminal. kCancelled once a signal came
// (signals.h), as while opening. Where it is known that `kv_tokens` positions will be asked for (0: it is
// not), kResource, with the sum, before anything is loaded, when their keys and values have no room in the
// backend's memory beside the weights; errors as kv_bytes().
Result<model::LoadedModel> load_model(const std::string& path, const ModelOptions& options,
                                      int64_t kv_tokens = 0);
// Of a file that open_model() gave.
Result<model::LoadedModel> load_model(gguf::File file, std::shared_ptr<backend::Backend> backend,
                                      const ModelOptions& options);

}  // namespace inferno::apps
