#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json.h"
#include "models/demo/demo_model.h"
#include "support/refusal.h"
#include "support/shared_data.h"
#include "support/tiny_vocabulary.h"
#include "tokenizer/unicode.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::sentencepiece_vocabulary;
using test::TinyVocabulary;

using Ids = std::vector<int32_t>;

std::shared_ptr<const Tokenizer> demo_tokenizer() {
  const auto file = gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
  EXPECT_TRUE(file) << file.error().message;
  const auto tokenizer = Tokenizer::from_gguf(*file);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *tokenizer;
}

TEST(Tokenizer, RefusesOtherModels) {
  TinyVocabulary v = byte_level_vocabulary();
  v.model = "bert";
  EXPECT_REFUSED(v, "unknown tokenizer \"bert\"; known are gpt2, llama");
  v.left_out = {"tokenizer.ggml.model"};
  EXPECT_REFUSED(v, "tokenizer.ggml.model");
}

TEST(Tokenizer, OutlivesTheFile) {
  TinyVocabulary v = byte_level_vocabulary();
  auto image = std::make_unique<std::vector<std::byte>>(v.image());
  auto file = std::make_unique<gguf::File>(*gguf::File::from_memory(*image, "tiny.gguf"));
  const auto tokenizer = *Tokenizer::from_gguf(*file);
  file.reset();
  image.reset();
  EXPECT_EQ(*tokenizer->encode("hello world"), (Ids{v.id("hello"), v.id("Ġworld")}));
  EXPECT_EQ(tokenizer->model(), "gpt2");
  EXPECT_EQ(tokenizer->pretokenizer(), "qwen2");
}

TEST(Tokenizer, RefusesTextThatIsTooLong) {  // D9
  const auto t = *byte_level_vocabulary().load();
  // Refused by its size alone: no byte of it is read.
  const std::string_view text("a", size_t{1} << 31);
  const auto ids = t->encode(text);
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().message, "the text has 2147483648 bytes, at most 2147483647 can be encoded at once");
  EXPECT_EQ(ids.error().code, ErrorCode::kInvalidArgument);
}

TEST(Tokenizer, RefusesToDecodeIdsOutsideTheVocabulary) {  // D13
  const auto t = *byte_level_vocabulary().load();
  for (const int32_t id : {-1, t->vocab_size(), 0x7FFFFFFF, -0x7FFFFFFF - 1}) {
    const auto text = t->decode(Ids{1, id});
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().message,
              fmt::format("token id {} is not in the vocabulary of {} tokens", id, t->vocab_size()));
    EXPECT_THROW(t->piece(id), InternalError);
  }
}

TEST(Tokenizer, SkippingSpecialsKeepsUserDefinedText) {
  const TinyVocabulary v = byte_level_vocabulary();
  const auto t = *v.load();
  const Ids ids = *t->encode("<think>hello<|end|>");
  EXPECT_EQ(ids, (Ids{v.id("<think>"), v.id("hello"), v.id("<|end|>")}));
  EXPECT_EQ(*t->decode(ids), "<think>hello<|end|>");
  EXPECT_EQ(*t->decode(ids, /*skip_special=*/true), "<think>hello");
}

TEST(Tokenizer, ABatchGivesTheIdsOfEachText) {
  const auto t = *sentencepiece_vocabulary().load();
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back(fmt::format("hello {} {}", i, std::string(i % 7, 'a')));
  for (const unsigned n_threads : {0u, 1u, 3u}) {
    const auto batch = t->encode_batch(texts, {.add_bos = false}, n_threads);
    ASSERT_TRUE(batch);
    ASSERT_EQ(batch->size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ((*batch)[i], *t->encode(texts[i], {.add_bos = false}));
    }
  }
  EXPECT_TRUE(t->encode_batch({})->empty());
}

TEST(Tokenizer, TheDemoModelsIds) {
  const auto t = demo_tokenizer();
  EXPECT_EQ(t->end_ids(), (Ids{4093, 4095}));
  EXPECT_FALSE(t->adds_bos());
  const std::vector<std::pair<std::string, Ids>> golden = {
      {"Once upon a time, there was a little fox named Finn.",
       {542, 495, 258, 420, 44, 373, 293, 258, 381, 1251, 453, 2046, 46}},
      {"\"I'm here!\" she'll said; \"we've won, they're gone, it's Tom's, I'd go.\"",
       {879, 2164, 929,  395, 331, 1489, 308,  59,  285, 119, 101,  2175, 1903, 44,
        372, 2858, 1173, 44,  312, 480,  1640, 480, 44,  321, 2425, 459,  352}},
  };
  for (const auto& [text, ids] : golden) {
    EXPECT_EQ(*t->encode(text), ids);
    EXPECT_EQ(*t->decode(ids), text);
  }
}

TEST(Tokenizer, AllStringsOfTheDemoModelsGoldens) {
  REQUIRE_SHARED_DATA("demo/text-goldens-f32.json");
  const auto goldens = parse_json(test::read_file(test::shared_data("demo/text-goldens-f32.json"))).value();
  const auto t = demo_tokenizer();
  ASSERT_EQ(goldens["tokenizer"].size(), 110U);
  int n_not_normalized = 0;
  for (const char* list : {"tokenizer", "goldens"}) {
    for (const auto& golden : goldens[list]) {
      const auto text = golden[golden.contains("prompt") ? "prompt" : "text"].get<std::string>();
      if (nfc(text) == text) {
        EXPECT_EQ(*t->encode(text), golden["ids"].get<Ids>()) << text;
      } else {
        // The recipe's own tokenizer does not normalize; "qwen2", which its file names, does.
        EXPECT_EQ(*t->encode(text), *t->encode(nfc(text)));
        EXPECT_EQ(*t->decode(golden["ids"].get<Ids>()), text);
        ++n_not_normalized;
      }
    }
  }
  EXPECT_EQ(n_not_normalized, 1);
}

}  // namespace
}  // namespace inferno::tokenizer
