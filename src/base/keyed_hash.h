// A hash with a key of this process: no file can choose names that collide. SipHash-1-3 (Aumasson and
// Bernstein 2012, with one compression and three finalization rounds).
#pragma once

#include <cstdint>
#include <string_view>

namespace inferno {

struct HashKey {
  uint64_t k0, k1;
};

uint64_t sip_hash(HashKey key, std::string_view bytes);

// Under a key drawn at random when the process first asks for a hash.
uint64_t keyed_hash(std::string_view bytes);
uint64_t keyed_hash(uint64_t value);

}  // namespace inferno
