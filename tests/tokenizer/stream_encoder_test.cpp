#include "tokenizer/stream_encoder.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "models/demo/demo_model.h"
#include "support/random.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::sentencepiece_vocabulary;
using test::TinyVocabulary;
using Ids = std::vector<int32_t>;

// What is hard to cut: runs of white space, digits, contractions, marks that compose and reorder, Hangul by
// parts, special tokens and their beginnings, letters of one token, the mark that stands for a space, broken
// UTF-8.
constexpr const char* kParts[] = {
    " ",       "  ",     "\n",       "\r\n",     "\t",       "hello",     "world",    "aaaa",
    "a",       "'s",     "'LL",      "1",        "234",      ".",         "!?",       "é",
    "e\u0301", "\u0323", "\u0301",   "\u0344",   "\uac00",   "\u1100",    "\u1161",   "\u11a8",
    "中",      "文。",   "が",       "か\u3099", "\u0958",   "\u212b",    "😀",        "\u09c7",
    "\u09be",  "▁",      "<",        "<th",      "<think>",  "<thinker>", "<|end|>",  "<|e",
    "|>",      "\xff",   "\xe4\xb8", "\xad",     "\xe2\x96", "\x81",      "\xf0\x9f", "\xc3",
    "\xa9",    "\u00a0", "\u3000",   "ա",        "\u1b05",   "\u1b35",    "\u17d2"};

std::string random_text(test::Random& random) {
  std::string text;
  const int64_t n = random.below(24);
  for (int64_t i = 0; i < n; ++i) {
    const std::string part = kParts[random.below(std::size(kParts))];
    const int64_t repeats = random.below(8) == 0 ? 1 + random.below(6) : 1;
    for (int64_t r = 0; r < repeats; ++r) text += part;
  }
  return text;
}

// The ids of `text`, given in random pieces.
Ids streamed(StreamEncoder& encoder, std::string_view text, test::Random& random) {
  Ids ids;
  const int64_t longest = 1 + random.below(12);
  while (!text.empty()) {
    const auto n = std::min(text.size(), static_cast<size_t>(random.below(longest + 1)));
    EXPECT_TRUE(encoder.push(text.substr(0, n), ids));
    text.remove_prefix(n);
  }
  encoder.finish(ids);
  return ids;
}

void expect_exact(const std::shared_ptr<const Tokenizer>& tokenizer, int n_texts) {
  test::Random random(7);
  for (int i = 0; i < n_texts; ++i) {
    const EncodeOptions options{.add_bos = random.below(2) == 0, .parse_special = random.below(2) == 0};
    StreamEncoder encoder(tokenizer, options);
    for (int again = 0; again < 2; ++again) {  // after finish() it is as new
      const std::string text = random_text(random);
      ASSERT_EQ(streamed(encoder, text, random), *tokenizer->encode(text, options)) << quote(text);
    }
  }
}

TinyVocabulary with_more_specials(TinyVocabulary vocabulary) {
  for (const char* token : {"<thinker>", "<think><", "  ", "<a", "a<|e", "\n\n"}) {
    vocabulary.add(token, TokenType::kUserDefined);
  }
  return vocabulary;
}

TEST(StreamEncoder, GivesTheIdsOfTheWholeTextForEveryPretokenizer) {
  for (const char* name : {"gpt-2", "llama-bpe", "qwen2", "starcoder", "smollm", "phi-2", "deepseek-llm"}) {
    SCOPED_TRACE(name);
    expect_exact(*byte_level_vocabulary(name).load(), 1500);
    expect_exact(*with_more_specials(byte_level_vocabulary(name)).load(), 300);
  }
}

TEST(StreamEncoder, GivesTheIdsOfTheWholeTextForSentencePiece) {
  expect_exact(*sentencepiece_vocabulary().load(), 3000);
  expect_exact(*with_more_specials(sentencepiece_vocabulary()).load(), 1000);
  TinyVocabulary no_prefix = sentencepiece_vocabulary();
  const auto extras = no_prefix.extras;
  no_prefix.extras = [&](gguf::Writer& writer) {
    extras(writer);
    writer.add("tokenizer.ggml.add_space_prefix", false);
    writer.add("tokenizer.ggml.add_eos_token", true);
  };
  expect_exact(*no_prefix.load(), 1000);
  TinyVocabulary joined = sentencepiece_vocabulary();
  joined.add("o▁a", TokenType::kNormal, -0.5F);  // a token with a space inside
  expect_exact(*joined.load(), 1000);
}

