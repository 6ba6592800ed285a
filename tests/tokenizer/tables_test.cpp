// Tokenizers from tables that were kept: the same in everything, and no bytes that pose as tables can hurt.
#include "tokenizer/tables.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "models/demo/demo_model.h"
#include "support/shared_data.h"
#include "support/tiny_vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::sentencepiece_vocabulary;
using test::TinyVocabulary;

struct Kept {
  gguf::File file;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<std::byte> tables;

  explicit Kept(const gguf::File& of)
      : file(of), tokenizer(Tokenizer::from_gguf(file).value()), tables(tokenizer->tables()) {}
};

// In memory that ends where they end.
Result<std::shared_ptr<const Tokenizer>> from(const gguf::File& file, std::span<const std::byte> tables) {
  const auto memory = std::make_shared<const std::vector<std::byte>>(tables.begin(), tables.end());
  return Tokenizer::from_tables(file, *memory, memory);
}

gguf::File file_of(const TinyVocabulary& vocabulary) {
  static std::vector<std::unique_ptr<std::vector<std::byte>>> images;
  images.push_back(std::make_unique<std::vector<std::byte>>(vocabulary.image()));
  return gguf::File::from_memory(*images.back(), "tiny.gguf").value();
}

gguf::File demo_file() {
  return gguf::File::from_memory(demo::model_bytes(), demo::kModelName).value();
}

std::vector<std::string> some_texts() {
  std::vector<std::string> texts = {"hello world",
                                    "",
                                    " ",
                                    "Once upon a time, there was a fox.\n\n\tIt said:",
                                    "<|end|>hello<think> x",
                                    "na\u00efve \u4f60\u597d \U0001F600",
                                    "\xff\xfe a"};
  std::mt19937 random(1);
  std::string noise(300, ' ');
  for (char& c : noise) c = static_cast<char>(random() % 256);
  texts.push_back(noise);
  return texts;
}

void expect_the_same(const Tokenizer& a, const Tokenizer& b) {
  ASSERT_EQ(a.vocab_size(), b.vocab_size());
  for (int32_t id = 0; id < a.vocab_size(); ++id) {
    ASSERT_EQ(a.spelling(id), b.spelling(id)) << id;
    ASSERT_EQ(a.type(id), b.type(id)) << id;
    ASSERT_EQ(a.piece(id), b.piece(id)) << id;
    ASSERT_EQ(a.find(a.spelling(id)), b.find(a.spelling(id))) << id;
  }
  EXPECT_EQ(a.find("no such token"), b.find("no such token"));
  for (const std::string& text : some_texts()) {
    const auto ids = a.encode(text).value();
    EXPECT_EQ(ids, b.encode(text).value()) << text;
    EXPECT_EQ(a.decode(ids).value(), b.decode(ids).value()) << text;
  }
  EXPECT_EQ(a.bos_id(), b.bos_id());
  EXPECT_EQ(a.end_ids(), b.end_ids());
  EXPECT_EQ(a.model(), b.model());
  EXPECT_EQ(a.pretokenizer(), b.pretokenizer());
  EXPECT_EQ(a.adds_space_prefix(), b.adds_space_prefix());
}

std::vector<gguf::File> all_files() {
  TinyVocabulary twice = byte_level_vocabulary();
  twice.add("hello");
  return {file_of(byte_level_vocabulary()), file_of(sentencepiece_vocabulary()), file_of(twice), demo_file()};
}

TEST(TokenizerTables, AreTheSameTokenizer) {
  for (const gguf::File& file : all_files()) {
    const Kept kept(file);
    const auto again = from(file, kept.tables);
    ASSERT_TRUE(again) << again.error().message;
    expect_the_same(*kept.tokenizer, **again);
    EXPECT_EQ((*again)->tables(), kept.tables) << "they can be kept again";
  }
}

class RealTokenizerTables : public testing::TestWithParam<const char*> {};

TEST_P(RealTokenizerTables, AreTheSameTokenizer) {
  const std::string name = std::string("tokenizers/gguf-vocab/") + GetParam();
  REQUIRE_SHARED_DATA(name);
  const Kept kept(gguf::File::open(test::shared_data(name).string()).value());
  const auto again = from(kept.file, kept.tables);
  ASSERT_TRUE(again) << again.error().message;
  expect_the_same(*kept.tokenizer, **again);
}

INSTANTIATE_TEST_SUITE_P(Shared, RealTokenizerTables,
                         testing::Values("vocab-qwen3.gguf", "vocab-llama3.gguf", "vocab-gemma3.gguf"));

TEST(TokenizerTables, OutliveTheFile) {
  std::shared_ptr<const Tokenizer> tokenizer;
  {
    const std::vector<std::byte> image = byte_level_vocabulary().image();
    const Kept kept(gguf::File::from_memory(image, "tiny.gguf").value());
    tokenizer = from(kept.file, kept.tables).value();
  }
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("hello world").value()).value(), "hello world");
}

TEST(TokenizerTables, CutOffTheyAreRefused) {
  for (const gguf::File& file : {file_of(byte_level_vocabulary()), file_of(sentencepiece_vocabulary())}) {
    const Kept kept(file);
    for (size_t n = 0; n < kept.tables.size(); ++n) {
      const auto cut = from(file, std::span(kept.tables).first(n));
      ASSERT_FALSE(cut) << n;
      ASSERT_EQ(cut.error().code, ErrorCode::kInvalidFile);
      ASSERT_EQ(cut.error().message, "tiny.gguf: the tables of its tokenizer that were kept are damaged");
    }
  }
}

