// What `inferno inspect` says about an open GGUF file, for people and for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/output.h"
#include "gguf/file.h"

namespace inferno::apps {

// The tensors of one type, or of all.
struct TypeTotal {
  std::string type;
  uint64_t n_tensors = 0;
  uint64_t n_elements = 0;
  uint64_t bytes = 0;
  double bits_per_weight() const;
};
// Largest first; the sum of all ("all") is last.
std::vector<TypeTotal> totals_by_type(const gguf::File& file);

// "u32", or "string[151936]" for an array.
std::string type_text(const gguf::Value& value);

// Aligned text. `full` shows strings and arrays whole.
void write_text_report(const gguf::File& file, bool full, StdoutBuffer& out);
// One JSON object, everything whole; bytes that are not UTF-8 become U+FFFD, and numbers that JSON has not
// become null.
void write_json_report(const gguf::File& file, StdoutBuffer& out);

}  // namespace inferno::apps
