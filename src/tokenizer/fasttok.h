/* fasttok: the tokenizer as a C library (C99).
 *
 * Text is bytes with a length; it need not end in NUL and need not be UTF-8 unless FASTTOK_STRICT_UTF8 asks
 * for that. Functions that return int32_t give FASTTOK_OK or an error code; those that return int64_t give a
 * count (>= 0) or an error code (< 0). After an error fasttok_last_error() says what was wrong, in one line.
 * Nothing is thrown, printed or aborted.
 *
 * Handles are names, not addresses: one that was freed, or never made, is FASTTOK_ERROR_HANDLE. Threads may
 * share a tokenizer and a stream; calls on one stream take turns.
 *
 * Environment, read by fasttok_new(): INFENG_TOKEN_CACHE=1 (prefix cache on), INFENG_TOK_THREADS=n (as
 * fasttok_set_max_threads), FASTTOK_TRACING=1 (see fasttok_flush_csv). */
#ifndef INFERNO_TOKENIZER_FASTTOK_H
#define INFERNO_TOKENIZER_FASTTOK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FASTTOK_API __attribute__((visibility("default")))
#else
#define FASTTOK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define FASTTOK_ABI_VERSION 1u

enum {
  FASTTOK_OK = 0,
  FASTTOK_ERROR_NULL = -1,       /* a pointer that must not be null is */
  FASTTOK_ERROR_VERSION = -2,    /* the library has another ABI version than the caller's header */
  FASTTOK_ERROR_UTF8 = -3,       /* invalid UTF-8, with FASTTOK_STRICT_UTF8 */
  FASTTOK_ERROR_ENCODE = -4,     /* encoding or decoding failed: text too long, id out of range, no memory */
  FASTTOK_ERROR_HANDLE = -5,     /* not a handle, or one that was freed */
  FASTTOK_ERROR_ARGUMENT = -6,   /* a number out of range, an unknown flag, a stream that has ended */
  FASTTOK_ERROR_FILE = -7,       /* a file cannot be read or written, or holds no tokenizer */
  FASTTOK_ERROR_ENVIRONMENT = -8 /* an environment variable has a value that means nothing */
};

/* Flags; 0 is what a model expects of a prompt. */
enum {
  FASTTOK_NO_BOS = 1,        /* encode: no BOS or EOS, even where the model's metadata asks for it */
  FASTTOK_PLAIN_SPECIAL = 2, /* encode: control tokens that the text spells are plain text */
  FASTTOK_STRICT_UTF8 = 4, /* encode: invalid UTF-8 is an error, and nothing of that call's text is encoded */
  FASTTOK_SKIP_SPECIAL = 8 /* decode: leave control tokens out */
};

typedef struct fasttok fasttok;
typedef struct fasttok_stream fasttok_stream;

/* The tokenizer of a GGUF file, which need not stay there. NULL on error; fasttok_last_error_code() says
 * which. `abi_version` is FASTTOK_ABI_VERSION. */
FASTTOK_API fasttok* fasttok_new(uint32_t abi_version, const char* path);
/* NULL does nothing. Streams of the tokenizer stay usable. */
FASTTOK_API int32_t fasttok_free(fasttok* tokenizer);

/* The error of this thread's latest call that failed: code (FASTTOK_OK before any) and text ("" before any).
 * The text stays until the thread's next failure. */
FASTTOK_API int32_t fasttok_last_error_code(void);
FASTTOK_API const char* fasttok_last_error(void);

/* The prefix cache of fasttok_encode_batch: off unless the environment says otherwise. It reuses ids of
 * earlier texts that begin with the same bytes, after comparing all of them; the ids are always those of
 * encoding without it. 0 turns it off and forgets all, 1 turns it on. */
FASTTOK_API int32_t fasttok_set_prefix_cache(fasttok* tokenizer, int32_t enabled);
/* Texts are looked up by their first k bytes (default 128, at least 1); `capacity` texts are kept (default
 * 32, at least 1), within 64 MiB. What was kept before is forgotten. */
