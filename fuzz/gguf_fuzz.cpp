// Any bytes as a GGUF file: refused with one line, or every name, value and tensor can be read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "gguf/file.h"
#include "tests/support/gguf_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = inferno::gguf::File::from_memory(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (file.ok()) {
    inferno::test::walk(*file);
  } else if (file.error().message.empty() || file.error().message.find('\n') != std::string::npos) {
    std::abort();
  }
  return 0;
}
