#include "apps/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/environment.h"
#include "base/text.h"

namespace inferno::apps {

Result<TemporaryFolder> TemporaryFolder::make() {
  const std::string parent = environment::get("TMPDIR").value_or("/tmp");
  std::string path = parent + "/inferno-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return make_error(ErrorCode::kIo,
                      "{}: cannot make a folder there: {}; set TMPDIR to one that is writable",
                      escaped(parent, 4096), std::generic_category().message(errno));
  }
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;  // what cannot be removed stays
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

std::optional<uint64_t> TemporaryFolder::free_bytes() const {
  std::error_code error;
  const auto space = std::filesystem::space(path_, error);
  return error ? std::nullopt : std::optional<uint64_t>(space.available);
}

}  // namespace inferno::apps
