// The screen of the LM head in an engine: the same tokens, and used only where nobody sees other logits.
#include <gtest/gtest.h>

#include "base/log.h"
#include "engine/generate.h"
#include "model/load.h"
#include "models/demo/demo_model.h"

namespace inferno::engine {
namespace {

class HeadScreenEngine : public testing::Test {
 protected:
  static model::LoadedModel load(bool screen) {
    const auto backend =
        backend::create_backend("parallel", {.threads = 2,
                                             .screened_heads = screen ? backend::ScreenedHeads::kAll
                                                                      : backend::ScreenedHeads::kNone})
            .value();
    return model::load_from_gguf(gguf::File::from_memory(demo::model_bytes(), demo::kModelName).value(),
                                 backend)
        .value();
  }
  Generated run(const model::LoadedModel& loaded, const Request& request) const {
    metrics::Metrics metrics;
    return generate(*loaded.model, loaded.tokenizer, request, metrics).value();
  }
  Request request() const {
    Request request;
    request.prompt_ids = plain_.tokenizer->encode("One little duck, two little ducks. One little").value();
    request.max_new_tokens = 100;
    request.ignore_end = true;
    return request;
  }

  const model::LoadedModel plain_ = load(false), screened_ = load(true);
};

TEST_F(HeadScreenEngine, GreedyTokensAreTheSameOfHalfOfTheHead) {
  const Generated plain = run(plain_, request()), screened = run(screened_, request());
  EXPECT_EQ(screened.ids, plain.ids);
  EXPECT_EQ(screened.text, plain.text);
  EXPECT_EQ(plain.head_screen.passes, 0u);
  EXPECT_EQ(screened.head_screen.passes, 100u);
  EXPECT_GT(screened.head_screen.screened, 90u);
  EXPECT_LT(screened.head_screen.read_share(), 0.7);
  EXPECT_LT(screened.decode_cost.weight_bytes, plain.decode_cost.weight_bytes);
}

TEST_F(HeadScreenEngine, SoTheyAreWithGuessesAndWithoutTheCache) {
  Request guessing = request(), anew = request();
  guessing.speculate = true;
  anew.use_kv_cache = false;
  const std::vector<int32_t> ids = run(plain_, request()).ids;
  const Generated guessed = run(screened_, guessing);
  EXPECT_EQ(guessed.ids, ids);
  EXPECT_GT(guessed.guesses.accepted, 0u);
  EXPECT_EQ(run(screened_, anew).ids, ids);
}

TEST_F(HeadScreenEngine, WhoeverNeedsOtherLogitsHasThem) {
  Request warm = request(), penalized = request();
  warm.sampling.temperature = 0.8f;
  penalized.sampling.repetition_penalty = 1.3f;
  for (const Request& other : {warm, penalized}) {
    const Generated generated = run(screened_, other);
    EXPECT_EQ(generated.ids, run(plain_, other).ids);
    EXPECT_EQ(generated.head_screen.passes, 0u);
  }
  // The log has probabilities, which take all logits.
  std::string lines;
  ASSERT_TRUE(log::configure("inferno::decode=info"));
  log::set_sink([&](std::string_view line) { lines += line; });
  const Generated logged = run(screened_, request());
  log::set_sink({});
  ASSERT_TRUE(log::configure("off"));
  EXPECT_NE(lines.find("prob"), std::string::npos);
  EXPECT_EQ(logged.head_screen.passes, 0u);
}

}  // namespace
}  // namespace inferno::engine
