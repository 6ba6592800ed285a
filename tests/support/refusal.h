// EXPECT_REFUSED(vocabulary, part): loading it fails with a line that names the file and contains `part`.
// EXPECT_REFUSED_AT(vocabulary, key, index, part): it names the element and where that stands, too.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/tiny_vocabulary.h"

namespace inferno::test {

inline testing::AssertionResult is_refused(const TinyVocabulary& vocabulary, const std::string& part) {
  const std::string refusal = vocabulary.refusal();
  if (refusal.empty()) return testing::AssertionFailure() << "it was loaded";
  const bool is_one_line = refusal.find('\n') == std::string::npos;
  if (refusal.starts_with("tiny.gguf: ") && is_one_line && refusal.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "it says: " << refusal;
}

// The error about element `index` of an array names where it stands in the file.
inline testing::AssertionResult is_refused_at(const TinyVocabulary& vocabulary, const std::string& key,
                                              uint64_t index, const std::string& part) {
  const std::vector<std::byte> bytes = vocabulary.image();
  const auto file = gguf::File::from_memory(bytes, "tiny.gguf");
  const uint64_t offset = gguf::element_offset(*file->find(key), index);
  return is_refused(vocabulary, fmt::format("{}[{}] at byte {}: {}", key, index, offset, part));
}

}  // namespace inferno::test

#define EXPECT_REFUSED_AT(vocabulary, key, index, part) \
  EXPECT_TRUE(::inferno::test::is_refused_at(vocabulary, key, index, part))
#define EXPECT_REFUSED(vocabulary, part) EXPECT_TRUE(::inferno::test::is_refused(vocabulary, part))
