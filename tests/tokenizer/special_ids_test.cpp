#include "tokenizer/special_ids.h"

#include <gtest/gtest.h>

#include "support/refusal.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::sentencepiece_vocabulary;
using test::TinyVocabulary;

TEST(SpecialIds, RefusesIdsOutsideTheVocabulary) {  // D2
  for (const char* name : {"bos", "eos", "eot", "eom", "unknown", "padding", "mask", "fim_pre"}) {
    const std::string key = "tokenizer.ggml." + std::string(name) + "_token_id";
    for (const uint32_t id : {271u, 0x80000000u, 0xFFFFFFFFu}) {
      TinyVocabulary v = byte_level_vocabulary();
      v.extras = [&](gguf::Writer& w) { w.add(key, id); };
      EXPECT_REFUSED(v, key + " at byte");
      EXPECT_REFUSED(v, std::to_string(id));
    }
    TinyVocabulary v = byte_level_vocabulary();
    v.extras = [&](gguf::Writer& w) { w.add(key, int32_t{-1}); };
    EXPECT_REFUSED(v, key);
    v.extras = [&](gguf::Writer& w) { w.add(key, "1"); };
    EXPECT_REFUSED(v, key);
    v.extras = [&](gguf::Writer& w) { w.add(key, uint32_t{270}); };
    EXPECT_TRUE(v.load());
  }
}

TEST(SpecialIds, EndIdsAreEosEotEomEachOnce) {
  TinyVocabulary v = byte_level_vocabulary();
  v.extras = [](gguf::Writer& w) {
    w.add("tokenizer.ggml.eom_token_id", uint32_t{9});
    w.add("tokenizer.ggml.eot_token_id", uint32_t{8});
    w.add("tokenizer.ggml.eos_token_id", uint32_t{9});
  };
  const auto t = v.load();
  ASSERT_TRUE(t);
  EXPECT_EQ((*t)->end_ids(), (std::vector<int32_t>{9, 8}));
  EXPECT_EQ((*t)->eos_id(), 9);
  EXPECT_TRUE((*t)->is_end(8));
  EXPECT_FALSE((*t)->is_end(7));
  EXPECT_FALSE((*t)->bos_id());
}

TEST(SpecialIds, NoIdIsGuessedFromASpelling) {
  TinyVocabulary v = byte_level_vocabulary();
  v.add("<|im_end|>", TokenType::kControl);
  v.add("<|eot_id|>", TokenType::kControl);
  EXPECT_TRUE((*v.load())->end_ids().empty());
}

TEST(SpecialIds, BosAndEosAreAddedWhereTheFileSays) {
  TinyVocabulary v = byte_level_vocabulary();
  v.extras = [](gguf::Writer& w) {
    w.add("tokenizer.ggml.bos_token_id", uint32_t{1});
    w.add("tokenizer.ggml.eos_token_id", uint32_t{2});
    w.add("tokenizer.ggml.add_bos_token", true);
    w.add("tokenizer.ggml.add_eos_token", true);
  };
  const auto t = v.load();
  ASSERT_TRUE(t);
  EXPECT_EQ(*(*t)->encode("hello"), (std::vector<int32_t>{1, v.id("hello"), 2}));
  EXPECT_EQ(*(*t)->encode(""), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(*(*t)->encode("hello", {.add_bos = false}), std::vector<int32_t>{v.id("hello")});
}

TEST(SpecialIds, AbsentFlagsMeanWhatTheKindOfTokenizerDoes) {
  const auto with_bos = [](TinyVocabulary v) {
    v.extras = [](gguf::Writer& w) {
      w.add("tokenizer.ggml.bos_token_id", uint32_t{1});
      w.add("tokenizer.ggml.unknown_token_id", uint32_t{0});
    };
    return v;
  };
  EXPECT_TRUE((*with_bos(sentencepiece_vocabulary()).load())->adds_bos());
  EXPECT_TRUE((*with_bos(byte_level_vocabulary("llama-bpe")).load())->adds_bos());
  EXPECT_FALSE((*with_bos(byte_level_vocabulary("qwen2")).load())->adds_bos());
  EXPECT_FALSE((*with_bos(byte_level_vocabulary("gpt-2")).load())->adds_bos());
  EXPECT_FALSE((*byte_level_vocabulary("llama-bpe").load())->adds_bos());  // it names no BOS
}

TEST(SpecialIds, RefusesAFlagWithoutItsId) {
  for (const char* name : {"bos", "eos"}) {
    TinyVocabulary v = byte_level_vocabulary();
    v.extras = [&](gguf::Writer& w) { w.add(fmt::format("tokenizer.ggml.add_{}_token", name), true); };
    EXPECT_REFUSED(v, fmt::format("tokenizer.ggml.{}_token_id is missing", name));
  }
}

}  // namespace
}  // namespace inferno::tokenizer
