// A file that open() must refuse, and the words that its error must contain; a row of reliability tables.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gguf/file.h"
#include "support/raw_gguf.h"

namespace inferno::test {

// A length or an offset of -1.
inline constexpr uint64_t kMinusOne = ~uint64_t{0};

struct BadFile {
  std::string id;  // row of the catalogue of bad inputs, then what is wrong: "A5_EmptyKey"
  std::vector<std::byte> bytes;
  std::vector<std::string> words;
};

inline void PrintTo(const BadFile& bad, std::ostream* out) {
  *out << bad.id;
}

inline std::string id_of(const testing::TestParamInfo<BadFile>& info) {
  return info.param.id;
}

inline void expect_words(const Error& error, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(error.message.find(word), std::string::npos)
        << '"' << word << "\" is not in: " << error.message;
  }
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << "not one line: " << error.message;
}

inline void expect_refused(const BadFile& bad) {
  const auto file = gguf::File::from_memory(bad.bytes, "bad.gguf");
  ASSERT_FALSE(file.ok()) << bad.id << " was accepted";
  EXPECT_EQ(file.error().code, ErrorCode::kInvalidFile);
  EXPECT_TRUE(file.error().message.starts_with("bad.gguf: at byte ")) << file.error().message;
  expect_words(file.error(), bad.words);
}

}  // namespace inferno::test
