#include "apps/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "apps/output.h"
#include "apps/signals.h"
#include "base/atomic_file.h"
#include "base/text.h"

namespace inferno::apps {

namespace {

bool is_open_as(const std::string& path, int descriptor) {
  struct stat named {
  }, open{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(descriptor, &open) == 0 && S_ISREG(named.st_mode) &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

bool is_model(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == "GGUF";
}

// Where it lies or will lie, whatever way leads there.
std::filesystem::path place_of(const std::string& path) {
  std::error_code error;
  std::filesystem::path place =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return error ? std::filesystem::path(path) : place;
}

Error refusal(const std::string& path, std::string_view why) {
  return make_error(ErrorCode::kInvalidArgument, "{}: expected the name of a file to write, found {}",
                    escaped(path, 4096), why);
}

}  // namespace

Status check_output_file(const std::string& path, Content content) {
  if (path.empty()) return {};
  if (path == "-")
    return refusal(path, "what stands for standard input or output elsewhere; ./- is a file of that name");
  if (is_open_as(path, STDOUT_FILENO))
    return refusal(path, "where standard output goes, which would be lost");
  if (is_open_as(path, STDERR_FILENO)) return refusal(path, "where messages go, which would be lost");
  if (content != Content::kModel && is_model(path)) return refusal(path, "a model, which would be lost");
  return check_writable(path);
}

Status check_outputs_differ(std::initializer_list<std::pair<std::string_view, std::string>> outputs) {
  for (auto a = outputs.begin(); a != outputs.end(); ++a) {
    for (auto b = std::next(a); b != outputs.end(); ++b) {
      std::error_code ignored;
      if (a->second.empty() || b->second.empty()) continue;
      if (place_of(a->second) != place_of(b->second) &&
          !std::filesystem::equivalent(a->second, b->second, ignored)) {
        continue;
      }
      return make_error(ErrorCode::kInvalidArgument, "{}: {} and {} name one file, expected two",
                        escaped(b->second, 4096), a->first, b->first);
    }
  }
  return {};
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
