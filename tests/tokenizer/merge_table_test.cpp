#include "tokenizer/merge_table.h"

#include <gtest/gtest.h>

#include "support/refusal.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::TinyVocabulary;

TEST(MergeTable, TheRankIsThePlaceInTheFile) {
  const TinyVocabulary v = byte_level_vocabulary();
  const std::vector<std::byte> image = v.image();
  const auto file = gguf::File::from_memory(image, "tiny.gguf");
  ASSERT_TRUE(file);
  const auto vocabulary = Vocabulary::load(*file);
  ASSERT_TRUE(vocabulary);
  const auto merges = MergeTable::load(*file, *vocabulary);
  ASSERT_TRUE(merges);
  const Merge merge = merges->find(v.id("he"), v.id("ll"));
  EXPECT_EQ(merge.rank, 2U);
  EXPECT_EQ(merge.id, v.id("hell"));
  EXPECT_LT(merges->find(v.id("ll"), v.id("he")).id, 0);
  EXPECT_LT(merges->find(v.id("h"), v.id("h")).id, 0);
}

constexpr const char* kMerges = "tokenizer.ggml.merges";

TEST(MergeTable, RefusesWhatIsNotTwoParts) {  // D3
  for (const char* merge : {"", " ", "he", "he ", " he", "h e l", "he  ll", "a a "}) {
    TinyVocabulary v = byte_level_vocabulary();
    v.merges.insert(v.merges.begin() + 3, merge);
    EXPECT_REFUSED_AT(v, kMerges, 3, fmt::format("\"{}\" is not two tokens separated by one space", merge));
  }
}

TEST(MergeTable, RefusesPartsAndProductsThatAreNotTokens) {  // D3
  TinyVocabulary v = byte_level_vocabulary();
  v.merges.push_back("xyz a");
  EXPECT_REFUSED_AT(v, kMerges, 13, "\"xyz a\": its left part \"xyz\" is not in tokenizer.ggml.tokens");
  v.merges.back() = "a xyz";
  EXPECT_REFUSED(v, "its right part \"xyz\"");
  v.merges.back() = "a b";
  EXPECT_REFUSED(v, "its product \"ab\"");
}

TEST(MergeTable, RefusesDuplicates) {  // D3
  TinyVocabulary v = byte_level_vocabulary();
  v.merges.push_back(v.merges[1]);
  EXPECT_REFUSED_AT(v, kMerges, 13, "\"l l\" stands there twice");
}

TEST(MergeTable, RefusesMissingMerges) {
  TinyVocabulary v = byte_level_vocabulary();
  v.left_out = {"tokenizer.ggml.merges"};
  EXPECT_REFUSED(v, "tokenizer.ggml.merges");
  v.extras = [](gguf::Writer& w) { w.add("tokenizer.ggml.merges", "a b"); };
  EXPECT_REFUSED(v, "tokenizer.ggml.merges");
}

TEST(MergeTable, NoMergesAtAllMeansBytes) {
  TinyVocabulary v = byte_level_vocabulary();
  v.merges.clear();
  const auto t = v.load();
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ((*t)->encode("hello")->size(), 5U);
}

}  // namespace
}  // namespace inferno::tokenizer
