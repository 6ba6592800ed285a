#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace inferno {
namespace {

std::string refusal(std::string_view text) {
  const Result<Json> json = parse_json(text);
  return json ? "" : json.error().message;
}

TEST(Json, WhatIsWrittenIsReadBack) {
  const Json json = {{"z", 1}, {"a", {1.5, nullptr, true, "\u00e9\n\"", -3}}, {"empty", Json::object()}};
  for (const int indent : {-1, 2}) EXPECT_EQ(parse_json(json_text(json, indent)).value(), json);
  EXPECT_EQ(json_text(Json{{"z", 1}, {"a", 2}}), R"({"z":1,"a":2})");  // members stay in order
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(json_text("a\xff"
                      "b"),
            "\"a\uFFFDb\"");
}

TEST(Json, WhatIsNoJsonIsRefusedWithItsPlace) {
  for (const char* text : {"", "{", "[1,]", "nul", "{} x", "\"a"}) {
    EXPECT_NE(refusal(text).find("expected JSON, found none at byte"), std::string::npos) << text;
  }
  EXPECT_NE(refusal("[1e999]").find("a number out of range"), std::string::npos);
}

// They cost far more memory than their size.
TEST(Json, DeepAndLargeTextsAreRefused) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(refusal(nested(64)), "");
  EXPECT_NE(refusal(nested(65)).find("nested at most 64 deep"), std::string::npos);
  EXPECT_EQ(refusal("\"" + std::string(1000, '[') + "\""), "");
  EXPECT_NE(refusal(std::string(kMaxJsonBytes + 1, ' ')).find("expected at most 67.1 MB of JSON"),
            std::string::npos);
}

}  // namespace
}  // namespace inferno
