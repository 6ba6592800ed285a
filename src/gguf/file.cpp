#include "gguf/file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "gguf/limits.h"
#include "gguf/name_index.h"
#include "gguf/parser.h"
#include "gguf/split.h"
#include "metrics/telemetry.h"

namespace inferno::gguf {
namespace {

// What a file says about the split model it is part of, in the keys that the usual splitting tool writes.
struct SplitKeys {
  uint64_t number = 0;  // from 0
  uint64_t count = 1;   // 1: the file is whole
  uint64_t n_tensors = 0;
};

Result<SplitKeys> read_split_keys(const File& file) {
  SplitKeys keys;
  TRY_ASSIGN(const auto count, file.meta_optional<uint64_t>("split.count"));
  if (count.value_or(0) <= 1) return keys;
  keys.count = *count;
  TRY_ASSIGN(keys.number, file.meta<uint64_t>("split.no"));
  TRY_ASSIGN(keys.n_tensors, file.meta<uint64_t>("split.tensors.count"));
  return keys;
}

template <class... Args>
Error invalid(const File& file, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidFile, "{}: {}", escaped(file.path(), 4096),
                    fmt::format(format, std::forward<Args>(args)...));
}

// `keys` are `file`'s own, `name` is what it is called.
Status check_shard_name(const File& file, const SplitKeys& keys, const ShardName& name) {
  if (keys.count != name.count) {
    return invalid(file, "metadata key \"split.count\" is {}, expected {} from the file's name", keys.count,
                   name.count);
  }
  if (keys.number != name.number - 1) {
    return invalid(
        file, "metadata key \"split.no\" is {}, expected {} from the file's name (shards renamed or mixed?)",
        keys.number, name.number - 1);
  }
  return {};
}

Status check_shard(const File& file, const SplitKeys& expected, const ShardName& name) {
  TRY_ASSIGN(const SplitKeys keys, read_split_keys(file));
  TRY(check_shard_name(file, keys, name));
  if (keys.n_tensors == expected.n_tensors) return {};
  return invalid(file,
                 "metadata key \"split.tensors.count\" is {}, expected {} as in the shard that was given",
                 keys.n_tensors, expected.n_tensors);
}

// Later shards may leave the architecture out; one that names it must be of the same model.
Status check_same_model(const File& first, const File& shard) {
  TRY_ASSIGN(const auto expected, first.meta_optional<std::string_view>("general.architecture"));
  TRY_ASSIGN(const auto found, shard.meta_optional<std::string_view>("general.architecture"));
  if (!found || found == expected) return {};
  return invalid(shard,
                 "metadata key \"general.architecture\" is {}, expected {} as in {} (shards of two models?)",
                 quote(*found), quote(expected.value_or("")), escaped(first.path(), 4096));
}

Status check_all_exist(ShardName name) {
  for (name.number = 1; name.number <= name.count; ++name.number) {
    const std::string path = shard_path(name);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) continue;
    return make_error(ErrorCode::kIo, "{}: shard {} of {} is missing: put all shards into one folder",
                      escaped(path, 4096), name.number, name.count);
  }
  return {};
}

void log_opened(const File& file) {
  constexpr std::string_view kModule = "inferno::gguf";
  if (!log::enabled(log::Level::kDebug, kModule)) return;
  log::event(log::Level::kDebug, kModule, "opened",
             {{"file", file.path()},
              {"version", file.version()},
              {"keys", file.metadata().size()},
              {"tensors", file.tensors().size()},
              {"bytes", file.file_bytes()},
              {"shards", file.n_shards()}});
}

}  // namespace

Result<File> File::open(const std::string& path) {
  const telemetry::ScopedCounter counter("gguf::Open");
  TRY_ASSIGN(File file, open_one(path));
  TRY_ASSIGN(const SplitKeys keys, read_split_keys(file));
  if (keys.count > 1) {
    TRY_ASSIGN(file, open_shards(std::move(file)));
  }
  log_opened(file);
  return file;
}

Result<File> File::from_memory(std::span<const std::byte> bytes, std::string name) {
  const telemetry::ScopedCounter counter("gguf::Open");
  TRY_ASSIGN(File file, Parser::parse(bytes, std::move(name)));
  TRY_ASSIGN(const SplitKeys keys, read_split_keys(file));
  if (keys.count > 1) {
    return invalid(file, "shard {} of {} of a split model cannot be used from memory: merge the shards first",
                   keys.number + 1, keys.count);
  }
  return file;
}

