// What a file that is not GGUF most likely is, so that the error can say what to do about it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace inferno::gguf {

// "a Git LFS pointer: run `git lfs pull` …", or "" when nothing known begins like this. Never empty bytes.
std::string describe_lookalike(std::span<const std::byte> bytes);

}  // namespace inferno::gguf
