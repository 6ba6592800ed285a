/* The C library as a C program uses it: every function, and what they say to wrong arguments.
 * usage: fasttok_test MODEL.gguf FOLDER */
#include "tokenizer/fasttok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_failed = 0;

static void expect(int condition, const char* what, int line) {
  if (condition) return;
  ++n_failed;
  fprintf(stderr, "fasttok_test.c:%d: %s; last error: %s\n", line, what, fasttok_last_error());
}
#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)

enum { CAPACITY = 4096 };
static const char* const kText = "Once upon a time, there was a little fox named Finn.";
static const int32_t kIds[] = {542, 495, 258, 420, 44, 373, 293, 258, 381, 1251, 453, 2046, 46};
enum { N_IDS = sizeof kIds / sizeof kIds[0] };

static int is_set(const char* variable) {
  const char* value = getenv(variable);
  return value != NULL && strcmp(value, "1") == 0;
}

static fasttok* open_or_exit(const char* path) {
  fasttok* tokenizer = fasttok_new(FASTTOK_ABI_VERSION, path);
  if (tokenizer == NULL) {
    fprintf(stderr, "%s\n", fasttok_last_error());
    exit(1);
  }
  return tokenizer;
}

static void test_new(const char* path) {
  EXPECT(fasttok_new(FASTTOK_ABI_VERSION + 1, path) == NULL);
  EXPECT(fasttok_last_error_code() == FASTTOK_ERROR_VERSION);
  EXPECT(strcmp(fasttok_last_error(), "the caller has ABI version 2, this library 1") == 0);
  EXPECT(fasttok_new(FASTTOK_ABI_VERSION, NULL) == NULL);
  EXPECT(fasttok_last_error_code() == FASTTOK_ERROR_NULL);
  EXPECT(fasttok_new(FASTTOK_ABI_VERSION, "no such file.gguf") == NULL);
  EXPECT(fasttok_last_error_code() == FASTTOK_ERROR_FILE);
  EXPECT(strstr(fasttok_last_error(), "no such file.gguf") != NULL);
}

/* The text in pieces of n bytes, the ids in an array of `capacity`. */
static void test_stream(fasttok* tokenizer, size_t n, size_t capacity) {
  int32_t ids[CAPACITY];
  int64_t n_ids = 0;
  int64_t got = 0;
  size_t at = 0;
  fasttok_stream* stream = fasttok_encode_stream_begin(tokenizer, 0);
  EXPECT(stream != NULL);
  while (at < strlen(kText)) {
    const size_t piece = strlen(kText) - at < n ? strlen(kText) - at : n;
    got = fasttok_encode_stream_next(stream, kText + at, piece, ids + n_ids, capacity);
    EXPECT(got >= 0);
    n_ids += got;
    at += piece;
  }
  while ((got = fasttok_encode_stream_end(stream, ids + n_ids, capacity)) > 0) n_ids += got;
  EXPECT(got == 0);
  EXPECT(n_ids == N_IDS && memcmp(ids, kIds, sizeof kIds) == 0);
  EXPECT(fasttok_encode_stream_end(stream, ids, CAPACITY) == FASTTOK_ERROR_HANDLE);
}

static void test_stream_errors(fasttok* tokenizer) {
  int32_t ids[CAPACITY];
  fasttok_stream* stream = fasttok_encode_stream_begin(tokenizer, FASTTOK_STRICT_UTF8);
  EXPECT(fasttok_encode_stream_begin(NULL, 0) == NULL && fasttok_last_error_code() == FASTTOK_ERROR_NULL);
  EXPECT(fasttok_encode_stream_begin(tokenizer, 1u << 30) == NULL);
  EXPECT(fasttok_last_error_code() == FASTTOK_ERROR_ARGUMENT);
  EXPECT(fasttok_encode_stream_next(NULL, "a", 1, ids, CAPACITY) == FASTTOK_ERROR_NULL);
  EXPECT(fasttok_encode_stream_next(stream, NULL, 1, ids, CAPACITY) == FASTTOK_ERROR_NULL);
  EXPECT(fasttok_encode_stream_next(stream, "a", 1, NULL, 1) == FASTTOK_ERROR_NULL);
  EXPECT(fasttok_encode_stream_next(stream, "\xff", 1, ids, CAPACITY) == FASTTOK_ERROR_UTF8);
  EXPECT(fasttok_encode_stream_next(stream, "\xc3", 1, ids, CAPACITY) == 0); /* half a character */
  EXPECT(fasttok_encode_stream_end(stream, ids, CAPACITY) == FASTTOK_ERROR_UTF8); /* and it is freed */
  EXPECT(fasttok_encode_stream_end(stream, ids, CAPACITY) == FASTTOK_ERROR_HANDLE);
  stream = fasttok_encode_stream_begin(tokenizer, 0);
  EXPECT(fasttok_encode_stream_end(stream, ids, 0) == FASTTOK_ERROR_ARGUMENT);
  EXPECT(fasttok_encode_stream_end(stream, ids, CAPACITY) == FASTTOK_ERROR_HANDLE);
  stream = fasttok_encode_stream_begin(tokenizer, FASTTOK_STRICT_UTF8);
  EXPECT(fasttok_encode_stream_next(stream, "\xc3", 1, NULL, 0) == 0);
  EXPECT(fasttok_encode_stream_next(stream, "\xa9", 1, NULL, 0) == 0);
  EXPECT(fasttok_encode_stream_end(stream, ids, 1) == 1);
  EXPECT(fasttok_encode_stream_next(stream, "a", 1, ids, CAPACITY) == FASTTOK_ERROR_ARGUMENT);
  EXPECT(fasttok_encode_stream_end(stream, NULL, 0) == 0); /* given up */
  EXPECT(fasttok_encode_stream_end(stream, NULL, 0) == FASTTOK_ERROR_HANDLE);
}

