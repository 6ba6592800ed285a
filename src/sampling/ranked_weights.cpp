#include "sampling/ranked_weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace inferno::sampling {
namespace {

// Where weights end, in temperatures below the highest logit.
constexpr float kFarthest = 87;
// Sums of so many are made in float32, a few on each lane.
constexpr size_t kLanes = 32, kPiece = 8 * kLanes;

// e^x for x in [-kFarthest, 0], but 0 for the lowest: Cephes' scheme, x = n ln 2 + r with |r| <= ln 2 / 2 and
// a polynomial for e^r. Without a branch, so that compilers make vectors of it.
inline float exp_of(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to an integer
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float y = p * (r * r) + r + 1.0f;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) << 23;  // n, and bits that fall off
  const uint32_t mask = x > -kFarthest ? ~0u : 0u;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(y) + exponent) & mask);
}

// That of two that is lower, but if it is -kFarthest; neither is above 0. Without a branch, as above.
inline float lower_of(float a, float b) {
  const uint32_t mask = b > -kFarthest ? ~0u : 0u;
  const float counted = std::bit_cast<float>(std::bit_cast<uint32_t>(b) & mask);
  return counted < a ? counted : a;
}

// The highest float that is not above x; -infinity below all.
float not_above(double x) {
  const auto nearest = static_cast<float>(x);
  return nearest > x ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}

}  // namespace

void RankedWeights::weigh(std::span<const float> logits, float highest, float temperature) {
  logits_ = logits;
  highest_ = highest;
  temperature_ = temperature;
  weights_.resize(logits.size());
  total_ = 0;
  std::array<float, kLanes> lowest{};  // of x, of those that have a weight
  for (size_t begin = 0; begin < logits.size(); begin += kPiece) {
    const size_t n = std::min(kPiece, logits.size() - begin);
    const float* const from = logits.data() + begin;  // a span's own checks would keep it from vectors
    float* const to = weights_.data() + begin;
    for (size_t i = 0; i < n; ++i) {
      const float x = (from[i] - highest) / temperature;
      to[i] = x > -kFarthest ? x : -kFarthest;
    }
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (size_t lane = 0; lane < kLanes; ++lane) lowest[lane] = lower_of(lowest[lane], to[i + lane]);
    for (; i < n; ++i) lowest[0] = lower_of(lowest[0], to[i]);
    for (i = 0; i < n; ++i) to[i] = exp_of(to[i]);
    std::array<float, kLanes> sums{};
    for (i = 0; i + kLanes <= n; i += kLanes)
      for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += to[i + lane];
    for (; i < n; ++i) sums[0] += to[i];
    for (const float sum : sums) total_ += sum;
  }
  farthest_ = std::fabs(*std::min_element(lowest.begin(), lowest.end())) * temperature;
}

// No NaN, which 0 times infinity is, and nothing beyond is left in it.
size_t RankedWeights::bucket_of(float logit) const {
  const float place = (highest_ - logit) * per_logit_;
  return static_cast<size_t>(place < kEnd ? place : kEnd);
}

// The logit of a token of that weight.
double RankedWeights::logit_of(double weight) const {
  return highest_ + std::log(weight) * temperature_;
}

void RankedWeights::fill(double least_weight) {
  const float reach = highest_ - not_above(logit_of(least_weight));
  holds_all_ = reach >= farthest_;
  // A token as far from the highest as any that has to be there comes to the middle of the last bucket. Where
  // none is any farther the division gives infinity.
  per_logit_ = std::min((static_cast<float>(kBuckets) - 0.5f) / std::min(reach, farthest_),
                        std::numeric_limits<float>::max());
  buckets_.resize(logits_.size());
  sums_.assign(kBuckets + kLanes, 0);
  sorted_bucket_ = kBuckets;
  double* const sums = sums_.data();
  constexpr size_t kFew = 8;  // of which often none is in a bucket
  constexpr std::array<uint16_t, kFew> kNoBuckets = {kBuckets, kBuckets, kBuckets, kBuckets,
                                                     kBuckets, kBuckets, kBuckets, kBuckets};
  for (size_t begin = 0; begin < logits_.size(); begin += kLanes) {
    const size_t n = std::min(kLanes, logits_.size() - begin);
    const float* const logits = logits_.data() + begin;
    const float* const weights = weights_.data() + begin;
    uint16_t* const buckets = buckets_.data() + begin;
    for (size_t i = 0; i < n; ++i) {
      const float place = (highest_ - logits[i]) * per_logit_;
      buckets[i] = static_cast<uint16_t>(static_cast<int32_t>(place < kEnd ? place : kEnd));
    }
    for (size_t first = 0; first < n; first += kFew) {
      if (n - first >= kFew && std::memcmp(buckets + first, kNoBuckets.data(), sizeof kNoBuckets) == 0)
        continue;
      // Those of no bucket go to several places, so that none waits for the one before.
      for (size_t i = first; i < std::min(n, first + kFew); ++i)
        sums[buckets[i] + buckets[i] / kBuckets * i] += weights[i];
    }
  }
}

