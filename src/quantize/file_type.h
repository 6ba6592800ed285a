// FileType: what a whole file can be quantized to, by the names that people use: a format for every matrix,
// or a mix. Its id is what general.file_type says.
//
// A matrix is a tensor of two dimensions or more whose name ends in ".weight", but for norms and the routers
// of experts (ffn_gate_inp). Everything else that is a number, norms and biases above all, is stored as F32.
//
// A format's own name (Q4_0, Q4_K, F16 …) gives every matrix that format. The mixes are those of llama.cpp,
// measured there to be worth their bits; what differs from the first column:
//
//            most   head  attn_v                    ffn_down                   attn_output
//   Q3_K_M   Q3_K   Q6_K  Q5_K in layers 0 and 1,   Q5_K in the first 1/16,    Q4_K
//                         Q4_K in the others        Q4_K in the others
//   Q4_K_S   Q4_K   Q6_K  Q5_K in layers 0 to 3     Q5_K in the first 1/8
//   Q4_K_M   Q4_K   Q6_K  Q6_K in half the layers   Q6_K in half the layers
//   Q5_K_S   Q5_K   Q6_K
//   Q5_K_M   Q5_K   Q6_K  Q6_K in half the layers   Q6_K in half the layers
//
// The head is output.weight or, where there is none, token_embd.weight, which then serves as both. "Half the
// layers" are the first eighth, the last eighth and every third between: i < n/8, i >= 7n/8, (i - n/8) % 3
// == 2. Where a row is no whole number of a format's blocks, storage_type() (tensor/dtype.h) says what takes
// its place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "tensor/dtype.h"

namespace inferno::quantize {

struct FileType {
  std::string_view name;
  uint32_t id;
  DType dtype;                     // of most matrices
  std::optional<DType> head = {};  // of the head, where it is another; whoever asks may choose it
};

// From the largest to the smallest.
std::span<const FileType> file_types();
// Letter case aside. kInvalidArgument, with all names and the nearest of as many bits, for another name.
Result<FileType> parse_file_type(std::string_view name);
// The same, of those alone that are a format for every matrix; `what` is what the complaint is about.
Result<DType> parse_format(std::string_view what, std::string_view name);

// Whether it is more than a format for every matrix.
bool is_mix(const FileType& file_type);

// What the type of a weight depends on.
struct WeightShape {
  std::string_view name;
  int n_dims;
};
// The name of the head among all weights of a model.
std::string_view head_of(std::span<const WeightShape> weights);
// What each of all weights of a model is to be stored as, before storage_type().
std::vector<DType> tensor_types(std::span<const WeightShape> weights, const FileType& file_type);
// The same for the tensors of `file`; integers and the like as they are.
std::vector<DType> tensor_types(const gguf::File& file, const FileType& file_type);

}  // namespace inferno::quantize
