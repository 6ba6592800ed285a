// Fitting one scale, or a scale and an offset, to a run of values: the search on which every quantized format
// rests. What is minimised is the plain sum of squared errors. For given codes the best scale is a
// least-squares problem with a closed solution. Which codes are best is found by trying scales, from one that
// cuts the largest values off to one half as large again as covers them, and then going back and forth
// between codes and scale while it helps.
#pragma once

#include <array>
#include <cmath>

#include "quantize/codes.h"

namespace inferno::quantize {

// Where the largest value may come to lie, relative to the largest code: the scales that are tried.
constexpr int kTrials = 17;
constexpr float trial(int i) {
  return 1.125f - static_cast<float>(i) / 32;
}

// x = scale * q, roughly. For the q of `inverse`: sums of x * q and of q * q.
struct ScaleSums {
  float xq = 0, qq = 0;
  float scale() const { return xq / qq; }      // the best for these q
  float gain() const { return xq / qq * xq; }  // how far it lowers the squared error below the sum of x * x
};

template <int kN, class Codes>
ScaleSums scale_sums(const float* x, float inverse) {
  Lanes xq{}, qq{};
  for (int i = 0; i < kN; i += kLanes) {
    const Lanes values = load(x + i);
    const Lanes q = Codes::nearest(values * inverse);
    xq += values * q;
    qq += q * q;
  }
  return {sum(xq), sum(qq)};
}

// The scale, of either sign, for x[0 .. kN). 0 when no scale is better than nothing: all values 0, or far too
// small for a float's square.
template <int kN, class Codes>
float fit_scale(const float* x) {
  float extreme = 0;
  for (int i = 0; i < kN; ++i) extreme = std::fabs(x[i]) > std::fabs(extreme) ? x[i] : extreme;
  float best_scale = 0, best_gain = 0;
  const auto try_inverse = [&](float inverse) {
    const ScaleSums sums = scale_sums<kN, Codes>(x, inverse);
    if (!(sums.gain() > best_gain)) return false;
    best_gain = sums.gain();
    best_scale = sums.scale();
    return true;
  };
  for (int i = 0; i < kTrials; ++i) {
    const float inverse = trial(i) * Codes::kLargest / extreme;
    try_inverse(inverse);
    try_inverse(-inverse);  // the codes are not symmetric
  }
  constexpr int kRefinements = 4;
  for (int i = 0; i < kRefinements && best_scale != 0 && try_inverse(1 / best_scale); ++i) {
  }
  return best_scale;
}

// x = scale * q + offset, roughly, with q from 0 to kHigh.
struct Affine {
  float scale = 0, offset = 0;
};

template <int kN, int kHigh>
struct AffineSums {
  float q = 0, qq = 0, xq = 0;

  AffineSums(const float* x, const Affine& fit) {
    Lanes q_sum{}, qq_sum{}, xq_sum{};
    const float inverse = 1 / fit.scale;
    for (int i = 0; i < kN; i += kLanes) {
      const Lanes values = load(x + i);
      const Lanes codes = IntegerCodes<0, kHigh>::nearest((values - fit.offset) * inverse);
      q_sum += codes;
      qq_sum += codes * codes;
      xq_sum += values * codes;
    }
    q = sum(q_sum), qq = sum(qq_sum), xq = sum(xq_sum);
  }
};

// Whether an offset may be positive: K-quants only subtract.
enum class OffsetSign { kAny, kNotPositive };

template <int kN, int kHigh, OffsetSign kSign>
class AffineFit {
 public:
  explicit AffineFit(const float* values) {
    for (int i = 0; i < kN; ++i) mean_ += values[i];
    mean_ /= kN;
    // An offset of any sign takes the mean away, so that a small spread around a large mean is not lost in
    // it.
    centre_ = kSign == OffsetSign::kAny ? mean_ : 0;
    for (int i = 0; i < kN; ++i) x_[i] = values[i] - centre_;
    mean_ -= centre_;
  }

  Affine run() {
    float low = x_[0], high = x_[0];
    for (int i = 1; i < kN; ++i) {
      low = std::min(low, x_[i]);
      high = std::max(high, x_[i]);
    }
    if (kSign == OffsetSign::kNotPositive) low = std::min(low, 0.0f);
    best_ = {0, low};
    for (int i = 0; i < kTrials && high > low; ++i) {
      Affine fit{(high - low) / (trial(i) * kHigh), low};
      constexpr int kRefinements = 3;
      for (int j = 0; j < kRefinements && improve(fit); ++j) {
      }
    }
    best_.offset += centre_;
    return best_;
  }

 private:
  // Replaces `fit` by the best for the codes that it gives; whether that is the best so far.
  bool improve(Affine& fit) {
    const AffineSums<kN, kHigh> sums(x_.data(), fit);
    const float x_sum = mean_ * kN;
    const float determinant = kN * sums.qq - sums.q * sums.q;
    if (determinant > 0) {
      fit.scale = (kN * sums.xq - sums.q * x_sum) / determinant;
      fit.offset = (x_sum - fit.scale * sums.q) / kN;
    }
    // All codes the same, or an offset that may not be.
    if (!(determinant > 0) || (kSign == OffsetSign::kNotPositive && fit.offset > 0))
      fit = {sums.xq / sums.qq, 0};
    const float gain = fit.scale * sums.xq + fit.offset * x_sum;
    if (!(fit.scale > 0) || !(gain > best_gain_)) return false;
    best_gain_ = gain;
    best_ = fit;
    return true;
  }

  std::array<float, kN> x_;
  float mean_ = 0, centre_ = 0;
  Affine best_;
  float best_gain_ = 0;
};

}  // namespace inferno::quantize
