// Look-up by name in a vector of metadata or tensors through its positions sorted by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "gguf/file.h"

namespace inferno::gguf {

inline std::string_view name_of(const File::KeyValue& entry) {
  return entry.key;
}
inline std::string_view name_of(const TensorInfo& info) {
  return info.name;
}

// Fewer than 2^32 items.
template <class Item>
std::vector<uint32_t> sorted_by_name(const std::vector<Item>& items) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const int compared = name_of(items[a]).compare(name_of(items[b]));
    return compared != 0 ? compared < 0 : a < b;
  });
  return order;
}

// The position of an item whose name an earlier item has.
template <class Item>
std::optional<uint32_t> first_duplicate(const std::vector<Item>& items, const std::vector<uint32_t>& order) {
  const auto twice = std::adjacent_find(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return name_of(items[a]) == name_of(items[b]);
  });
  return twice == order.end() ? std::nullopt : std::optional(twice[1]);
}

template <class Item>
const Item* find_by_name(const std::vector<Item>& items, const std::vector<uint32_t>& order,
                         std::string_view name) {
  const auto at =
      std::lower_bound(order.begin(), order.end(), name,
                       [&](uint32_t i, std::string_view wanted) { return name_of(items[i]) < wanted; });
  return at != order.end() && name_of(items[*at]) == name ? &items[*at] : nullptr;
}

}  // namespace inferno::gguf
