// ArchMetadata: typed, bounded access to the metadata keys of one architecture ("<arch>.block_count" …).
// Every error is kInvalidFile and names file, key, expected and found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"

namespace inferno::model {

// Keys are given without the architecture's name. The file outlives this view of it.
class ArchMetadata {
 public:
  ArchMetadata(const gguf::File& file, std::string_view arch) : file_(file), arch_(arch) {}

  const gguf::File& file() const { return file_; }
  std::string key(std::string_view suffix) const;
  const gguf::Value* find(std::string_view suffix) const { return file_.find(key(suffix)); }
  bool has(std::string_view suffix) const { return find(suffix) != nullptr; }
  Error refuse(std::string_view suffix, std::string_view expected, std::string_view found) const;

  // An integer in [1, max].
  Result<int64_t> size(std::string_view suffix, int64_t max) const;
  Result<int64_t> size_or(std::string_view suffix, int64_t max, int64_t fallback) const;
  // A float in [low, high].
  Result<double> number(std::string_view suffix, double low, double high) const;
  Result<double> number_or(std::string_view suffix, double low, double high, double fallback) const;

  // One integer in [1, max] for all layers, or an array with one for each.
  Result<std::vector<int64_t>> size_per_layer(std::string_view suffix, int64_t n_layers, int64_t max) const;
  // An array with one bool for each layer.
  Result<std::vector<bool>> bool_per_layer(std::string_view suffix, int64_t n_layers) const;

 private:
  Status check_one_per_layer(std::string_view suffix, int64_t n_layers) const;

  const gguf::File& file_;
  std::string_view arch_;
};

}  // namespace inferno::model
