#include "base/json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace inferno {
namespace {

constexpr int kMaxDepth = 64;

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Status check_json_size(size_t bytes) {
  if (bytes <= kMaxJsonBytes) return {};
  return make_error(ErrorCode::kInvalidFile, "expected at most {} of JSON, found {}",
                    human_bytes(kMaxJsonBytes), human_bytes(bytes));
}

Result<Json> parse_json(std::string_view text) {
  TRY(check_json_size(text.size()));
  if (nests_too_deep(text)) {
    return make_error(ErrorCode::kInvalidFile, "expected JSON nested at most {} deep, found deeper",
                      kMaxDepth);
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return make_error(ErrorCode::kInvalidFile, "expected JSON, found none at byte {}", error.byte);
  } catch (const Json::exception&) {  // a number that no double holds
    return Error{ErrorCode::kInvalidFile, "expected JSON, found a number out of range"};
  }
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace inferno