static void test_batch(fasttok* tokenizer) {
  const char* texts[3] = {kText, NULL, "\xff"};
  const size_t n_bytes[3] = {strlen(kText), 0, 1};
  size_t offsets[4];
  int32_t ids[CAPACITY];
  const int64_t n = fasttok_encode_batch(tokenizer, texts, n_bytes, 3, 0, NULL, 0, offsets);
  EXPECT(n == N_IDS + 1);
  EXPECT(fasttok_encode_batch(tokenizer, texts, n_bytes, 3, 0, ids, CAPACITY, offsets) == n);
  EXPECT(offsets[0] == 0 && offsets[1] == N_IDS && offsets[2] == N_IDS && offsets[3] == N_IDS + 1);
  EXPECT(memcmp(ids, kIds, sizeof kIds) == 0);
  EXPECT(fasttok_encode_batch(tokenizer, NULL, NULL, 0, 0, NULL, 0, offsets) == 0);
  EXPECT(fasttok_encode_batch(tokenizer, texts, n_bytes, 3, FASTTOK_STRICT_UTF8, ids, CAPACITY, offsets) ==
         FASTTOK_ERROR_UTF8);
  EXPECT(strcmp(fasttok_last_error(), "texts[2] is not valid UTF-8") == 0);
  EXPECT(fasttok_encode_batch(tokenizer, NULL, n_bytes, 3, 0, ids, CAPACITY, offsets) == FASTTOK_ERROR_NULL);
  EXPECT(fasttok_encode_batch(tokenizer, texts, n_bytes, 3, 0, ids, CAPACITY, NULL) == FASTTOK_ERROR_NULL);
  EXPECT(fasttok_encode_batch(tokenizer, texts, n_bytes, 3, FASTTOK_SKIP_SPECIAL, ids, CAPACITY, offsets) ==
         FASTTOK_ERROR_ARGUMENT);
}

static void test_decode(fasttok* tokenizer) {
  const int32_t end = 4095;
  const int32_t beyond = 1 << 30;
  char text[CAPACITY];
  EXPECT(fasttok_decode(tokenizer, kIds, N_IDS, 0, NULL, 0) == (int64_t)strlen(kText));
  EXPECT(fasttok_decode(tokenizer, kIds, N_IDS, 0, text, CAPACITY) == (int64_t)strlen(kText));
  EXPECT(memcmp(text, kText, strlen(kText)) == 0);
  EXPECT(fasttok_decode(tokenizer, NULL, 0, 0, text, CAPACITY) == 0);
  EXPECT(fasttok_decode(tokenizer, &end, 1, 0, text, CAPACITY) > 0);
  EXPECT(fasttok_decode(tokenizer, &end, 1, FASTTOK_SKIP_SPECIAL, text, CAPACITY) == 0);
  EXPECT(fasttok_decode(tokenizer, &beyond, 1, 0, text, CAPACITY) == FASTTOK_ERROR_ENCODE);
  EXPECT(fasttok_decode(tokenizer, NULL, 1, 0, text, CAPACITY) == FASTTOK_ERROR_NULL);
}