TEST(TokenizerTables, OfAnotherVersionTheyAreRefused) {
  const Kept kept(demo_file());
  std::vector<std::byte> tables = kept.tables;
  tables[0] ^= std::byte{0x80};
  EXPECT_FALSE(from(kept.file, tables));
}

// Other ids may come of it, but nothing is read that is not there, and everything ends.
TEST(TokenizerTables, WhateverIsInThemNothingIsReadBeyond) {
  std::mt19937 random(7);
  for (const gguf::File& file : {file_of(byte_level_vocabulary()), file_of(sentencepiece_vocabulary())}) {
    const Kept kept(file);
    int n_refused = 0;
    for (int i = 0; i < 3000; ++i) {
      std::vector<std::byte> tables = kept.tables;
      for (unsigned n = 1 + random() % 8; n > 0; --n) {
        constexpr std::byte kValues[] = {std::byte{0}, std::byte{1}, std::byte{0x7f}, std::byte{0x80},
                                         std::byte{0xff}};
        tables[random() % tables.size()] = random() % 2 == 0 ? kValues[random() % std::size(kValues)]
                                                             : static_cast<std::byte>(random() % 256);
      }
      const auto tokenizer = from(file, tables);
      if (!tokenizer) {
        ++n_refused;
        continue;
      }
      for (const std::string& text : some_texts()) {
        const auto ids = (*tokenizer)->encode(text);
        ASSERT_TRUE(ids);
        ASSERT_TRUE((*tokenizer)->decode(*ids));
      }
      for (int32_t id = 0; id < (*tokenizer)->vocab_size(); ++id) (*tokenizer)->piece(id);
    }
    EXPECT_GT(n_refused, 300);
  }
}

// Each condition that keeps look-ups within the tables, broken alone.
TEST(TokenizerTables, WhatWouldLeadOutOfThemIsRefused) {
  const Kept kept(file_of(byte_level_vocabulary()));
  const auto aligned = [](size_t at) { return (at + 63) / 64 * 64; };
  const auto number_at = [&](size_t at) {
    uint64_t number = 0;
    std::memcpy(&number, &kept.tables[at], sizeof number);
    return number;
  };
  const size_t n = number_at(64), n_bytes = number_at(128);
  const size_t begins = aligned(320 + n_bytes), types = aligned(begins + (n + 1) * 8);
  const size_t slots = aligned(types + n * 4), n_slots = std::bit_ceil(2 * n);
  const size_t n_merge_slots_at = aligned(slots + n_slots * 4), merge_slots = n_merge_slots_at + 128;
  const size_t n_merge_slots = number_at(n_merge_slots_at);
  ASSERT_EQ(merge_slots + n_merge_slots * 16, kept.tables.size());
  const auto is_refused_with = [&](size_t at, auto value, size_t times = 1, size_t step = sizeof value) {
    std::vector<std::byte> tables = kept.tables;
    for (size_t i = 0; i < times; ++i) std::memcpy(&tables[at + i * step], &value, sizeof value);
    return !from(kept.file, tables);
  };
  EXPECT_FALSE(is_refused_with(64, static_cast<uint64_t>(n))) << "as it is";
  EXPECT_TRUE(is_refused_with(begins, uint64_t{1}));
  EXPECT_TRUE(is_refused_with(begins + 8, ~uint64_t{0}));
  EXPECT_TRUE(is_refused_with(begins + n * 8, static_cast<uint64_t>(n_bytes + 1)));
  EXPECT_TRUE(is_refused_with(types, int32_t{0}));
  EXPECT_TRUE(is_refused_with(types, int32_t{7}));
  EXPECT_TRUE(is_refused_with(slots, static_cast<int32_t>(n)));
  EXPECT_TRUE(is_refused_with(slots, int32_t{-2}));
  EXPECT_TRUE(is_refused_with(slots, int32_t{0}, n_slots)) << "none is empty";
  EXPECT_TRUE(is_refused_with(n_merge_slots_at, static_cast<uint64_t>(n_merge_slots - 1)));
  EXPECT_TRUE(is_refused_with(n_merge_slots_at, uint64_t{0}));
  EXPECT_TRUE(is_refused_with(merge_slots, uint64_t{1}, n_merge_slots, 16)) << "none is empty";
  size_t occupied = merge_slots;
  while (number_at(occupied) == ~uint64_t{0}) occupied += 16;
  EXPECT_TRUE(is_refused_with(occupied + 12, static_cast<int32_t>(n)));
  EXPECT_TRUE(is_refused_with(occupied + 12, int32_t{-1}));
}

TEST(TokenizerTables, OfAnotherVocabularyTheyAreRefused) {
  TinyVocabulary longer = byte_level_vocabulary();
  longer.add("one more");
  const Kept tiny(file_of(byte_level_vocabulary())), other(file_of(longer));
  EXPECT_FALSE(from(other.file, tiny.tables));
  EXPECT_FALSE(from(tiny.file, other.tables));
  EXPECT_FALSE(from(demo_file(), tiny.tables));
  TinyVocabulary spelled = byte_level_vocabulary();
  spelled.tokens.back() += "s";
  EXPECT_FALSE(from(file_of(spelled), tiny.tables)) << "as many tokens, but another byte";
}

}  // namespace
}  // namespace inferno::tokenizer
