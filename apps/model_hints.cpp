#include "apps/model_hints.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "model/synthetic.h"

namespace inferno::apps {
namespace {

namespace fs = std::filesystem;

// Names of the folder's models, in order; of a very large folder, of what comes first. nullopt where it
// cannot be read.
std::optional<std::vector<std::string>> models_in(const fs::path& folder) {
  constexpr size_t kMaxFiles = 1000;
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator files(folder.empty() ? "." : folder, error);
  for (; !error && files != fs::directory_iterator() && names.size() < kMaxFiles; files.increment(error)) {
    if (files->path().extension() == ".gguf") names.push_back(files->path().filename().string());
  }
  if (error) return std::nullopt;
  std::sort(names.begin(), names.end());
  return names;
}

std::string hint_for_folder(const fs::path& folder) {
  constexpr size_t kShown = 4;
  auto found = models_in(folder);
  if (!found) return "";
  std::vector<std::string>& names = *found;
  if (names.empty()) return "; no .gguf file is in it";
  const size_t n_more = names.size() - std::min(kShown, names.size());
  names.resize(names.size() - n_more);
  for (std::string& name : names) name = escaped(name);
  return fmt::format("; give a .gguf file of it: {}{}", join(names, ", "),
                     n_more == 0 ? "" : fmt::format(" and {} more", n_more));
}

std::string hint_for_missing(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (path.find("://") != std::string::npos || path.starts_with("hf.co/") ||
      path.starts_with("huggingface.co/"))
    return "; inferno does not download: README.md says where models are";
  if (!folder.empty() && !fs::exists(folder, error)) {
    const bool is_repository = path.front() != '.' && std::count(path.begin(), path.end(), '/') == 1 &&
                               path.front() != '/' && !path.ends_with(".gguf");
    return is_repository
               ? "; inferno does not download: README.md says where models are; a prompt with a / and "
                 "no blank goes to standard input: generate -"
               : "";
  }
  const std::vector<std::string> names = models_in(folder).value_or(std::vector<std::string>());
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view nearest = nearest_name(fs::path(path).filename().string(), views);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", escaped((folder / nearest).string(), 4096));
}

}  // namespace

std::string hint_for_unopened(const std::string& path) {
  std::error_code error;
  if (model::is_synthetic(path)) return "";
  if (fs::is_directory(path, error)) return hint_for_folder(path);
  return fs::exists(path, error) ? "" : hint_for_missing(path);
}

}  // namespace inferno::apps
