// EXPECT_REFUSED(vocabulary, part): loading it fails with a line that names the file and contains `part`.
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

}  // namespace inferno::test

#define EXPECT_REFUSED(vocabulary, part) EXPECT_TRUE(::inferno::test::is_refused(vocabulary, part))
