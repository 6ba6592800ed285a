#include "gguf/lookalike.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "gguf/cursor.h"

namespace inferno::gguf {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view magic;
  std::string_view description;
};

constexpr std::array kSignatures = {
    Signature{"version https://git-lfs"sv,
              "a Git LFS pointer, not the model itself: run `git lfs pull` where it was cloned"},
    Signature{"FUGG"sv,
              "a big-endian GGUF file (wrong endianness): convert the model again for little-endian"},
    Signature{"lmgg"sv, "a GGML file from before GGUF: convert the original model to GGUF"},
    Signature{"fmgg"sv, "a GGMF file from before GGUF: convert the original model to GGUF"},
    Signature{"tjgg"sv, "a GGJT file from before GGUF: convert the original model to GGUF"},
    Signature{"PK\x03\x04"sv,
              "a zip archive, perhaps a PyTorch checkpoint: unpack it, or convert it to GGUF"},
    Signature{"\x80\x02"sv, "a Python pickle, perhaps a PyTorch checkpoint: convert it to GGUF"},
    Signature{"\x1f\x8b"sv, "a gzip archive: unpack it first"},
    Signature{"\x28\xb5\x2f\xfd"sv, "a Zstandard archive: unpack it first"},
    Signature{"\xfd"
              "7zXZ"sv,
              "an xz archive: unpack it first"},
    Signature{"\x7f"
              "ELF"sv,
              "an executable"},
    Signature{"{"sv, "JSON text"},
};

// A header's length in 8 bytes, then the header: a JSON object.
bool looks_like_safetensors(std::span<const std::byte> bytes) {
  constexpr uint64_t kMaxHeader = 100'000'000;
  return bytes.size() > 8 && load<uint64_t>(bytes.data()) <= kMaxHeader && bytes[8] == std::byte{'{'};
}

bool looks_like_markup(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin == std::string_view::npos) return false;
  std::string start(text.substr(begin, 14));
  std::transform(start.begin(), start.end(), start.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<?xml");
}

}  // namespace

std::string describe_lookalike(std::span<const std::byte> bytes) {
  const std::string_view start = as_text(bytes.first(std::min<size_t>(bytes.size(), 1024)));
  for (const Signature& signature : kSignatures) {
    if (start.starts_with(signature.magic)) return std::string(signature.description);
  }
  if (looks_like_safetensors(bytes)) return "a safetensors file: convert the model to GGUF";
  if (looks_like_markup(start)) {
    return "an HTML or XML page, perhaps an error message saved by a download: download the model again";
  }
  if (start.find_first_not_of('\0') == std::string_view::npos) {
    return "all zeros at its beginning, perhaps an interrupted download: download the model again";
  }
  return {};
}

}  // namespace inferno::gguf
