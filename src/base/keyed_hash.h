// A hash with a secret key: no file can choose names that collide. SipHash-1-3 (Aumasson and
// Bernstein 2012, with one compression and three finalization rounds).
#pragma once

#include <cstdint>
#include <string_view>

namespace inferno {

struct HashKey {
  uint64_t k0, k1;
};

uint64_t sip_hash(HashKey key, std::string_view bytes);
// Of its eight bytes and no length.
uint64_t sip_hash(HashKey key, uint64_t value);

// Another one each time.
HashKey random_hash_key();
// Under a key drawn when the process first asks for a hash.
uint64_t keyed_hash(std::string_view bytes);

}  // namespace inferno
