// A super-block of 256 elements in groups, each with a scale (and a minimum) of few bits in units of the
// super-block's own. Each group is fitted by itself (fit.h); then, for the units that follow, the small
// numbers around each group's fit are tried with the error that would be read back; then the units are the
// least-squares solution for all that was chosen, and again, while the error falls.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "quantize/block.h"

namespace inferno::quantize {

constexpr int kUnitRounds = 3;

inline float through_f16(float value) {
  return f16_to_f32(scale_to_f16(value));
}

// Squared error of x = scale * q - min.
template <int kN, class Codes>
float squared_error(const float* x, float scale, float min) {
  const float inverse = scale == 0 ? 0 : 1 / scale;
  Lanes squares{};
  for (int i = 0; i < kN; i += kLanes) {
    const Lanes values = load(x + i) + min;
    const Lanes errors = values - scale * Codes::nearest(values * inverse);
    squares += errors * errors;
  }
  return sum(squares);
}

// value = d * scale[g] * q
template <int kGroups>
struct ScaledGroups {
  float error = std::numeric_limits<float>::infinity();
  float d = 0;  // exact in F16
  std::array<int, kGroups> scale{};
};

template <int kGroups, class Codes, int kScaleLow, int kScaleHigh>
class ScaledGroupsFit {
 public:
  using Fit = ScaledGroups<kGroups>;

  explicit ScaledGroupsFit(const float* x) : x_(x) {
    for (int g = 0; g < kGroups; ++g) wanted_[g] = fit_scale<kSize, Codes>(group(g));
  }

  Fit run() const {
    float extreme = 0;
    for (const float scale : wanted_) extreme = std::fabs(scale) > std::fabs(extreme) ? scale : extreme;
    Fit best;
    float d = extreme / kScaleLow;
    for (int round = 0; round < kUnitRounds; ++round) {
      const Fit fit = choose(through_f16(d));
      if (!(fit.error < best.error)) break;
      best = fit;
      d = least_squares(fit);
    }
    return best;
  }

 private:
  static constexpr int kSize = kSuperBlock / kGroups;

  const float* group(int g) const { return x_ + g * kSize; }

  // The best scales for a unit.
  Fit choose(float d) const {
    Fit fit{.error = 0, .d = d, .scale = {}};
    for (int g = 0; g < kGroups; ++g) {
      const int centre = d == 0 ? 0 : static_cast<int>(std::lround(std::clamp(wanted_[g] / d, -1e6f, 1e6f)));
      float best = squared_error<kSize, Codes>(group(g), 0, 0);
      for (int scale = std::max(centre - 1, kScaleLow); scale <= std::min(centre + 1, kScaleHigh); ++scale) {
        const float error = squared_error<kSize, Codes>(group(g), d * static_cast<float>(scale), 0);
        if (!(error < best)) continue;
        best = error;
        fit.scale[g] = scale;
      }
      fit.error += best;
    }
    return fit;
  }

  float least_squares(const Fit& fit) const {
    float xa = 0, aa = 0;
    for (int g = 0; g < kGroups; ++g) {
      const float scale = fit.d * static_cast<float>(fit.scale[g]);
      if (scale == 0) continue;
      const ScaleSums sums = scale_sums<kSize, Codes>(group(g), 1 / scale);
      const auto small = static_cast<float>(fit.scale[g]);
      xa += small * sums.xq;
      aa += small * small * sums.qq;
    }
    return aa > 0 ? xa / aa : 0;
  }

  const float* x_;
  std::array<float, kGroups> wanted_;
};

// value = d * scale[g] * q - dmin * min[g]
template <int kGroups>
struct AffineGroups {
  float error = std::numeric_limits<float>::infinity();
  float d = 0, dmin = 0;  // exact in F16, neither negative
  std::array<int, kGroups> scale{}, min{};
};

// Codes q from 0 to kHigh, scales and minimums from 0 to kScaleHigh.
template <int kGroups, int kHigh, int kScaleHigh>
class AffineGroupsFit {
 public:
  using Fit = AffineGroups<kGroups>;
  using Codes = IntegerCodes<0, kHigh>;

  explicit AffineGroupsFit(const float* x) : x_(x) {
    for (int g = 0; g < kGroups; ++g) {
      wanted_[g] = AffineFit<kSize, kHigh, OffsetSign::kNotPositive>(group(g)).run();
    }
  }

  Fit run() const {
    float scale = 0, min = 0;
    for (const Affine& fit : wanted_) {
      scale = std::max(scale, fit.scale);
      min = std::max(min, -fit.offset);
    }
    Fit best;
    float d = scale / kScaleHigh, dmin = min / kScaleHigh;
    for (int round = 0; round < kUnitRounds; ++round) {
      const Fit fit = choose(through_f16(d), through_f16(dmin));
      if (!(fit.error < best.error)) break;
      best = fit;
      if (!least_squares(fit, d, dmin)) break;
    }
    return best;
  }

 private:
  static constexpr int kSize = kSuperBlock / kGroups;

  const float* group(int g) const { return x_ + g * kSize; }

  // The best scales and minimums for the units.
  Fit choose(float d, float dmin) const {
    Fit fit{.error = 0, .d = d, .dmin = dmin, .scale = {}, .min = {}};
    for (int g = 0; g < kGroups; ++g) {
      float best = std::numeric_limits<float>::infinity();
      const auto near = [](float wanted, float unit) {
        return unit == 0 ? 0 : static_cast<int>(std::lround(std::min(wanted / unit, 1e6f)));
      };
      const int scale_centre = near(wanted_[g].scale, d), min_centre = near(-wanted_[g].offset, dmin);
      const auto first = [](int centre) { return std::clamp(centre - 1, 0, kScaleHigh); };
      const auto last = [](int centre) { return std::clamp(centre + 1, 0, kScaleHigh); };
      for (int scale = first(scale_centre); scale <= last(scale_centre); ++scale) {
        for (int min = first(min_centre); min <= last(min_centre); ++min) {
          const float error = squared_error<kSize, Codes>(group(g), d * static_cast<float>(scale),
                                                          dmin * static_cast<float>(min));
          if (!(error < best)) continue;
          best = error;
          fit.scale[g] = scale;
          fit.min[g] = min;
        }
      }
      fit.error += best;
    }
    return fit;
  }

  // x = d * a - dmin * b with a = scale * q and b = min: two equations. False without a solution of use.
  bool least_squares(const Fit& fit, float& d, float& dmin) const {
    float aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
    for (int g = 0; g < kGroups; ++g) {
      const auto scale = static_cast<float>(fit.scale[g]), min = static_cast<float>(fit.min[g]);
      float q = 0, qq = 0, xq = 0, x_sum = 0;
      for (int i = 0; i < kSize; ++i) x_sum += group(g)[i];
      if (fit.d * scale > 0) {
        const AffineSums<kSize, kHigh> sums(group(g), {fit.d * scale, -fit.dmin * min});
        q = sums.q, qq = sums.qq, xq = sums.xq;
      }
      aa += scale * scale * qq;
      ab += scale * min * q;
      bb += min * min * kSize;
      xa += scale * xq;
      xb += min * x_sum;
    }
    if (!(aa > 0)) return false;
    const float determinant = aa * bb - ab * ab;
    d = determinant > 0 ? (xa * bb - xb * ab) / determinant : xa / aa;
    dmin = determinant > 0 ? (xa * ab - xb * aa) / determinant : 0;
    return d > 0 && dmin >= 0;
  }

  const float* x_;
  std::array<Affine, kGroups> wanted_;
};

}  // namespace inferno::quantize