std::optional<RankedWeights::Place> RankedWeights::find(double sum, bool beyond,
                                                        const std::optional<Place>& last) {
  const auto is_there = [&](double through) { return beyond ? through > sum : through >= sum; };
  const size_t last_bucket = last ? buckets_[last->index] : kBuckets;
  double before = 0;
  for (size_t bucket = 0; bucket < kBuckets; before += sums_[bucket++]) {
    if (sums_[bucket] == 0 || (bucket != last_bucket && !is_there(before + sums_[bucket]))) continue;
    sort_bucket(bucket);
    Place place = {sorted_.front(), before};
    for (const uint32_t index : sorted_) {
      if (weights_[index] == 0) break;  // and all that follow
      place = {index, place.through + weights_[index]};
      if (is_there(place.through) || (last && index == last->index)) break;
    }
    return place;
  }
  return {};
}

std::optional<RankedWeights::Place> RankedWeights::last_of_weight(double least) {
  const double lowest = logit_of(least);
  const size_t end = bucket_of(not_above(lowest));
  if (end == kBuckets) return holds_all_ ? std::optional(last_before(kBuckets)) : std::nullopt;
  Place place = last_before(end);
  if (sums_[end] == 0) return place;
  sort_bucket(end);
  for (const uint32_t index : sorted_) {
    if (double{logits_[index]} < lowest || weights_[index] == 0) break;
    place = {index, place.through + weights_[index]};
  }
  return place;
}

RankedWeights::Place RankedWeights::last_before(size_t end) {
  Place place = {0, 0};
  size_t last = kBuckets;
  for (size_t bucket = 0; bucket < end; ++bucket) {
    if (sums_[bucket] == 0) continue;
    place.through += sums_[bucket];
    last = bucket;
  }
  if (last == kBuckets) return place;
  sort_bucket(last);
  for (const uint32_t index : sorted_)
    if (weights_[index] != 0) place.index = index;
  return place;
}

// Where all logits are equal they are in order already.
void RankedWeights::sort_bucket(size_t bucket) {
  if (bucket == sorted_bucket_) return;
  sorted_bucket_ = bucket;
  sorted_.clear();
  const auto wanted = static_cast<uint16_t>(bucket);
  constexpr size_t kGroup = 64;  // in which there is mostly none
  for (size_t begin = 0; begin < buckets_.size(); begin += kGroup) {
    const size_t n = std::min(kGroup, buckets_.size() - begin);
    const uint16_t* const group = buckets_.data() + begin;
    uint16_t is_any = 0;
    for (size_t i = 0; i < n; ++i) is_any |= static_cast<uint16_t>(group[i] == wanted);
    if (is_any == 0) continue;
    for (size_t i = 0; i < n; ++i)
      if (group[i] == wanted) sorted_.push_back(static_cast<uint32_t>(begin + i));
  }
  const auto is_before = [this](uint32_t a, uint32_t b) {
    return logits_[a] != logits_[b] ? logits_[a] > logits_[b] : a < b;
  };
  if (!std::is_sorted(sorted_.begin(), sorted_.end(), is_before))
    std::sort(sorted_.begin(), sorted_.end(), is_before);
}

}  // namespace inferno::sampling