Result<File> File::from_buffer(Buffer bytes, std::string name) {
  auto owner = std::make_shared<const Buffer>(std::move(bytes));
  TRY_ASSIGN(File file,
             from_memory({static_cast<const std::byte*>(owner->data()), owner->bytes()}, std::move(name)));
  file.buffer_ = std::move(owner);
  return file;
}

Result<File> File::open_one(const std::string& path, uint64_t n_shards) {
  constexpr uint64_t kMostKeptOpen = 256;  // a process may often have 1024 open
  using Descriptor = MappedFile::Descriptor;
  TRY_ASSIGN(auto mapping,
             MappedFile::open(path, n_shards <= kMostKeptOpen ? Descriptor::kKeptOpen : Descriptor::kClosed));
  TRY_ASSIGN(File file, Parser::parse(mapping->bytes(), path));
  file.mappings_.push_back(std::move(mapping));
  return file;
}

Result<File> File::open_shards(File given) {
  TRY_ASSIGN(const SplitKeys given_keys, read_split_keys(given));
  auto name = parse_shard_name(given.path());
  if (!name) {
    return invalid(given,
                   "is shard {} of {} of a split model, so its name must end in \"-{:05}-of-{:05}.gguf\"",
                   given_keys.number + 1, given_keys.count, given_keys.number + 1, given_keys.count);
  }
  TRY(check_shard_name(given, given_keys, *name));
  TRY(check_all_exist(*name));
  name->number = 1;
  TRY_ASSIGN(File model, open_one(shard_path(*name), name->count));
  TRY(check_shard(model, given_keys, *name));
  for (name->number = 2; name->number <= name->count; ++name->number) {
    TRY_ASSIGN(File shard, open_one(shard_path(*name), name->count));
    TRY(check_shard(shard, given_keys, *name));
    TRY(check_same_model(model, shard));
    model.append_shard(std::move(shard));
    if (model.tensors_.size() > kMaxTensors) {
      return invalid(model, "the first {} shards hold more than {} tensors", name->number, kMaxTensors);
    }
  }
  if (model.tensors_.size() != given_keys.n_tensors) {
    return invalid(model, "the {} shards hold {} tensors, expected {} (\"split.tensors.count\")",
                   model.n_shards_, model.tensors_.size(), given_keys.n_tensors);
  }
  model.tensors_by_name_ = sorted_by_name(model.tensors_);
  if (const auto twice = first_duplicate(model.tensors_, model.tensors_by_name_)) {
    const TensorInfo& info = model.tensors_[*twice];
    return invalid(model, "tensor \"{}\" of shard {} is in an earlier shard too (shards of two models?)",
                   escaped(info.name), info.shard + 1);
  }
  return model;
}

void File::append_shard(File shard) {
  for (TensorInfo& info : shard.tensors_) info.shard = n_shards_;
  tensors_.insert(tensors_.end(), shard.tensors_.begin(), shard.tensors_.end());
  warnings_.insert(warnings_.end(), shard.warnings_.begin(), shard.warnings_.end());
  mappings_.insert(mappings_.end(), shard.mappings_.begin(), shard.mappings_.end());
  file_bytes_ += shard.file_bytes_;
  ++n_shards_;
}

void File::release(const TensorInfo& info) const {
  if (info.shard < mappings_.size())
    mappings_[info.shard]->release({info.tensor.as<const std::byte>(), info.tensor.bytes()});
}

Status File::copy(const TensorInfo& info, size_t offset, std::span<std::byte> to) const {
  const std::span<const std::byte> from = {info.tensor.as<const std::byte>() + offset, to.size()};
  if (copies_from_file(info)) return mappings_[info.shard]->copy(from, to.data());
  std::copy(from.begin(), from.end(), to.begin());
  return {};
}

const Value* File::find(std::string_view key) const {
  const KeyValue* entry = find_by_name(metadata_, metadata_by_key_, key);
  return entry == nullptr ? nullptr : &entry->value;
}

const TensorInfo* File::find_tensor(std::string_view name) const {
  return find_by_name(tensors_, tensors_by_name_, name);
}

}  // namespace inferno::gguf
