#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "metrics/telemetry.h"
#include "tokenizer/byte_bpe.h"
#include "tokenizer/sentencepiece_bpe.h"

namespace inferno::tokenizer {
namespace {

// Whoever changes what save() of any part writes, what that means or how it is looked up, raises it: tables
// are kept in files.
constexpr uint64_t kTablesVersion = 1;

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)),
      user_defined_(vocabulary_, {TokenType::kUserDefined}),
      all_specials_(vocabulary_, {TokenType::kUserDefined, TokenType::kControl, TokenType::kUnknown}) {}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_gguf(const gguf::File& file) {
  const telemetry::ScopedCounter counter("tokenizer::Load");
  TRY_ASSIGN(Vocabulary vocabulary, Vocabulary::load(file));
  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  TRY(tokenizer->load_text_model(file));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

std::vector<std::byte> Tokenizer::tables() const {
  TableWriter tables;
  tables.add_one(kTablesVersion);
  vocabulary_.save(tables);
  text_model_->save(tables);
  return std::move(tables).take();
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_tables(const gguf::File& file,
                                                                std::span<const std::byte> tables,
                                                                std::shared_ptr<const void> owner) {
  const telemetry::ScopedCounter counter("tokenizer::Load");
  TableReader saved(tables, std::move(owner));
  if (saved.take_one<uint64_t>() != kTablesVersion) return not_saved_tables(file);
  std::optional<Vocabulary> vocabulary = Vocabulary::from_tables(file, saved);
  if (!vocabulary) return not_saved_tables(file);
  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(*vocabulary)));
  TRY(tokenizer->load_text_model(file, &saved));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

Status Tokenizer::load_text_model(const gguf::File& file, TableReader* saved) {
  constexpr std::string_view kModelKey = "tokenizer.ggml.model";
  TRY_ASSIGN(const std::string_view model, file.meta<std::string_view>(kModelKey));
  bool add_bos_default = false;
  if (model == "gpt2") {
    TRY_ASSIGN(std::unique_ptr<const ByteBpe> bpe, ByteBpe::load(file, vocabulary_, saved));
    pretokenizer_ = bpe->pretokenizer_name();
    add_bos_default = bpe->adds_bos();
    text_model_ = std::move(bpe);
  } else if (model == "llama") {
    TRY_ASSIGN(text_model_, SentencePieceBpe::load(file, vocabulary_, saved));
    pretokenizer_ = "default";
    add_bos_default = true;
  } else {
    return invalid_key(file, kModelKey, "unknown tokenizer \"{}\"; known are gpt2, llama", escaped(model));
  }
  model_ = model;
  TRY_ASSIGN(special_ids_, load_special_ids(file, vocabulary_, add_bos_default));
  return {};
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const telemetry::ScopedCounter counter("tokenizer::Encode");
  if (text.size() > kMaxTextBytes) {
    return make_error(ErrorCode::kInvalidArgument, "the text has {} bytes, at most {} can be encoded at once",
                      text.size(), kMaxTextBytes);
  }
  const SpecialMatcher& specials = options.parse_special ? all_specials_ : user_defined_;
  std::vector<int32_t> ids;
  if (options.add_bos && special_ids_.add_bos) ids.push_back(*special_ids_.bos);
  size_t done = 0;
  while (done < text.size()) {
    const auto match = specials.find(text, done);
    const size_t end = match ? match->begin : text.size();
    if (end > done) text_model_->encode(text.substr(done, end - done), true, ids);
    if (match) ids.push_back(match->id);
    done = match ? end + match->length : end;
  }
  if (options.add_bos && special_ids_.add_eos) ids.push_back(*special_ids_.eos);
  return ids;
}

Result<std::vector<std::vector<int32_t>>> Tokenizer::encode_batch(std::span<const std::string> texts,
                                                                  const EncodeOptions& options,
                                                                  unsigned n_threads) const {
  const telemetry::ScopedCounter counter("tokenizer::EncodeBatch");
  std::vector<Result<std::vector<int32_t>>> results(texts.size(), std::vector<int32_t>());
  ThreadPool pool(n_threads);
  pool.parallel_for(texts.size(), [&](size_t i) { results[i] = encode(texts[i], options); });
  std::vector<std::vector<int32_t>> ids;
  ids.reserve(texts.size());
  for (Result<std::vector<int32_t>>& result : results) {
    TRY_ASSIGN(ids.emplace_back(), std::move(result));
  }
  return ids;
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string text;
  for (const int32_t id : ids) {
    if (!valid(id)) {
      return make_error(ErrorCode::kInvalidArgument, "token id {} is not in the vocabulary of {} tokens", id,
                        vocab_size());
    }
    if (skip_special && is_control(id)) continue;
    text_model_->append_piece(id, text);
  }
  if (adds_space_prefix() && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::string Tokenizer::piece(int32_t id) const {
  CHECK(valid(id), "token id {} of {}", id, vocab_size());
  std::string text;
  text_model_->append_piece(id, text);
  return text;
}

bool Tokenizer::is_end(int32_t id) const {
  return std::find(special_ids_.end.begin(), special_ids_.end.end(), id) != special_ids_.end.end();
}

}  // namespace inferno::tokenizer
