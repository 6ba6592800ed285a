// A folder for files that only this run needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace inferno::apps {

class TemporaryFolder {
 public:
  // In $TMPDIR, else in /tmp, for its owner alone. kIo.
  static Result<TemporaryFolder> make();
  // Removes it with all that is in it.
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  const std::string& path() const { return path_; }
  // nullopt where the system does not tell.
  std::optional<uint64_t> free_bytes() const;

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace inferno::apps
