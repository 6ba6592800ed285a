#include "model/memory_items.h"

#include <algorithm>

#include "base/text.h"
#include "model/repack.h"

namespace inferno::model {

std::vector<MemoryItem> tensor_items(const gguf::File& file) {
  std::vector<MemoryItem> items;
  for (const gguf::TensorInfo& info : file.tensors())
    items.push_back({escaped(info.name), info.tensor.bytes()});
  return items;
}

uint64_t weight_memory(const gguf::File& file, const backend::Backend& backend, bool wants_repack_cache) {
  if (!backend.copies_weights() || (wants_repack_cache && can_have_repack_cache(file, backend))) return 0;
  uint64_t bytes = 0;
  for (const gguf::TensorInfo& info : file.tensors()) bytes += info.tensor.bytes();
  return bytes;
}

std::string largest_items(std::vector<MemoryItem> items) {
  constexpr size_t kNamed = 3;
  std::stable_sort(items.begin(), items.end(),
                   [](const MemoryItem& a, const MemoryItem& b) { return a.bytes > b.bytes; });
  const size_t n = std::min(items.size(), kNamed);
  std::string text = n == 1 ? "the largest is " : "the largest are ";
  for (size_t i = 0; i < n; ++i) {
    const char* before = i == 0 ? "" : i + 1 == n ? " and " : ", ";
    text += fmt::format("{}{} ({})", before, items[i].name, human_bytes(items[i].bytes));
  }
  return text;
}

}  // namespace inferno::model
