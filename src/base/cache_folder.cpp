#include "base/cache_folder.h"

#include <filesystem>
#include <system_error>

#include "base/environment.h"
#include "base/text.h"

namespace inferno {

std::optional<std::string> cache_folder() {
  const auto is_absolute = [](const std::string& path) { return path.starts_with('/'); };
  if (const auto cache = environment::get("XDG_CACHE_HOME"); cache && is_absolute(*cache)) {
    return *cache + "/inferno";
  }
  if (const auto home = environment::get("HOME"); home && is_absolute(*home))
    return *home + "/.cache/inferno";
  return std::nullopt;
}

Status make_cache_folder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::create_directories(folder, error) && !error) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  if (!error) return {};
  return make_error(ErrorCode::kIo, "{}: cannot make this folder: {}", escaped(folder, folder.size()),
                    std::generic_category().message(error.value()));
}

}  // namespace inferno
