#include "base/content_hash.h"

#include <xxhash.h>

namespace inferno {

uint64_t content_hash(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace inferno
