#include "model/repack.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>

#include "base/atomic_file.h"
#include "base/content_hash.h"
#include "base/log.h"
#include "base/text.h"
#include "metrics/telemetry.h"

namespace inferno::model {
namespace {

constexpr std::string_view kModule = "inferno::model";
constexpr std::string_view kEnding = ".repack";

uint64_t hash_of(const std::vector<uint64_t>& numbers) {
  return content_hash(std::as_bytes(std::span(numbers)));
}

// A piece from the middle: the ends are where padding and special rows lie. It is copied, since to map the
// pages around each piece takes a start longer than to read them.
Result<uint64_t> sample_of(const gguf::File& file, const gguf::TensorInfo& info) {
  std::array<std::byte, 4096> piece;
  const size_t bytes = info.tensor.bytes();
  const size_t n = std::min(piece.size(), bytes);
  const std::span sample = std::span(piece).first(n);
  TRY(file.copy(info, (bytes - n) / 2, sample));
  return content_hash(sample);
}

// Letters, digits, "-" and "_" alone.
std::string plain(std::string_view stem) {
  constexpr size_t kMaxNameBytes = 100;
  std::string name(stem.substr(0, kMaxNameBytes));
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return !is_plain(c); }, '_');
  return name;
}

// MODEL-HASH: what the names of the caches of the model in this file begin with. The hash is of its place.
std::string name_of_caches(const std::filesystem::path& model) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(model, error);
  const std::string place = error ? model.string() : canonical.string();
  return fmt::format("{}-{:016x}", plain(model.stem().string()),
                     content_hash(std::as_bytes(std::span(place))));
}

// Of a file that is a cache and whose name repack_cache_path() could have made: MODEL-HASH.ISA.repack; or
// that would have become one.
std::optional<StoredRepackCache> stored_cache(const std::filesystem::path& path) {
  constexpr size_t kHashDigits = 16;
  struct stat info {};
  const std::optional<std::string> unfinished = target_of_abandoned(path.string());
  const std::filesystem::path target = unfinished.value_or(path.string());
  const std::string name = target.stem().string();  // without the ending
  const size_t dot = name.rfind('.');
  if (target.extension() != kEnding || dot == std::string::npos || dot < kHashDigits + 1) return std::nullopt;
  const size_t dash = dot - kHashDigits - 1;
  const std::string_view hash = std::string_view(name).substr(dash + 1, kHashDigits);
  if (name[dash] != '-' || hash.find_first_not_of("0123456789abcdef") != std::string_view::npos ||
      ::lstat(path.c_str(), &info) != 0) {
    return std::nullopt;
  }
  const bool was_not_begun = unfinished && info.st_size == 0;
  if (!was_not_begun && !backend::is_repack_file(path.string())) return std::nullopt;
  return StoredRepackCache{path.string(),        name.substr(0, dash),
                           name.substr(dot + 1), static_cast<uint64_t>(info.st_size),
                           info.st_mtim.tv_sec,  unfinished.has_value()};
}

// Why no cache can belong to the model, or "".
std::string why_none(const gguf::File& file, const backend::Backend& backend) {
  if (backend.weight_layout().empty())
    return fmt::format("--backend {} does not repack weights", backend.info().backend);
  if (file.mapped_files().empty()) return fmt::format("{} is in no file", escaped(file.path(), 4096));
  return "";
}

}  // namespace

Result<backend::RepackKey> repack_key(const gguf::File& file, const backend::Backend& backend) {
  const auto& parts = file.mapped_files();
  std::vector<uint64_t> sizes, modified, header_bytes, headers, samples;
  for (const auto& part : parts) {
    sizes.push_back(part->bytes().size());
    modified.push_back(static_cast<uint64_t>(part->modified_ns()));
    header_bytes.push_back(part->bytes().size());  // of a part without tensors all is header
  }
  for (const gguf::TensorInfo& info : file.tensors()) {
    header_bytes[info.shard] = std::min(header_bytes[info.shard], info.file_offset);
    TRY_ASSIGN(samples.emplace_back(), sample_of(file, info));
  }
  for (size_t i = 0; i < parts.size(); ++i)
    headers.push_back(content_hash(parts[i]->bytes().first(header_bytes[i])));
  return backend::RepackKey{backend.weight_layout(), hash_of(sizes), hash_of(modified), hash_of(headers),
                            hash_of(samples)};
}

