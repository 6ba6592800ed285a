#include "tokenizer/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>

#include "base/check.h"
#include "base/text.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::sentencepiece_vocabulary;

TEST(StreamDecoder, HoldsACharacterBackUntilItIsWhole) {
  StreamDecoder decoder(*byte_level_vocabulary("gpt-2").load());
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_EQ(decoder.push(0xA6), "");
  EXPECT_EQ(decoder.push(0x99), "🦙");
  EXPECT_EQ(decoder.flush(), "");
}

TEST(StreamDecoder, BytesThatNeverBecomeACharacterComeOutUnchanged) {
  StreamDecoder decoder(*byte_level_vocabulary("gpt-2").load());
  EXPECT_EQ(decoder.push(0xFF), "\xFF");
  EXPECT_EQ(decoder.push(0xC3), "");
  EXPECT_EQ(decoder.push('b'),
            "\xC3"
            "b");
  EXPECT_EQ(decoder.push(0xE8), "");
  EXPECT_EQ(decoder.flush(), "\xE8");
  EXPECT_EQ(decoder.flush(), "");
}

TEST(StreamDecoder, TheFirstSpaceStaysAfterAPrompt) {
  const auto v = sentencepiece_vocabulary();
  const auto t = *v.load();
  StreamDecoder after_prompt(t);
  EXPECT_EQ(after_prompt.push(v.id("▁hello")), " hello");
  StreamDecoder alone(t, /*continues=*/false);
  EXPECT_EQ(alone.push(v.id("▁hello")), "hello");
  EXPECT_EQ(alone.push(v.id("▁hello")), " hello");
}

TEST(StreamDecoder, SkipsControlTokensOnRequest) {
  auto v = byte_level_vocabulary();
  v.add("<|end|>", TokenType::kControl);
  const auto t = *v.load();
  StreamDecoder decoder(t, true, /*skip_special=*/true);
  EXPECT_EQ(decoder.push(v.id("<|end|>")), "");
  EXPECT_EQ(decoder.push(v.id("<think>")), "<think>");
}

TEST(StreamDecoder, RefusesIdsOutsideTheVocabulary) {  // D13
  StreamDecoder decoder(*byte_level_vocabulary().load());
  EXPECT_THROW(decoder.push(-1), InternalError);
  EXPECT_THROW(decoder.push(271), InternalError);
}

// Whatever ids a model emits: what has come out is always all that cannot be half a character, and in the end
// all.
TEST(StreamDecoder, TheDeltasOfRandomIdsAreTheDecodedText) {
  std::mt19937 random(7);
  for (const auto& v : {byte_level_vocabulary(), sentencepiece_vocabulary()}) {
    const auto t = *v.load();
    for (int round = 0; round < 3000; ++round) {
      const bool skip_special = round % 2 == 0;
      StreamDecoder alone(t, /*continues=*/false, skip_special);
      StreamDecoder after_prompt(t, /*continues=*/true, skip_special);
      std::vector<int32_t> ids(random() % 12);
      std::string text;
      std::string pieces;
      std::string shown;
      for (int32_t& id : ids) {
        id = static_cast<int32_t>(random() % static_cast<unsigned>(t->vocab_size()));
        text += alone.push(id);
        shown += after_prompt.push(id);
        if (!skip_special || !t->is_control(id)) pieces += t->piece(id);
        ASSERT_EQ(shown, pieces.substr(0, complete_utf8_prefix(pieces)));
      }
      ASSERT_EQ(text + alone.flush(), *t->decode(ids, skip_special));
      ASSERT_EQ(shown + after_prompt.flush(), pieces);
    }
  }
}

}  // namespace
}  // namespace inferno::tokenizer
