#include "apps/output_file.h"

#include <cstdio>
#include <filesystem>

#include "apps/output.h"
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

void say_written(const std::string& path, const std::string& why) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  const std::string line = fmt::format("{}: wrote {}{}\n", for_terminal(path), human_bytes(error ? 0 : bytes),
                                       why.empty() ? "" : " (" + why + ")");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace inferno::apps
