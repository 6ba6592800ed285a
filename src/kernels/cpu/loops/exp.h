// e^x on a vector, the same bits on every lane.
#pragma once

namespace inferno::kernels {
namespace {

// Within 2 units in the last place; 0 below -87.3, infinity above 88.7; NaN stays. x = n ln 2 + r with
// |r| <= ln 2 / 2, and a polynomial for e^r (Cephes' expf has the same scheme).
template <class V>
typename V::F exp(typename V::F x) {
  using F = typename V::F;
  const F lowest = V::set(-87.33654f);
  const F bounded = V::max(lowest, V::min(V::set(89.0f), x));
  const F n = V::round(V::mul(bounded, V::set(1.44269504f)));
  F r = V::fma(n, V::set(-0.693359375f), bounded);
  r = V::fma(n, V::set(2.12194440e-4f), r);
  F p = V::set(1.9875691500e-4f);
  p = V::fma(p, r, V::set(1.3981999507e-3f));
  p = V::fma(p, r, V::set(8.3334519073e-3f));
  p = V::fma(p, r, V::set(4.1665795894e-2f));
  p = V::fma(p, r, V::set(1.6666665459e-1f));
  p = V::fma(p, r, V::set(5.0000001201e-1f));
  const F y = V::add(V::fma(V::mul(r, r), p, r), V::set(1.0f));
  return V::zero_if_less(x, lowest, V::scale(y, n));
}

}  // namespace
}  // namespace inferno::kernels
