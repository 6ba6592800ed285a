// Synthetic models: the shape and vocabulary of a known model with seeded random weights, made in seconds.
// They stand wherever a model's path does, as "synthetic:PRESET[:TYPE[:SEED]]", and say nothing worth
// reading: they are for benchmarks and tests. Hidden states are of order 1 through all layers, logits of
// variance 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/progress.h"
#include "base/result.h"
#include "gguf/file.h"
#include "model/presets.h"
#include "quantize/file_type.h"
#include "tensor/dtype.h"

namespace inferno::model {

struct SyntheticSpec {
  Preset preset;
  // Of the matrices, as storage_type() says, unless TYPE says otherwise; vectors are F32.
  DType dtype = DType::kQ8_0;
  uint64_t seed = 0;
  // Where TYPE is a mix; dtype is then what most matrices have. Such a model says so in general.file_type.
  std::optional<quantize::FileType> mix = {};
};

// Whether a model's path is meant as a spec.
bool is_synthetic(std::string_view path);
// Reads "synthetic:PRESET[:TYPE[:SEED]]", letter case aside. TYPE is any weight type, or a mix of
// quantize/file_type.h. kInvalidArgument, with the nearest right name
// and the list of all, for a preset or type that does not exist.
Result<SyntheticSpec> parse_synthetic(std::string_view text);
// TYPE as tables print it: "Q4_K", "Q4_K_M".
std::string_view type_name(const SyntheticSpec& spec);
// What parse_synthetic() reads; it is the path of the File that is made.
std::string synthetic_path(const SyntheticSpec& spec);

struct SynthesizeOptions {
  size_t n_threads = 0;  // 0: one per CPU; the weights are the same with any
  ProgressFn progress;   // in bytes
  CancelFn cancelled;    // asked before each piece
};

// The model in memory, of which it takes as much as its file is large. kResource, before anything is made,
// when that is more than there is; kCancelled.
Result<gguf::File> synthesize(const SyntheticSpec& spec, const SynthesizeOptions& options = {});

// How large that file is.
uint64_t synthetic_bytes(const SyntheticSpec& spec);

// The same bytes as a file, written without ever holding a whole tensor. Returns their number. kIo;
// kCancelled.
Result<uint64_t> write_synthetic(const SyntheticSpec& spec, const std::string& path,
                                 const SynthesizeOptions& options = {});

}  // namespace inferno::model
