#include "models/demo/demo_model.h"

extern "C" {
extern const std::byte inferno_demo_model_begin[];
extern const std::byte inferno_demo_model_end[];
}

namespace inferno::demo {

std::span<const std::byte> model_bytes() {
  return {inferno_demo_model_begin, inferno_demo_model_end};
}

}  // namespace inferno::demo
