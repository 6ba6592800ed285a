#include "model/synthetic_vocabulary.h"

#include <gtest/gtest.h>

#include <set>

#include "support/tiny_preset.h"
#include "tokenizer/tokenizer.h"

namespace inferno::test {
namespace {

// The tokenizer of a preset, its vocabulary whole.
std::shared_ptr<const tokenizer::Tokenizer> tokenizer_of(const model::Preset& preset) {
  gguf::Writer writer;
  model::add_vocabulary(preset, writer);
  auto file = writer.build("vocabulary");
  if (!file) throw std::runtime_error(file.error().message);
  auto tokenizer = tokenizer::Tokenizer::from_gguf(*file);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return *tokenizer;
}

class SyntheticVocabulary : public testing::TestWithParam<const char*> {
 protected:
  const model::Preset& preset_ = *model::find_preset(GetParam());
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_ = tokenizer_of(preset_);
};

TEST_P(SyntheticVocabulary, HasTheModelsSizeAndNoSpellingTwice) {
  EXPECT_EQ(tokenizer_->vocab_size(), preset_.vocab_size);
  std::set<std::string_view> spellings;
  for (int32_t id = 0; id < tokenizer_->vocab_size(); ++id) spellings.insert(tokenizer_->spelling(id));
  EXPECT_EQ(static_cast<int64_t>(spellings.size()), preset_.vocab_size);
}

TEST_P(SyntheticVocabulary, TakesAnyTextThereAndBack) {
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  for (const std::string& text :
       {std::string("Once upon a time, there was 1 little girl.\n\n\tShe'd said: \"no\"  twice"),
        std::string("Grüße, 世界! 🦊 ▁ Ġ"), std::string("   "), all_bytes}) {
    const auto ids = tokenizer_->encode(text, {.add_bos = false, .parse_special = false});
    ASSERT_TRUE(ids.ok());
    const auto decoded = tokenizer_->decode(*ids);
    ASSERT_TRUE(decoded.ok());
    // What SentencePiece writes for a space is a space when it stands in a text, in the real models too.
    if (preset_.vocabulary.has_scores && text.find("▁") != std::string::npos) continue;
    EXPECT_EQ(*decoded, text);
  }
}

TEST_P(SyntheticVocabulary, MergesWords) {
  const auto ids = tokenizer_->encode(" the cat sat on a mat", {.add_bos = false});
  ASSERT_TRUE(ids.ok());
  EXPECT_LE(ids->size(), 12u);
  for (const char* word : {" a", " z", " ab", "ab", " zz", "abc"}) {
    EXPECT_EQ(tokenizer_->encode(word, {.add_bos = false}).value().size(), 1u) << word;
  }
}

TEST_P(SyntheticVocabulary, KnowsItsSpecialTokens) {
  const model::VocabularyLayout& layout = preset_.vocabulary;
  for (const model::SpecialToken& special : layout.specials) {
    const int32_t id = layout.first_special_id + special.offset;
    EXPECT_EQ(tokenizer_->spelling(id), special.spelling);
    EXPECT_EQ(tokenizer_->type(id), special.type);
    EXPECT_EQ(tokenizer_->encode(special.spelling, {.add_bos = false}).value(), std::vector{id});
  }
  EXPECT_EQ(tokenizer_->spelling(tokenizer_->eos_id().value()), layout.eos);
  EXPECT_EQ(tokenizer_->spelling(tokenizer_->bos_id().value()), layout.bos);
  EXPECT_EQ(tokenizer_->adds_bos(), layout.add_bos);
}

INSTANTIATE_TEST_SUITE_P(Families, SyntheticVocabulary,
                         testing::Values("qwen3-0.6b", "llama-3.2-1b", "gemma-3-1b"), [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace inferno::test
