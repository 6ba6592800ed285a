#include "support/shared_data.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace inferno::test {

std::filesystem::path shared_data(const std::string& relative) {
  if (const char* root = std::getenv("INFERNO_SHARED_DATA")) return std::filesystem::path(root) / relative;
  return std::filesystem::path(INFERNO_SOURCE_DIR).parent_path() / "shared" / "data" / relative;
}

std::filesystem::path scratch_dir(const std::string& name) {
  struct Root {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("inferno-test-" + std::to_string(::getpid()));
    ~Root() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Root root;
  const std::filesystem::path dir = root.path / name;
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace inferno::test