FASTTOK_API int32_t fasttok_set_prefix_params(fasttok* tokenizer, size_t k, size_t capacity);
/* Threads that encode a batch, the caller's included; 0 (the default) is one per core. */
FASTTOK_API int32_t fasttok_set_max_threads(fasttok* tokenizer, uint32_t n_threads);

/* Streaming: text comes in pieces of any size, and ids as soon as no further text can change them. All ids
 * together are those of the whole text. Byte-level tokenizers hold back the last word or run of white space;
 * SentencePiece-style ones the text since the last space that no token can reach across; a text without a
 * place to cut waits for its end. NULL on error. */
FASTTOK_API fasttok_stream* fasttok_encode_stream_begin(fasttok* tokenizer, uint32_t flags);
/* Takes `n_bytes` of text (NULL if 0) and writes at most `capacity` ids; returns how many. Ids that did not
 * fit come with the next calls. An error leaves the stream as it was. */
FASTTOK_API int64_t fasttok_encode_stream_next(fasttok_stream* stream, const char* text, size_t n_bytes,
                                               int32_t* ids, size_t capacity);
/* The text is over: writes the ids that are left, at most `capacity`, and returns how many. More than 0: call
 * it again. Anything else frees the stream: 0 when no ids are left, or an error, such as
 * FASTTOK_ERROR_UTF8 for a text that ends within a character, or no room for an id. With `ids` NULL it frees
 * the stream at once and returns 0. */
FASTTOK_API int64_t fasttok_encode_stream_end(fasttok_stream* stream, int32_t* ids, size_t capacity);

/* Encodes n_texts texts. Text i has n_bytes[i] bytes, and its ids stand at ids[offsets[i]] to ids[offsets[i +
 * 1] - 1]; `offsets` has n_texts + 1 elements. Returns the number of ids of all texts together. If that is
 * more than `capacity`, no ids are written (the offsets are) and a call with room for them has to follow;
 * `ids` may be NULL if `capacity` is 0. The ids wait for that call (within 64 MiB with their texts, until a
 * call on other texts waits in their place), and it hands them over without encoding again. */
FASTTOK_API int64_t fasttok_encode_batch(fasttok* tokenizer, const char* const* texts, const size_t* n_bytes,
                                         size_t n_texts, uint32_t flags, int32_t* ids, size_t capacity,
                                         size_t* offsets);

/* The text of n_ids ids, without a NUL at its end. Returns its bytes; if they are more than `capacity`, none
 * are written. */
FASTTOK_API int64_t fasttok_decode(fasttok* tokenizer, const int32_t* ids, size_t n_ids, uint32_t flags,
                                   char* text, size_t capacity);

typedef struct fasttok_metrics {
  uint64_t texts_processed;   /* of batches whose ids were handed over, and streams that were ended */
  uint64_t bytes_processed;   /* of their text */
  uint64_t tokens_processed;  /* ids that came of it, those from the cache too */
  double avg_us_per_token;    /* time in encoding calls, summed over texts, by tokens; 0 without tokens */
  uint64_t cache_hits;        /* look-ups that found the whole text */
  uint64_t cache_prefix_hits; /* look-ups that found its beginning */
  uint64_t cache_misses;
  double cache_hit_ratio; /* both kinds of hits by look-ups; 0 without look-ups */
} fasttok_metrics;

/* Since fasttok_new(). */
FASTTOK_API int32_t fasttok_get_metrics(fasttok* tokenizer, fasttok_metrics* metrics);

/* What was timed under FASTTOK_TRACING=1, of all tokenizers of the process: Tokenizer::encode_stream_start,
 * Tokenizer::encode_stream_next, Tokenizer::cache_lookup, and what lies below them. As CSV
 * (stage,elapsed_us), after which it is forgotten; as a trace for ui.perfetto.dev. The parent folder is made.
 */
FASTTOK_API int32_t fasttok_flush_csv(const char* path);
FASTTOK_API int32_t fasttok_write_trace(const char* path);

#ifdef __cplusplus
}
#endif

#endif