TEST(StreamEncoder, GivesTheIdsOfTheWholeTextForTheDemoModel) {
  const auto file = gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
  expect_exact(*Tokenizer::from_gguf(*file), 1000);
}

TEST(StreamEncoder, IdsComeAsSoonAsTheyAreSettled) {
  const TinyVocabulary v = byte_level_vocabulary();
  StreamEncoder encoder(*v.load());
  Ids ids;
  ASSERT_TRUE(encoder.push("hel", ids));
  ASSERT_TRUE(encoder.push("lo", ids));
  EXPECT_EQ(ids, Ids{}) << "more letters may come";
  ASSERT_TRUE(encoder.push(" world", ids));
  EXPECT_EQ(ids, Ids{v.id("hello")});
  EXPECT_EQ(encoder.position().bytes, 5u);
  ASSERT_TRUE(encoder.push("<thin", ids));
  ASSERT_TRUE(encoder.push("k>hello<|end", ids));
  EXPECT_EQ(ids, (Ids{v.id("hello"), v.id("Ġworld"), v.id("<think>")}));
  ASSERT_TRUE(encoder.push("|>", ids));
  EXPECT_EQ(ids, (Ids{v.id("hello"), v.id("Ġworld"), v.id("<think>"), v.id("hello"), v.id("<|end|>")}));
  encoder.finish(ids);
  EXPECT_EQ(ids.size(), 5u);
}

TEST(StreamEncoder, SentencePieceWaitsForTheNextSpace) {
  const TinyVocabulary v = sentencepiece_vocabulary();
  StreamEncoder encoder(*v.load(), {.add_bos = false});
  Ids ids;
  ASSERT_TRUE(encoder.push("hello", ids));
  EXPECT_EQ(ids, Ids{});
  ASSERT_TRUE(encoder.push(" ", ids));
  EXPECT_EQ(ids, Ids{v.id("▁hello")});
  ASSERT_TRUE(encoder.push("hello", ids));
  encoder.finish(ids);
  EXPECT_EQ(ids, (Ids{v.id("▁hello"), v.id("▁hello")}));
}

TEST(StreamEncoder, ATextWithoutAPlaceToCutWaitsWithoutBeingReadAnewForEachByte) {
  const auto tokenizer = *byte_level_vocabulary().load();
  const std::string text(200'000, 'a');
  StreamEncoder encoder(tokenizer);
  Ids ids;
  for (const char& c : text) ASSERT_TRUE(encoder.push({&c, 1}, ids));
  EXPECT_TRUE(ids.empty());
  encoder.finish(ids);
  EXPECT_EQ(ids, *tokenizer->encode(text));
}

TEST(StreamEncoder, GoesOnFromAPositionOfAnother) {
  for (const TinyVocabulary& v : {byte_level_vocabulary(), sentencepiece_vocabulary()}) {
    const auto tokenizer = *v.load();
    test::Random random(3);
    for (int i = 0; i < 500; ++i) {
      const std::string text = random_text(random);
      const auto given = static_cast<size_t>(random.below(static_cast<int64_t>(text.size()) + 1));
      StreamEncoder first(tokenizer);
      Ids ids;
      ASSERT_TRUE(first.push(text.substr(0, given), ids));
      StreamEncoder second(tokenizer);
      second.resume(first.position());
      ASSERT_TRUE(second.push(text.substr(first.position().bytes), ids));
      second.finish(ids);
      ASSERT_EQ(ids, *tokenizer->encode(text)) << quote(text) << " at " << given;
    }
  }
}

TEST(StreamEncoder, NothingAtAllIsTheEmptyText) {
  const auto tokenizer = *sentencepiece_vocabulary().load();
  StreamEncoder encoder(tokenizer);
  Ids ids;
  encoder.finish(ids);
  EXPECT_EQ(ids, *tokenizer->encode(""));
  ASSERT_TRUE(encoder.push("", ids));
  EXPECT_THROW(encoder.resume({}), InternalError);
}

TEST(StreamEncoder, RefusesMoreThanCanWait) {
  StreamEncoder encoder(*byte_level_vocabulary().load());
  Ids ids;
  ASSERT_TRUE(encoder.push("aa", ids));
  const Status status = encoder.push(std::string_view("a", Tokenizer::kMaxTextBytes), ids);
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error().message,
      "2 bytes wait for a place where the text can be cut and 2147483647 more come, at most 2147483647 can "
      "wait");
  encoder.finish(ids);
  EXPECT_EQ(ids.size(), 1u);
}

}  // namespace
}  // namespace inferno::tokenizer