static void test_cache(fasttok* tokenizer) {
  const size_t n_bytes = strlen(kText);
  size_t offsets[2];
  int32_t ids[CAPACITY];
  fasttok_metrics before;
  fasttok_metrics after;
  EXPECT(fasttok_get_metrics(tokenizer, &before) == FASTTOK_OK);
  EXPECT(before.cache_hits + before.cache_misses == 0 || is_set("INFENG_TOKEN_CACHE"));
  EXPECT(fasttok_set_prefix_params(tokenizer, 16, 4) == FASTTOK_OK);
  EXPECT(fasttok_set_prefix_cache(tokenizer, 1) == FASTTOK_OK);
  EXPECT(fasttok_set_max_threads(tokenizer, 2) == FASTTOK_OK);
  for (int i = 0; i < 4; ++i) {
    EXPECT(fasttok_encode_batch(tokenizer, &kText, &n_bytes, 1, 0, ids, CAPACITY, offsets) == N_IDS);
    EXPECT(memcmp(ids, kIds, sizeof kIds) == 0);
  }
  EXPECT(fasttok_get_metrics(tokenizer, &after) == FASTTOK_OK);
  EXPECT(after.texts_processed == before.texts_processed + 4);
  EXPECT(after.bytes_processed == before.bytes_processed + 4 * n_bytes);
  EXPECT(after.tokens_processed == before.tokens_processed + 4 * N_IDS);
  EXPECT(after.cache_hits == before.cache_hits + 3 && after.cache_misses == before.cache_misses + 1);
  EXPECT(after.cache_hit_ratio > 0 && after.cache_hit_ratio < 1);
  EXPECT(after.avg_us_per_token > 0);
  EXPECT(fasttok_set_prefix_cache(tokenizer, 2) == FASTTOK_ERROR_ARGUMENT);
  EXPECT(fasttok_set_prefix_params(tokenizer, 0, 4) == FASTTOK_ERROR_ARGUMENT);
  EXPECT(fasttok_get_metrics(tokenizer, NULL) == FASTTOK_ERROR_NULL);
}

static void test_tracing(const char* folder) {
  char path[1024];
  char text[1 << 16];
  FILE* file = NULL;
  size_t n = 0;
  const char* const stages[] = {"Tokenizer::encode_stream_start,", "Tokenizer::encode_stream_next,",
                                "Tokenizer::cache_lookup,"};
  snprintf(path, sizeof path, "%s/trace.json", folder);
  EXPECT(fasttok_write_trace(path) == FASTTOK_OK);
  EXPECT(fasttok_write_trace(NULL) == FASTTOK_ERROR_NULL);
  EXPECT(fasttok_flush_csv("/dev/null/spans.csv") == FASTTOK_ERROR_FILE);
  snprintf(path, sizeof path, "%s/spans.csv", folder);
  EXPECT(fasttok_flush_csv(path) == FASTTOK_OK);
  file = fopen(path, "r");
  EXPECT(file != NULL);
  if (file == NULL) return;
  n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = '\0';
  for (size_t i = 0; i < sizeof stages / sizeof stages[0]; ++i) {
    EXPECT((strstr(text, stages[i]) != NULL) == is_set("FASTTOK_TRACING"));
  }
}

static void test_free(fasttok* tokenizer) {
  int32_t ids[CAPACITY];
  fasttok_stream* stream = fasttok_encode_stream_begin(tokenizer, 0);
  EXPECT(fasttok_free(NULL) == FASTTOK_OK);
  EXPECT(fasttok_free(tokenizer) == FASTTOK_OK);
  EXPECT(fasttok_free(tokenizer) == FASTTOK_ERROR_HANDLE);
  EXPECT(fasttok_set_max_threads(tokenizer, 1) == FASTTOK_ERROR_HANDLE);
  EXPECT(fasttok_encode_stream_begin(tokenizer, 0) == NULL);
  EXPECT(fasttok_last_error_code() == FASTTOK_ERROR_HANDLE);
  EXPECT(fasttok_encode_stream_next(stream, kText, strlen(kText), ids, CAPACITY) > 0); /* outlives it */
  EXPECT(fasttok_encode_stream_end(stream, NULL, 0) == 0);
}

int main(int argc, char** argv) {
  fasttok* tokenizer = NULL;
  if (argc != 3) {
    fprintf(stderr, "usage: fasttok_test MODEL.gguf FOLDER\n");
    return 2;
  }
  EXPECT(fasttok_last_error_code() == FASTTOK_OK && strcmp(fasttok_last_error(), "") == 0);
  test_new(argv[1]);
  tokenizer = open_or_exit(argv[1]);
  test_stream(tokenizer, 1, CAPACITY / 4);
  test_stream(tokenizer, 7, 1);
  test_stream(tokenizer, 1000, 2);
  test_stream_errors(tokenizer);
  test_batch(tokenizer);
  test_decode(tokenizer);
  test_cache(tokenizer);
  test_tracing(argv[2]);
  test_free(tokenizer);
  return n_failed == 0 ? 0 : 1;
}
