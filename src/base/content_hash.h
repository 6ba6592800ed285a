// A fast hash of bytes that may be stored: the same on every machine and in every version (XXH3, 64 bits). It
// finds damage and change, not malice; for names that a file chooses there is base/keyed_hash.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace inferno {

uint64_t content_hash(std::span<const std::byte> bytes);

}  // namespace inferno
