// The C functions from C++: many threads, batches against the tokenizer, the environment. What a single C
// caller sees is in fasttok_test.c.
#include "tokenizer/fasttok.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "support/random.h"
#include "support/shared_data.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using Ids = std::vector<int32_t>;

std::string write_vocabulary(const test::TinyVocabulary& vocabulary) {
  const auto path = test::scratch_dir("fasttok") / "tokenizer.gguf";
  const std::vector<std::byte> image = vocabulary.image();
  std::ofstream file(path, std::ios::binary);
  for (const std::byte byte : image) file.put(static_cast<char>(byte));
  return path.string();
}

struct Free {
  void operator()(fasttok* handle) const { EXPECT_EQ(fasttok_free(handle), FASTTOK_OK); }
};
using Handle = std::unique_ptr<fasttok, Free>;

Handle open(const test::TinyVocabulary& vocabulary) {
  Handle handle(fasttok_new(FASTTOK_ABI_VERSION, write_vocabulary(vocabulary).c_str()));
  EXPECT_NE(handle, nullptr) << fasttok_last_error();
  return handle;
}

std::string random_words(test::Random& random) {
  constexpr const char* kParts[] = {"hello",   " world", " ",    "\n",       "aaa", "<think>",
                                    "<|end|>", "é",      "\xff", "\xe4\xb8", "12"};
  std::string text;
  for (int64_t n = random.below(40); n > 0; --n) text += kParts[random.below(std::size(kParts))];
  return text;
}

Ids stream(fasttok* handle, std::string_view text, test::Random& random, uint32_t flags) {
  fasttok_stream* stream = fasttok_encode_stream_begin(handle, flags);
  Ids ids;
  int32_t room[3];
  const auto take = [&](int64_t n) {
    EXPECT_GE(n, 0) << fasttok_last_error();
    ids.insert(ids.end(), room, room + std::max<int64_t>(n, 0));
    return n > 0;
  };
  while (!text.empty()) {
    const auto n = std::min(text.size(), static_cast<size_t>(random.below(9)));
    take(fasttok_encode_stream_next(stream, text.data(), n, room, std::size(room)));
    text.remove_prefix(n);
  }
  while (take(fasttok_encode_stream_end(stream, room, std::size(room)))) {
  }
  return ids;
}

Ids batch_of_one(fasttok* handle, const std::string& text, uint32_t flags) {
  const char* data = text.data();
  const size_t n_bytes = text.size();
  size_t offsets[2] = {};
  Ids ids(3 * text.size() + 8);
  const int64_t n = fasttok_encode_batch(handle, &data, &n_bytes, 1, flags, ids.data(), ids.size(), offsets);
  EXPECT_GE(n, 0) << fasttok_last_error();
  ids.resize(static_cast<size_t>(std::max<int64_t>(n, 0)));
  return ids;
}

// Every way to encode gives the tokenizer's ids.
void expect_exact(fasttok* handle, const Tokenizer& tokenizer, uint64_t seed, int n_texts) {
  test::Random random(seed);
  for (int i = 0; i < n_texts; ++i) {
    const std::string text = random_words(random);
    const bool plain = random.below(2) == 0;
    const EncodeOptions options{.add_bos = !plain, .parse_special = !plain};
    const uint32_t flags = plain ? FASTTOK_NO_BOS | FASTTOK_PLAIN_SPECIAL : 0;
    const Ids ids = *tokenizer.encode(text, options);
    ASSERT_EQ(stream(handle, text, random, flags), ids) << quote(text);
    ASSERT_EQ(batch_of_one(handle, text, flags), ids) << quote(text);
  }
}

TEST(Fasttok, EveryWayToEncodeGivesTheTokenizersIds) {
  for (const auto& vocabulary : {test::byte_level_vocabulary(), test::sentencepiece_vocabulary()}) {
    const Handle handle = open(vocabulary);
    ASSERT_NE(handle, nullptr);
    const auto tokenizer = *vocabulary.load();
    expect_exact(handle.get(), *tokenizer, 1, 200);
    ASSERT_EQ(fasttok_set_prefix_params(handle.get(), 2, 8), FASTTOK_OK);
    ASSERT_EQ(fasttok_set_prefix_cache(handle.get(), 1), FASTTOK_OK);
    expect_exact(handle.get(), *tokenizer, 2, 200);
  }
}

TEST(Fasttok, ABatchIsInOrderWhateverTheThreads) {
  const auto vocabulary = test::byte_level_vocabulary();
  const Handle handle = open(vocabulary);
  ASSERT_NE(handle, nullptr);
  const auto tokenizer = *vocabulary.load();
  test::Random random(9);
  std::vector<std::string> texts;
  std::vector<const char*> data;
  std::vector<size_t> n_bytes;
  for (int i = 0; i < 100; ++i) texts.push_back(random_words(random));
  Ids expected;
  std::vector<size_t> ends = {0};
  for (const std::string& text : texts) {
    data.push_back(text.data());
    n_bytes.push_back(text.size());
    const Ids ids = *tokenizer->encode(text);
    expected.insert(expected.end(), ids.begin(), ids.end());
    ends.push_back(expected.size());
  }
  for (const uint32_t n_threads : {1u, 3u, 0u}) {
    ASSERT_EQ(fasttok_set_max_threads(handle.get(), n_threads), FASTTOK_OK);
    Ids ids(expected.size());
    std::vector<size_t> offsets(texts.size() + 1);
    ASSERT_EQ(fasttok_encode_batch(handle.get(), data.data(), n_bytes.data(), texts.size(), 0, ids.data(),
                                   ids.size(), offsets.data()),
              static_cast<int64_t>(expected.size()));
    EXPECT_EQ(ids, expected);
    EXPECT_EQ(offsets, ends);
  }
}

