#include "apps/output_file.h"

#include <cstdio>
#include <filesystem>

#include "apps/output.h"
#include "apps/signals.h"
#include "base/atomic_file.h"
#include "base/text.h"

namespace inferno::apps {

Status check_output_file(const std::string& path) {
  return path.empty() ? Status() : check_writable(path);
}

Status check_output_folder(const std::string& folder, const std::string& instead) {
  const Status status = check_folder_writable(folder);
  if (status) return {};
  return make_error(ErrorCode::kIo, "{}; give another {}", status.error().message, instead);
}

Status check_free_space(const std::string& path, uint64_t bytes) {
  std::error_code error;
  // Through a link, the folder of its file.
  const bool exists = std::filesystem::exists(path, error);
  const auto file = exists ? std::filesystem::canonical(path, error) : std::filesystem::path(path);
  const std::filesystem::path folder = file.parent_path();
  const auto space = std::filesystem::space(folder.empty() ? "." : folder, error);
  if (error || bytes <= space.available) return {};
  return make_error(ErrorCode::kResource, "{}: needs {}, its disk has {} free; give a path on another one",
                    escaped(path, path.size()), human_bytes(bytes), human_bytes(space.available));
}

Result<int> not_written(const std::string& path, const Error& error) {
  if (error.code != ErrorCode::kCancelled || signal_exit_code() == 0) return error;
  warn(fmt::format("interrupted: {} was not written", path));
  return signal_exit_code();
}

void say_written(const std::string& path, const std::string& why) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  const std::string line = fmt::format("{}: wrote {}{}\n", for_terminal(path), human_bytes(error ? 0 : bytes),
                                       why.empty() ? "" : " (" + why + ")");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace inferno::apps
