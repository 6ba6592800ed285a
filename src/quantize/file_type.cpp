#include "quantize/file_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace inferno::quantize {
namespace {

constexpr DType kMixHead = DType::kQ6_K;

constexpr std::array kFileTypes = {
    FileType{"F32", 0, DType::kF32},
    FileType{"F16", 1, DType::kF16},
    FileType{"BF16", 32, DType::kBF16},
    FileType{"Q8_0", 7, DType::kQ8_0},
    FileType{"Q6_K", 18, DType::kQ6_K},
    FileType{"Q5_1", 9, DType::kQ5_1},
    FileType{"Q5_K_M", 17, DType::kQ5_K, kMixHead},
    FileType{"Q5_K_S", 16, DType::kQ5_K, kMixHead},
    FileType{"Q5_K", 16, DType::kQ5_K},
    FileType{"Q5_0", 8, DType::kQ5_0},
    FileType{"Q4_1", 3, DType::kQ4_1},
    FileType{"Q4_K_M", 15, DType::kQ4_K, kMixHead},
    FileType{"Q4_K_S", 14, DType::kQ4_K, kMixHead},
    FileType{"Q4_K", 14, DType::kQ4_K},
    FileType{"Q4_0", 2, DType::kQ4_0},
    FileType{"IQ4_NL", 25, DType::kIQ4_NL},
    FileType{"IQ4_XS", 30, DType::kIQ4_XS},
    FileType{"MXFP4", 38, DType::kMXFP4},
    FileType{"Q3_K_M", 12, DType::kQ3_K, kMixHead},
    FileType{"Q3_K", 11, DType::kQ3_K},
    FileType{"Q2_K", 10, DType::kQ2_K},
};

enum class Layers { kAll, kFirst2, kFirst4, kFirstEighth, kFirstSixteenth, kHalf };

// In a mix: tensors of this name in these layers are of this type. The first row that fits counts.
struct Exception {
  std::string_view mix;
  std::string_view tensor;  // after "blk.N."
  Layers layers;
  DType dtype;
};
constexpr std::array kExceptions = {
    Exception{"Q3_K_M", "attn_v.weight", Layers::kFirst2, DType::kQ5_K},
    Exception{"Q3_K_M", "attn_v.weight", Layers::kAll, DType::kQ4_K},
    Exception{"Q3_K_M", "ffn_down.weight", Layers::kFirstSixteenth, DType::kQ5_K},
    Exception{"Q3_K_M", "ffn_down.weight", Layers::kAll, DType::kQ4_K},
    Exception{"Q3_K_M", "attn_output.weight", Layers::kAll, DType::kQ4_K},
    Exception{"Q4_K_S", "attn_v.weight", Layers::kFirst4, DType::kQ5_K},
    Exception{"Q4_K_S", "ffn_down.weight", Layers::kFirstEighth, DType::kQ5_K},
    Exception{"Q4_K_M", "attn_v.weight", Layers::kHalf, DType::kQ6_K},
    Exception{"Q4_K_M", "ffn_down.weight", Layers::kHalf, DType::kQ6_K},
    Exception{"Q5_K_M", "attn_v.weight", Layers::kHalf, DType::kQ6_K},
    Exception{"Q5_K_M", "ffn_down.weight", Layers::kHalf, DType::kQ6_K},
};

bool contains(Layers layers, uint64_t i, uint64_t n) {
  switch (layers) {
    case Layers::kAll:
      return true;
    case Layers::kFirst2:
      return i < 2;
    case Layers::kFirst4:
      return i < 4;
    case Layers::kFirstEighth:
      return i < n / 8;
    case Layers::kFirstSixteenth:
      return i < n / 16;
    case Layers::kHalf:
      return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
  }
  return false;
}

// "blk.7.attn_v.weight": 7 and "attn_v.weight".
struct LayerTensor {
  uint64_t layer;
  std::string_view tensor;
};
std::optional<LayerTensor> parse_layer_tensor(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  uint32_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
  return LayerTensor{layer, name.substr(static_cast<size_t>(end - name.data()) + 1)};
}

uint64_t count_layers(std::span<const WeightShape> weights) {
  uint64_t n = 0;
  for (const WeightShape& weight : weights) {
    if (const auto tensor = parse_layer_tensor(weight.name)) n = std::max(n, tensor->layer + 1);
  }
  return n;
}

bool is_matrix(const WeightShape& weight) {
  return weight.n_dims >= 2 && weight.name.ends_with(".weight") &&
         weight.name.find("norm") == std::string_view::npos &&
         weight.name.find("ffn_gate_inp") == std::string_view::npos;
}

DType matrix_type(const FileType& file_type, std::string_view name, std::string_view head,
                  uint64_t n_layers) {
  if (name == head) return file_type.head.value_or(file_type.dtype);
  const auto tensor = parse_layer_tensor(name);
  if (!tensor) return file_type.dtype;
  const auto* const exception =
      std::find_if(kExceptions.begin(), kExceptions.end(), [&](const Exception& row) {
        return row.mix == file_type.name && row.tensor == tensor->tensor &&
               contains(row.layers, tensor->layer, n_layers);
      });
  return exception == kExceptions.end() ? file_type.dtype : exception->dtype;
}

// The '4' of "IQ4_XS"; '\0' without any.
char bits(std::string_view name) {
  const size_t at = name.find_first_of("0123456789");
  return at == std::string_view::npos ? '\0' : name[at];
}

// `what` is what takes the name.
Result<FileType> parse(std::string_view what, std::string_view name, bool may_be_mix) {
  std::vector<std::string_view> names, of_as_many_bits;
  for (const FileType& file_type : kFileTypes) {
    if (is_mix(file_type) && !may_be_mix) continue;
    if (equals_ignoring_case(file_type.name, name)) return file_type;
    names.push_back(file_type.name);
    // IQ4_XS is not what somebody means who asks for IQ2_XS.
    if (bits(file_type.name) == bits(name)) of_as_many_bits.push_back(file_type.name);
  }
  const std::string_view nearest = nearest_name(name, of_as_many_bits);
  return make_error(ErrorCode::kInvalidArgument, "{}: expected one of {}, found {}{}", what,
                    join(names, ", "), quote(name),
                    nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

}  // namespace

std::span<const FileType> file_types() {
  return kFileTypes;
}

Result<FileType> parse_file_type(std::string_view name) {
  return parse("TYPE", name, true);
}

Result<DType> parse_format(std::string_view what, std::string_view name) {
  TRY_ASSIGN(const FileType file_type, parse(what, name, false));
  return file_type.dtype;
}

bool is_mix(const FileType& file_type) {
  return file_type.name != name(file_type.dtype);
}

std::string_view head_of(std::span<const WeightShape> weights) {
  static constexpr std::string_view kOwn = "output.weight", kTied = "token_embd.weight";
  const bool has_own = std::any_of(weights.begin(), weights.end(),
                                   [](const WeightShape& weight) { return weight.name == kOwn; });
  return has_own ? kOwn : kTied;
}

std::vector<DType> tensor_types(std::span<const WeightShape> weights, const FileType& file_type) {
  const std::string_view head = head_of(weights);
  const uint64_t n_layers = count_layers(weights);
  std::vector<DType> types;
  for (const WeightShape& weight : weights) {
    types.push_back(is_matrix(weight) ? matrix_type(file_type, weight.name, head, n_layers) : DType::kF32);
  }
  return types;
}

std::vector<DType> tensor_types(const gguf::File& file, const FileType& file_type) {
  std::vector<WeightShape> weights;
  for (const gguf::TensorInfo& info : file.tensors()) weights.push_back({info.name, info.tensor.n_dims});
  std::vector<DType> types = tensor_types(weights, file_type);
  for (size_t i = 0; i < types.size(); ++i) {
    const DType dtype = file.tensors()[i].tensor.dtype;
    if (!traits(dtype).is_weight) types[i] = dtype;
  }
  return types;
}

}  // namespace inferno::quantize
