// What the coarse weights of an LM head say of its logits (backend/cpu/head_screen.h).
#pragma once

#include <cstdint>

#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

template <class V>
void bound_logits(const LogitBoundsParams& p) {
  using F = typename V::F;
  const F length = V::set(p.length), off = V::set(p.off);
  const F infinity = V::set(__builtin_inff()), nothing = V::set(-__builtin_inff());
  const auto bound = [&](F coarse, const float* lost, const float* norm, int64_t group) {
    const F most = V::fma(V::load(norm), off, V::fma(V::load(lost), length, coarse));
    p.coarse[group] = V::largest(V::min(coarse, infinity));  // infinity where it is a NaN
    p.most[group] = V::largest(V::min(most, infinity));
  };
  int64_t i = 0;
  for (; p.n - i >= V::kLanes; i += V::kLanes) {
    bound(V::load(p.logits + i), p.lost + i, p.norm + i, i / V::kLanes);
    V::store(p.logits + i, nothing);
  }
  if (i == p.n) return;
  float rest[V::kLanes], lost[V::kLanes], norm[V::kLanes];
  for (int64_t lane = 0; lane < V::kLanes; ++lane) {
    const bool is_there = i + lane < p.n;
    rest[lane] = is_there ? p.logits[i + lane] : -__builtin_inff();
    lost[lane] = is_there ? p.lost[i + lane] : 0.0f;
    norm[lane] = is_there ? p.norm[i + lane] : 0.0f;
    if (is_there) p.logits[i + lane] = -__builtin_inff();
  }
  bound(V::load(rest), lost, norm, i / V::kLanes);
}

}  // namespace
}  // namespace inferno::kernels
