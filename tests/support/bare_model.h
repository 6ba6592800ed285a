// A GGUF file of a header alone: neither metadata nor tensors.
#pragma once

#include <filesystem>
#include <string>

#include "support/raw_gguf.h"
#include "support/shared_data.h"

namespace inferno::test {

// bare.gguf in this folder; its path.
inline std::string write_bare_model(const std::filesystem::path& folder) {
  const std::string path = (folder / "bare.gguf").string();
  write_file(path, RawGguf().header(0, 0).bytes());
  return path;
}

}  // namespace inferno::test
