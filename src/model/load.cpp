#include "model/load.h"

#include <filesystem>
#include <future>
#include <system_error>

#include "backend/repack_cache.h"
#include "base/log.h"
#include "base/text.h"
#include "model/check_tensors.h"
#include "model/repack.h"
#include "model/synthetic.h"

namespace inferno::model {
namespace {

constexpr uint64_t kCheckedBytes = uint64_t{1} << 30;  // reading more is left to those who ask for it

bool checks_tensors(const gguf::File& file, const LoadOptions& options, const backend::RepackCache* cache) {
  if (options.tensor_check != TensorCheck::kAuto) return options.tensor_check == TensorCheck::kStrict;
  return file.file_bytes() < kCheckedBytes && !is_synthetic(file.path()) &&
         !(cache != nullptr && cache->weights_are_finite());
}

// What a load makes of what its checker found.
Status judge(const std::vector<NotFinite>& found, const gguf::File& file, TensorCheck check,
             backend::RepackCache* cache, std::vector<std::string>& warnings) {
  if (found.empty()) {
    if (cache != nullptr) cache->set_weights_are_finite();
    return {};
  }
  std::string first = describe(file, found.front());
  if (check == TensorCheck::kStrict) return Error{ErrorCode::kInvalidFile, std::move(first)};
  if (found.size() > 1) first += fmt::format(" (and in {} more tensors)", found.size() - 1);
  warnings.push_back(std::move(first));
  return {};
}

constexpr std::string_view kTokenizerTables = "tokenizer tables";

struct LoadedTokenizer {
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  bool is_from_cache = false;
};

Result<LoadedTokenizer> make_tokenizer(const gguf::File& file, std::span<const std::byte> tables,
                                       const std::shared_ptr<const void>& owner) {
  if (!tables.empty()) {
    const auto cached = tokenizer::Tokenizer::from_tables(file, tables, owner);
    if (cached) return LoadedTokenizer{*cached, true};
    log::event(log::Level::kWarn, "inferno::model", "repack cache is made anew",
               {{"because", cached.error().message}});
  }
  TRY_ASSIGN(auto tokenizer, tokenizer::Tokenizer::from_gguf(file));
  return LoadedTokenizer{std::move(tokenizer), false};
}

// Beside the weights, where the system gives a thread.
std::future<Result<LoadedTokenizer>> load_tokenizer(const gguf::File& file, backend::RepackCache* cache) {
  const auto tables = cache == nullptr ? std::span<const std::byte>() : cache->find_bytes(kTokenizerTables);
  const auto owner = cache == nullptr ? nullptr : cache->owner();
  try {
    return std::async(std::launch::async, make_tokenizer, file, tables, owner);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, make_tokenizer, file, tables, owner);
  }
}

// Such files are published for tokenizers; whatever their architecture, no tensor of it is there.
Status check_has_weights(const gguf::File& file) {
  if (!file.tensors().empty()) return {};
  const bool has_vocabulary = file.find("tokenizer.ggml.tokens") != nullptr;
  return make_error(ErrorCode::kInvalidFile,
                    "{}: expected a model with weights, found {}; give the model's file",
                    escaped(file.path(), 4096),
                    has_vocabulary ? "a vocabulary only, which can tokenize and no more" : "no tensors");
}

// nullopt where no file holds the weights after all.
std::optional<RepackCacheUse> use_of(const backend::RepackCache& cache, bool had_news) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(cache.path(), error);
  if (error || (cache.has_news() && !cache.is_open())) return std::nullopt;
  return RepackCacheUse{cache.path(), bytes, had_news && !cache.has_news()};
}

}  // namespace

Result<gguf::File> open_model(const std::string& path, const ProgressFn& progress,
                              const CancelFn& cancelled) {
  if (!is_synthetic(path)) return gguf::File::open(path);
  TRY_ASSIGN(const SyntheticSpec spec, parse_synthetic(path));
  return synthesize(spec, {.progress = progress, .cancelled = cancelled});
}

Result<LoadedModel> load_from_gguf(gguf::File file, std::shared_ptr<backend::Backend> backend,
                                   const LoadOptions& options) {
  TRY(check_has_weights(file));
  LoadedModel loaded;
  loaded.warnings = file.warnings();
  using backend::RepackCache;
  const auto bytes = options.tensor_check == TensorCheck::kStrict ? RepackCache::Bytes::kChecked
                                                                  : RepackCache::Bytes::kTrusted;
  const std::unique_ptr<RepackCache> cache =
      open_repack_cache(options.repack_cache, file, *backend, bytes, loaded.warnings);
  std::future<Result<LoadedTokenizer>> loading = load_tokenizer(file, cache.get());
  std::optional<TensorChecker> checker;
  if (checks_tensors(file, options, cache.get())) {
    checker.emplace([backend](int64_t n, const auto& fn) { backend->run_on_host(n, fn); });
  }
  // The model first: of a file of another kind, "unknown architecture" says more than "unknown tokenizer".
  TRY_ASSIGN(loaded.model, Model::load(std::move(file), std::move(backend),
                                       {.progress = options.progress,
                                        .cache = cache.get(),
                                        .checker = checker ? &*checker : nullptr,
                                        .cancelled = options.cancelled}));
  if (checker)
    TRY(judge(checker->found(), loaded.model->file(), options.tensor_check, cache.get(), loaded.warnings));
  TRY_ASSIGN(LoadedTokenizer tokenizer, loading.get());
  loaded.tokenizer = std::move(tokenizer.tokenizer);
  if (cache != nullptr) {
    if (!tokenizer.is_from_cache) cache->add_bytes(kTokenizerTables, loaded.tokenizer->tables());
    const bool had_news = cache->has_news();
    save_repack_cache(*cache, options.progress, options.cancelled, loaded.warnings);
    loaded.repack_cache = use_of(*cache, had_news);
  }
  return loaded;
}

Result<LoadedModel> load_from_gguf_path(const std::string& path, std::shared_ptr<backend::Backend> backend,
                                        const LoadOptions& options) {
  TRY_ASSIGN(gguf::File file, open_model(path, options.progress, options.cancelled));
  return load_from_gguf(std::move(file), std::move(backend), options);
}

}  // namespace inferno::model
