// RankedWeights: sums of tokens' weights in the order of their ranks, without sorting the tokens. They are
// put into buckets by logit, and only the bucket in which a sum is passed is sorted: a few hundred of 150,000
// tokens.
//
// The rank is by logit, the highest first, then by index, the lowest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace inferno::sampling {

class RankedWeights {
 public:
  // A token and the sum of all weights up to its rank, its own included.
  struct Place {
    size_t index;
    double through;
  };

  // weight = e^((logit - highest) / temperature), in float32, of which rounding the exponent costs a
  // millionth at most where a weight counts; 0 below e^-87, and where logit - highest is beyond float32.
  // logits: not empty, finite or -inf, `highest` among them and finite; read by fill() and what follows it as
  // well. temperature > 0.
  void weigh(std::span<const float> logits, float highest, float temperature);

  // Of all weights, but for what float32 rounds: a few 1e-7 of it.
  double total() const { return total_; }

  // Before what follows: into buckets go the tokens whose weight is so much or more, and some below.
  void fill(double least_weight);

  // The first by rank with which the sum comes to `sum`, or, if `beyond`, to more; none where those in the
  // buckets do not come to it. Not later than `last`, if there is one.
  std::optional<Place> find(double sum, bool beyond, const std::optional<Place>& last = {});
  // The last by rank whose weight is not below that, in (0, 1]; none where it does not lie in the buckets.
  std::optional<Place> last_of_weight(double least);
  // The last by rank in the buckets that has a weight.
  Place last() { return last_before(kBuckets); }

 private:
  static constexpr size_t kBuckets = 2048;
  static constexpr auto kEnd = static_cast<float>(kBuckets);

  double logit_of(double weight) const;
  // kBuckets: none.
  size_t bucket_of(float logit) const;
  // sorted_ are the tokens of that bucket by rank.
  void sort_bucket(size_t bucket);
  // The last by rank, of those that have a weight, in buckets before `end`; {0, 0} where there is none.
  Place last_before(size_t end);

  std::span<const float> logits_;
  float highest_ = 0, temperature_ = 1;
  float farthest_ = 0;      // below the highest, of those that have a weight
  float per_logit_ = 0;     // buckets
  bool holds_all_ = false;  // that have a weight
  double total_ = 0;
  std::vector<float> weights_;     // (n)
  std::vector<uint16_t> buckets_;  // (n)
  std::vector<double> sums_;       // of the buckets; what follows is of no use
  std::vector<uint32_t> sorted_;
  size_t sorted_bucket_ = kBuckets;
};

}  // namespace inferno::sampling
