// KvResidency: how long pages of the KV cache stay pinned by a sequence: the pressure on the cache.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "metrics/timeline.h"

namespace inferno::metrics {

class KvResidency {
 public:
  // A page is pinned once until it is unpinned; doing either twice in a row is the caller's mistake (CHECK).
  void pin(int64_t page, TimePoint now);
  void unpin(int64_t page, TimePoint now);

  // Seconds from pin to unpin, in order of the unpinning.
  const std::vector<double>& residencies() const { return residencies_; }
  // How long each page that is still pinned has been so.
  std::vector<double> live(TimePoint now) const;
  size_t n_live() const { return pinned_.size(); }

 private:
  std::map<int64_t, TimePoint> pinned_;
  std::vector<double> residencies_;
};

}  // namespace inferno::metrics
