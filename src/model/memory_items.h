// What takes memory when a model is loaded and run, for whoever has to say that there is not enough.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "gguf/file.h"

namespace inferno::model {

// What to do where a device has too little.
constexpr const char* kHostAdvice = "; --backend parallel takes the host's memory";

struct MemoryItem {
  std::string name;  // printable: "token_embd.weight", "keys and values"
  uint64_t bytes = 0;
};

// The tensors of a file, by name.
std::vector<MemoryItem> tensor_items(const gguf::File& file);

// Of the backend's memory, what the file's weights take that cannot be given back: nothing where it reads
// them from the file, or from that of a repack cache, if one is wanted and can be.
uint64_t weight_memory(const gguf::File& file, const backend::Backend& backend, bool wants_repack_cache);

// "the largest are keys and values (2.1 GB), token_embd.weight (622.3 MB) and blk.0.ffn_up.weight (33.5 MB)":
// of these the three largest, or as many as there are.
std::string largest_items(std::vector<MemoryItem> items);

}  // namespace inferno::model
