#include "tokenizer/merge_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/refusal.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::TinyVocabulary;

Result<MergeTable> load_merges(const TinyVocabulary& v) {
  const std::vector<std::byte> image = v.image();
  TRY_ASSIGN(const gguf::File file, gguf::File::from_memory(image, "tiny.gguf"));
  TRY_ASSIGN(const Vocabulary vocabulary, Vocabulary::load(file));
  return MergeTable::load(file, vocabulary);
}

TEST(MergeTable, TheRankIsThePlaceInTheFile) {
  const TinyVocabulary v = byte_level_vocabulary();
  const auto merges = load_merges(v);
  ASSERT_TRUE(merges) << merges.error().message;
  const Merge merge = merges->find(v.id("he"), v.id("ll"));
  EXPECT_EQ(merge.rank, 2U);
  EXPECT_EQ(merge.id, v.id("hell"));
  EXPECT_LT(merges->find(v.id("ll"), v.id("he")).id, 0);
  EXPECT_LT(merges->find(v.id("h"), v.id("h")).id, 0);
}

// Of single letters, in the vocabulary or added to it: more than are looked up together.
TinyVocabulary vocabulary_of_pairs(int n_letters) {
  TinyVocabulary v = byte_level_vocabulary();
  v.merges.clear();
  for (char left = 'A'; left < 'A' + n_letters; ++left) {
    for (char right = 'A'; right < 'A' + n_letters; ++right)
      v.add_merge(std::string(1, left), std::string(1, right));
  }
  return v;
}

// Each by its two letters.
void expect_all_found(const TinyVocabulary& v) {
  const auto merges = load_merges(v);
  ASSERT_TRUE(merges) << merges.error().message;
  for (uint32_t i = 0; i < v.merges.size(); ++i) {
    const std::string& merge = v.merges[i];
    const Merge found = merges->find(v.id(merge.substr(0, 1)), v.id(merge.substr(2)));
    EXPECT_EQ(found.rank, i);
    EXPECT_EQ(found.id, v.id({merge[0], merge[2]}));
  }
}

TEST(MergeTable, MoreThanAreLookedUpTogether) {
  expect_all_found(vocabulary_of_pairs(14));
}

TEST(MergeTable, ProductsAreFoundWhereverTheyStand) {
  TinyVocabulary v = vocabulary_of_pairs(14);
  for (size_t i = 0; i + 3 < v.merges.size(); i += 7) std::swap(v.merges[i], v.merges[i + 3]);
  std::reverse(v.merges.begin() + 60, v.merges.begin() + 140);
  expect_all_found(v);
}

TEST(MergeTable, OfProductsWithTheSameSpellingTheFirst) {
  TinyVocabulary v = vocabulary_of_pairs(8);
  ASSERT_EQ(v.merges.size(), Vocabulary::kFoundTogether);
  const int32_t second = v.add("AB");  // where the product after the last of these would be
  v.add("HHA");
  v.merges[1] = "HH A";
  v.merges.push_back("A B");
  const auto merges = load_merges(v);
  ASSERT_TRUE(merges) << merges.error().message;
  ASSERT_NE(v.id("AB"), second);
  EXPECT_EQ(merges->find(v.id("A"), v.id("B")).id, v.id("AB"));
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

TEST(MergeTable, SpeaksOfTheFirstThatIsWrong) {
  TinyVocabulary v = vocabulary_of_pairs(14);
  v.merges[100] = "A xyz";
  v.merges[101] = v.merges[0];
  v.merges[102] = "A";
  EXPECT_REFUSED_AT(v, kMerges, 100, "\"A xyz\": its right part \"xyz\" is not in tokenizer.ggml.tokens");
  v.merges[100] = "A";
  EXPECT_REFUSED_AT(v, kMerges, 100, "\"A\" is not two tokens separated by one space");
  // Longer than what is looked up together.
  v.merges[70].assign(1 << 21, 'x');
  v.merges[70].append(" y");
  EXPECT_REFUSED_AT(v, kMerges, 70, "\"xxx");
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
