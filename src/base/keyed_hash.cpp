#include "base/keyed_hash.h"

#include <bit>
#include <cstring>
#include <random>

namespace inferno {
namespace {

struct State {
  uint64_t v0, v1, v2, v3;

  explicit State(HashKey key)
      : v0(key.k0 ^ 0x736f6d6570736575u),
        v1(key.k1 ^ 0x646f72616e646f6du),
        v2(key.k0 ^ 0x6c7967656e657261u),
        v3(key.k1 ^ 0x7465646279746573u) {}

  void round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32) + v3;
    v2 += v1;
    v3 = std::rotl(v3, 21) ^ v0;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  void absorb(uint64_t word) {
    v3 ^= word;
    round();
    v0 ^= word;
  }

  uint64_t finish() {
    v2 ^= 0xff;
    for (int i = 0; i < 3; ++i) round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

uint64_t sip_hash(HashKey key, std::string_view bytes) {
  State state(key);
  uint64_t last = uint64_t{bytes.size()} << 56;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    state.absorb(word);
    bytes.remove_prefix(sizeof word);
  }
  for (size_t i = 0; i < bytes.size(); ++i) last |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  state.absorb(last);
  return state.finish();
}

uint64_t sip_hash(HashKey key, uint64_t value) {
  State state(key);
  state.absorb(value);
  return state.finish();
}

HashKey random_hash_key() {
  std::random_device random;
  const auto word = [&] { return (uint64_t{random()} << 32) | random(); };
  return {word(), word()};
}

uint64_t keyed_hash(std::string_view bytes) {
  static const HashKey key = random_hash_key();
  return sip_hash(key, bytes);
}

}  // namespace inferno
