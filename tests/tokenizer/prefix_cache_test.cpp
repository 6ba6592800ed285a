#include "tokenizer/prefix_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/random.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::sentencepiece_vocabulary;

std::string words(test::Random& random, size_t bytes) {
  constexpr const char* kWords[] = {"hello", " world",  " hello", "aaaa", "\n\n",
                                    "  ",    "<think>", "é",      "\xff", "1234"};
  std::string text;
  while (text.size() < bytes) text += kWords[random.below(std::size(kWords))];
  return text;
}

// The cache gives the same as the tokenizer for texts that share beginnings of any length.
void expect_same_ids(PrefixCache& cache, const Tokenizer& tokenizer, uint64_t seed, int n_texts) {
  test::Random random(seed);
  std::vector<std::string> texts = {""};
  for (int i = 0; i < n_texts; ++i) {
    const std::string& base = texts[static_cast<size_t>(random.below(static_cast<int64_t>(texts.size())))];
    std::string text =
        base.substr(0, static_cast<size_t>(random.below(static_cast<int64_t>(base.size()) + 1)));
    text += words(random, static_cast<size_t>(random.below(600)));
    const EncodeOptions options{.add_bos = random.below(4) != 0, .parse_special = random.below(4) != 0};
    ASSERT_EQ(*cache.encode(text, options), *tokenizer.encode(text, options)) << quote(text);
    texts.push_back(std::move(text));
  }
}

TEST(PrefixCache, TextsThatShareTheirKeyKeepTheirOwnIds) {
  const auto t = *byte_level_vocabulary().load();
  PrefixCache cache(t, {});
  const std::string shared(4 * PrefixCache::Limits().key_bytes, ' ');
  for (int round = 0; round < 2; ++round) {
    for (const char* tail : {"hello", " world", "", "aaaaaaa", " hello world"}) {
      EXPECT_EQ(*cache.encode(shared + tail, {}), *t->encode(shared + tail)) << tail;
    }
  }
}

TEST(PrefixCache, GivesTheTokenizersIdsWhateverTextsShare) {
  for (const auto& vocabulary :
       {byte_level_vocabulary("qwen2"), byte_level_vocabulary("deepseek-llm"), sentencepiece_vocabulary()}) {
    const auto t = *vocabulary.load();
    PrefixCache cache(t, {.key_bytes = 3, .max_entries = 20});
    expect_same_ids(cache, *t, 11, 400);
    const PrefixCache::Counts counts = cache.counts();
    EXPECT_GT(counts.prefix_hits, 20u);
    EXPECT_EQ(counts.hits + counts.prefix_hits + counts.misses, 400u);
  }
}

TEST(PrefixCache, CountsWhatItFound) {
  const auto t = *byte_level_vocabulary().load();
  PrefixCache cache(t, {});
  std::string prompt;
  while (prompt.size() < 2000) prompt += "hello world\n";
  const auto encode = [&](const std::string& text, const EncodeOptions& options = {}) {
    EXPECT_EQ(*cache.encode(text, options), *t->encode(text, options));
  };
  encode(prompt);
  encode(prompt);
  encode(prompt + "and more");
  encode("x" + prompt);
  encode(prompt, {.parse_special = false});
  EXPECT_EQ(cache.counts().hits, 1u);
  EXPECT_EQ(cache.counts().prefix_hits, 1u);
  EXPECT_EQ(cache.counts().misses, 3u);
}

TEST(PrefixCache, TheTextUnusedForLongestGoesFirst) {
  const auto t = *byte_level_vocabulary().load();
  PrefixCache cache(t, {.key_bytes = 128, .max_entries = 2});
  const auto hits_after = [&](const char* text) {
    EXPECT_TRUE(cache.encode(text, {}));
    return cache.counts().hits;
  };
  EXPECT_EQ(hits_after("a"), 0u);
  EXPECT_EQ(hits_after("b"), 0u);
  EXPECT_EQ(hits_after("a"), 1u);
  EXPECT_EQ(hits_after("c"), 1u);  // b goes
  EXPECT_EQ(hits_after("a"), 2u);
  EXPECT_EQ(hits_after("b"), 2u);
}

TEST(PrefixCache, MemoryIsBounded) {
  const auto t = *byte_level_vocabulary().load();
  constexpr size_t kMaxBytes = 20'000;
  PrefixCache cache(t, {.key_bytes = 8, .max_entries = 1000, .max_bytes = kMaxBytes});
  test::Random random(5);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(cache.encode(words(random, 700), {}));
    ASSERT_LE(cache.bytes(), kMaxBytes);
  }
  EXPECT_GT(cache.bytes(), kMaxBytes / 2);
  const size_t before = cache.bytes();
  const std::string large = words(random, 2 * kMaxBytes);
  EXPECT_EQ(*cache.encode(large, {}), *t->encode(large));
  EXPECT_EQ(cache.bytes(), before) << "a text that cannot be kept drives none out";
}

TEST(PrefixCache, WhatThreadsEncodeAtTheSameTimeIsKeptOnce) {
  const auto t = *byte_level_vocabulary().load();
  test::Random random(3);
  const std::string text = words(random, 200'000);
  PrefixCache alone(t, {});
  ASSERT_TRUE(alone.encode(text, {}));
  PrefixCache shared(t, {});
  std::atomic<bool> go = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!go) std::this_thread::yield();
      EXPECT_TRUE(shared.encode(text, {}));
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.bytes(), alone.bytes());
}

TEST(PrefixCache, ThreadsMayShareOne) {
  const auto t = *byte_level_vocabulary().load();
  PrefixCache cache(t, {.key_bytes = 2, .max_entries = 4});
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] { expect_same_ids(cache, *t, seed / 2, 60); });
  }
  for (std::thread& thread : threads) thread.join();
  const PrefixCache::Counts counts = cache.counts();
  EXPECT_EQ(counts.hits + counts.prefix_hits + counts.misses, 240u);
}

}  // namespace
}  // namespace inferno::tokenizer