std::string repack_cache_path(const std::string& folder, const gguf::File& file,
                              const backend::Backend& backend) {
  const std::string name = fmt::format("{}.{}{}", name_of_caches(file.path()), backend.info().isa, kEnding);
  return (std::filesystem::path(folder) / name).string();
}

bool can_have_repack_cache(const gguf::File& file, const backend::Backend& backend) {
  return why_none(file, backend).empty();
}

bool is_cache_of(const StoredRepackCache& cache, const std::string& model) {
  std::error_code error;
  if (cache.model == model) return true;
  if (std::filesystem::exists(model, error)) {
    const std::string name = std::filesystem::path(cache.path).filename().string();
    return name.starts_with(name_of_caches(model) + ".");
  }
  std::string_view stem = model;
  if (stem.ends_with(".gguf")) stem.remove_suffix(std::string_view(".gguf").size());
  return cache.model == plain(stem);
}

Result<std::vector<StoredRepackCache>> stored_repack_caches(const std::string& folder) {
  std::vector<StoredRepackCache> caches;
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error);
  if (error == std::errc::no_such_file_or_directory) return caches;
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
    if (auto cache = stored_cache(files->path())) caches.push_back(std::move(*cache));
  }
  if (error) {
    return make_error(ErrorCode::kIo, "{}: cannot read this folder: {}", escaped(folder, folder.size()),
                      std::generic_category().message(error.value()));
  }
  std::sort(caches.begin(), caches.end(), [](const StoredRepackCache& a, const StoredRepackCache& b) {
    return std::tie(a.model, a.isa, a.path) < std::tie(b.model, b.isa, b.path);
  });
  return caches;
}

Status remove_repack_cache(const StoredRepackCache& cache) {
  remove_temporary_files(cache.path);
  std::error_code error;
  std::filesystem::remove(cache.path, error);
  if (!error) return {};
  return make_error(ErrorCode::kIo, "{}: cannot remove it: {}", escaped(cache.path, cache.path.size()),
                    std::generic_category().message(error.value()));
}

std::unique_ptr<backend::RepackCache> open_repack_cache(const std::string& folder, const gguf::File& file,
                                                        const backend::Backend& backend,
                                                        backend::RepackCache::Bytes bytes,
                                                        std::vector<std::string>& warnings) {
  if (folder.empty()) return nullptr;
  if (const std::string why = why_none(file, backend); !why.empty()) {
    warnings.push_back("no repack cache: " + why);
    return nullptr;
  }
  const telemetry::ScopedCounter counter("model::OpenRepackCache");
  Result<backend::RepackKey> key = repack_key(file, backend);
  if (!key) {
    warnings.push_back("no repack cache: " + key.error().message);
    return nullptr;
  }
  auto cache = std::make_unique<backend::RepackCache>(repack_cache_path(folder, file, backend),
                                                      std::move(key).value(), bytes);
  if (!cache->rejection().empty())
    log::event(log::Level::kWarn, kModule, "repack cache is made anew", {{"because", cache->rejection()}});
  if (cache->was_damaged()) {
    warnings.push_back(
        fmt::format("the repack cache was damaged and is made anew: {}", escaped(cache->path(), 4096)));
  }
  return cache;
}

void save_repack_cache(backend::RepackCache& cache, const ProgressFn& progress, const CancelFn& cancelled,
                       std::vector<std::string>& warnings) {
  const telemetry::ScopedCounter counter("model::SaveRepackCache");
  const Status saved = cache.save(progress, cancelled);
  if (!saved && saved.error().code != ErrorCode::kCancelled)
    warnings.push_back("no repack cache was written: " + saved.error().message);
}

Status check_repack_cache(const std::string& folder, const gguf::File& file, const backend::Backend& backend,
                          const ProgressFn& progress) {
  if (const std::string why = why_none(file, backend); !why.empty())
    return make_error(ErrorCode::kUnavailable, "no repack cache: {}", why);
  const std::string path = repack_cache_path(folder, file, backend);
  TRY_ASSIGN(const backend::RepackKey key, repack_key(file, backend));
  TRY_ASSIGN(const auto cache, backend::RepackFile::open(path, key));
  return cache.check(progress);
}

}  // namespace inferno::model
