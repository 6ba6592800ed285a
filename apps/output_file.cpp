#include "apps/output_file.h"

#include "base/atomic_file.h"

namespace inferno::apps {

Status check_output_file(const std::string& path) {
  return path.empty() ? Status() : check_writable(path);
}

Status check_output_folder(const std::string& folder, const std::string& instead) {
  const Status status = check_folder_writable(folder);
  if (status) return {};
  return make_error(ErrorCode::kIo, "{}; give another {}", status.error().message, instead);
}

}  // namespace inferno::apps
