#include "tokenizer/undelivered_batch.h"

#include <gtest/gtest.h>

namespace inferno::tokenizer {
namespace {

using Texts = std::vector<std::string_view>;

TEST(UndeliveredBatch, IsGivenOnceAndToTheSameCallAlone) {
  UndeliveredBatch undelivered;
  const Texts texts = {"a", "bc"};
  undelivered.keep(texts, {}, {{{1}, {2, 3}}, std::chrono::nanoseconds(7)});
  EXPECT_FALSE(undelivered.take(Texts{"ab", "c"}, {}));
  EXPECT_FALSE(undelivered.take(Texts{"a"}, {}));
  EXPECT_FALSE(undelivered.take(texts, {.add_bos = false}));
  const auto batch = undelivered.take(texts, {});
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->ids, (std::vector<std::vector<int32_t>>{{1}, {2, 3}}));
  EXPECT_EQ(batch->time, std::chrono::nanoseconds(7));
  EXPECT_FALSE(undelivered.take(texts, {}));
}

TEST(UndeliveredBatch, ForgetsAndKeepsNoBatchThatIsTooLarge) {
  UndeliveredBatch undelivered;
  const Texts texts = {"a"};
  undelivered.keep(texts, {}, {{{1}}});
  undelivered.forget();
  EXPECT_FALSE(undelivered.take(texts, {}));
  undelivered.keep(texts, {}, {{{1}}});
  const std::string large(UndeliveredBatch::kMaxBytes, 'a');
  const Texts too_large = {large};
  undelivered.keep(too_large, {}, {{{1}}});
  EXPECT_FALSE(undelivered.take(too_large, {}));
  EXPECT_FALSE(undelivered.take(texts, {})) << "the latest batch alone is kept";
}

}  // namespace
}  // namespace inferno::tokenizer
