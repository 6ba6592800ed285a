// JSON texts, by nlohmann-json: read and written here alone, so that those templates are compiled once. Who
// looks into a Json includes <nlohmann/json.hpp> besides.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inferno {

using Json = nlohmann::ordered_json;

inline constexpr size_t kMaxJsonBytes = size_t{64} << 20;

// kInvalidFile for more than kMaxJsonBytes.
Status check_json_size(size_t bytes);

// kInvalidFile naming the position of what is no JSON. Refuses texts above kMaxJsonBytes and deep nesting,
// which cost far more memory than their size.
Result<Json> parse_json(std::string_view text);

// Compact, or indented by `indent`. Bytes that are not UTF-8 cannot stand in JSON: each such run becomes
// U+FFFD.
std::string json_text(const Json& json, int indent = -1);

}  // namespace inferno
