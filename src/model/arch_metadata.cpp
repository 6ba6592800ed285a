#include "model/arch_metadata.h"

#include "base/text.h"

namespace inferno::model {

std::string ArchMetadata::key(std::string_view suffix) const {
  return fmt::format("{}.{}", arch_, suffix);
}

Error ArchMetadata::refuse(std::string_view suffix, std::string_view expected, std::string_view found) const {
  const gguf::Value* value = find(suffix);
  const std::string place = value == nullptr ? "" : fmt::format("at byte {}: ", value->offset);
  return make_error(ErrorCode::kInvalidFile, "{}: {}metadata key \"{}\": expected {}, found {}",
                    escaped(file_.path(), 4096), place, key(suffix), expected, found);
}

Result<int64_t> ArchMetadata::size(std::string_view suffix, int64_t max) const {
  TRY_ASSIGN(const int64_t value, file_.meta<int64_t>(key(suffix)));
  if (value < 1 || value > max) return refuse(suffix, fmt::format("1 to {}", max), std::to_string(value));
  return value;
}

Result<int64_t> ArchMetadata::size_or(std::string_view suffix, int64_t max, int64_t fallback) const {
  if (!has(suffix)) return fallback;
  return size(suffix, max);
}

Result<double> ArchMetadata::number(std::string_view suffix, double low, double high) const {
  TRY_ASSIGN(const double value, file_.meta<double>(key(suffix)));
  if (value < low || value > high) {
    return refuse(suffix, fmt::format("{} to {}", low, high), fmt::format("{}", value));
  }
  return value;
}

Result<double> ArchMetadata::number_or(std::string_view suffix, double low, double high,
                                       double fallback) const {
  if (!has(suffix)) return fallback;
  return number(suffix, low, high);
}

// Before the array is copied: it may be a million times longer than the model is deep.
Status ArchMetadata::check_one_per_layer(std::string_view suffix, int64_t n_layers) const {
  const gguf::Value* value = find(suffix);
  if (value == nullptr || value->count == static_cast<uint64_t>(n_layers)) return {};
  return refuse(suffix, fmt::format("{} elements, one for each layer", n_layers),
                std::to_string(value->count));
}

Result<std::vector<int64_t>> ArchMetadata::size_per_layer(std::string_view suffix, int64_t n_layers,
                                                          int64_t max) const {
  const gguf::Value* value = find(suffix);
  if (value == nullptr || value->type != gguf::ValueType::kArray) {
    TRY_ASSIGN(const int64_t one, size(suffix, max));
    return std::vector<int64_t>(static_cast<size_t>(n_layers), one);
  }
  TRY(check_one_per_layer(suffix, n_layers));
  TRY_ASSIGN(const std::vector<uint64_t> values, file_.meta_array<uint64_t>(key(suffix)));
  std::vector<int64_t> sizes;
  for (const uint64_t v : values) {
    if (v < 1 || v > static_cast<uint64_t>(max)) {
      return refuse(suffix, fmt::format("1 to {}", max), fmt::format("{} for layer {}", v, sizes.size()));
    }
    sizes.push_back(static_cast<int64_t>(v));
  }
  return sizes;
}

Result<std::vector<bool>> ArchMetadata::bool_per_layer(std::string_view suffix, int64_t n_layers) const {
  TRY(check_one_per_layer(suffix, n_layers));
  return file_.meta_array<bool>(key(suffix));
}

}  // namespace inferno::model
