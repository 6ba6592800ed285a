// The names of a split model's files: <prefix>-00001-of-00003.gguf, numbered from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace inferno::gguf {

struct ShardName {
  std::string prefix;   // with the folder, without the dash
  uint64_t number = 0;  // from 1
  uint64_t count = 0;
};

// nullopt when `path` is not named like a shard.
std::optional<ShardName> parse_shard_name(const std::string& path);
std::string shard_path(const ShardName& name);

}  // namespace inferno::gguf