TEST(Fasttok, AskingForTheSizeFirstCountsNothingTwice) {
  const Handle handle = open(test::byte_level_vocabulary());
  ASSERT_NE(handle, nullptr);
  ASSERT_EQ(fasttok_set_prefix_cache(handle.get(), 1), FASTTOK_OK);
  const char* const texts[] = {"hello world", "hello"};
  const size_t n_bytes[] = {11, 5};
  size_t offsets[3] = {};
  const int64_t n = fasttok_encode_batch(handle.get(), texts, n_bytes, 2, 0, nullptr, 0, offsets);
  ASSERT_GT(n, 0);
  fasttok_metrics metrics = {};
  ASSERT_EQ(fasttok_get_metrics(handle.get(), &metrics), FASTTOK_OK);
  EXPECT_EQ(metrics.tokens_processed, 0u) << "nothing was handed over";
  Ids ids(static_cast<size_t>(n));
  ASSERT_EQ(fasttok_encode_batch(handle.get(), texts, n_bytes, 2, 0, ids.data(), ids.size(), offsets), n);
  ASSERT_EQ(fasttok_get_metrics(handle.get(), &metrics), FASTTOK_OK);
  EXPECT_EQ(metrics.texts_processed, 2u);
  EXPECT_EQ(metrics.bytes_processed, 16u);
  EXPECT_EQ(metrics.tokens_processed, static_cast<uint64_t>(n));
  EXPECT_GT(metrics.avg_us_per_token, 0);
  EXPECT_EQ(metrics.cache_hits + metrics.cache_prefix_hits + metrics.cache_misses, 2u);
  EXPECT_EQ(metrics.cache_hit_ratio, 0);
}

TEST(Fasttok, ThreadsMayShareATokenizer) {
  const auto vocabulary = test::byte_level_vocabulary();
  const Handle handle = open(vocabulary);
  ASSERT_NE(handle, nullptr);
  ASSERT_EQ(fasttok_set_prefix_cache(handle.get(), 1), FASTTOK_OK);
  const auto tokenizer = *vocabulary.load();
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] { expect_exact(handle.get(), *tokenizer, seed, 50); });
  }
  fasttok_metrics metrics = {};
  for (uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(fasttok_get_metrics(handle.get(), &metrics), FASTTOK_OK);
    EXPECT_EQ(fasttok_set_prefix_params(handle.get(), 1 + i, 4), FASTTOK_OK);
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(fasttok_get_metrics(handle.get(), &metrics), FASTTOK_OK);
  EXPECT_EQ(metrics.texts_processed, 4u * 50 * 2);
  EXPECT_EQ(metrics.cache_hits + metrics.cache_prefix_hits + metrics.cache_misses, 4u * 50);
}

TEST(Fasttok, EachThreadHasItsOwnError) {
  EXPECT_EQ(fasttok_free(reinterpret_cast<fasttok*>(uintptr_t{1} << 40)), FASTTOK_ERROR_HANDLE);
  std::thread([] {
    EXPECT_EQ(fasttok_last_error_code(), FASTTOK_OK);
    EXPECT_STREQ(fasttok_last_error(), "");
  }).join();
  EXPECT_EQ(fasttok_last_error_code(), FASTTOK_ERROR_HANDLE);
  EXPECT_STREQ(fasttok_last_error(), "tokenizer is not a handle of fasttok, or was freed");
}

TEST(Fasttok, AFileWithoutATokenizerIsRefused) {
  const auto path = test::scratch_dir("fasttok") / "not.gguf";
  std::ofstream(path) << "something else";
  EXPECT_EQ(fasttok_new(FASTTOK_ABI_VERSION, path.c_str()), nullptr);
  EXPECT_EQ(fasttok_last_error_code(), FASTTOK_ERROR_FILE);
}

TEST(Fasttok, TheEnvironmentSetsCacheAndThreads) {
  const std::string path = write_vocabulary(test::byte_level_vocabulary());
  const auto refused = [&](const char* name, const char* value) {
    EXPECT_EQ(::setenv(name, value, 1), 0);
    EXPECT_EQ(fasttok_new(FASTTOK_ABI_VERSION, path.c_str()), nullptr);
    EXPECT_EQ(fasttok_last_error_code(), FASTTOK_ERROR_ENVIRONMENT);
    ::unsetenv(name);
    return std::string(fasttok_last_error());
  };
  EXPECT_EQ(refused("INFENG_TOKEN_CACHE", "yes"), "INFENG_TOKEN_CACHE: expected 0 or 1, found \"yes\"");
  EXPECT_EQ(refused("FASTTOK_TRACING", "2"), "FASTTOK_TRACING: expected 0 or 1, found \"2\"");
  EXPECT_EQ(refused("INFENG_TOK_THREADS", "-1"),
            "INFENG_TOK_THREADS: expected a number of threads, found \"-1\"");
  EXPECT_EQ(refused("INFENG_TOK_THREADS", "2x"),
            "INFENG_TOK_THREADS: expected a number of threads, found \"2x\"");

  ASSERT_EQ(::setenv("INFENG_TOKEN_CACHE", "1", 1), 0);
  const Handle handle(fasttok_new(FASTTOK_ABI_VERSION, path.c_str()));
  ::unsetenv("INFENG_TOKEN_CACHE");
  ASSERT_NE(handle, nullptr);
  for (int i = 0; i < 2; ++i) batch_of_one(handle.get(), "hello", 0);
  fasttok_metrics metrics = {};
  ASSERT_EQ(fasttok_get_metrics(handle.get(), &metrics), FASTTOK_OK);
  EXPECT_EQ(metrics.cache_hits, 1u);
  EXPECT_EQ(metrics.cache_hit_ratio, 0.5);
}

}  // namespace
}  // namespace inferno::tokenizer
