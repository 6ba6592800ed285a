// The demo model that is part of the executable: a storyteller of 5.8 million parameters. See
// models/demo/recipe.
#pragma once

#include <cstddef>
#include <span>

namespace inferno::demo {

constexpr const char* kModelName = "demo-tales-q8_0.gguf (embedded)";

// A whole GGUF file; lives as long as the process.
std::span<const std::byte> model_bytes();

}  // namespace inferno::demo
