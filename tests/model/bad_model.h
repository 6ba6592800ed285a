// A model that must not load, and the words that its error must contain; a row of reliability tables.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/load.h"
#include "support/tiny_model.h"

namespace inferno::test {

struct BadModel {
  std::string id;  // row of the catalogue of bad inputs, then what is wrong: "C1_NoHeads"
  std::function<void(TinyModel&)> change;
  std::vector<std::string> words;
  TinySpec spec = {};
};

inline void PrintTo(const BadModel& bad, std::ostream* out) {
  *out << bad.id;
}

inline std::string id_of(const testing::TestParamInfo<BadModel>& info) {
  return info.param.id;
}

inline void expect_refused(const TinyModel& model, const std::vector<std::string>& words) {
  const std::vector<std::byte> bytes = model.bytes();
  auto file = gguf::File::from_memory(bytes, "tiny.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto loaded = model::load_from_gguf(std::move(*file), *backend::create_backend("scalar"));
  ASSERT_FALSE(loaded.ok()) << "it was loaded";
  const std::string& message = loaded.error().message;
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidFile);
  EXPECT_TRUE(message.starts_with("tiny.gguf: ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << "not one line: " << message;
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << '"' << word << "\" is not in: " << message;
  }
}

inline void expect_refused(const BadModel& bad) {
  TinyModel model(bad.spec);
  bad.change(model);
  expect_refused(model, bad.words);
}

}  // namespace inferno::test
