// KvResidency: how long pages of the KV cache stay pinned by a sequence: the pressure on the cache.
#pragma once

#include <cstdint>
#include <map>

#include "metrics/sample.h"
#include "metrics/timeline.h"

namespace inferno::metrics {

class KvResidency {
 public:
  // A page is pinned once until it is unpinned; doing either twice in a row is the caller's mistake (CHECK).
  void pin(int64_t page, TimePoint now);
  void unpin(int64_t page, TimePoint now);

  // Seconds from pin to unpin, in order of the unpinning.
  const Sample& residencies() const { return residencies_; }

 private:
  std::map<int64_t, TimePoint> pinned_;
  Sample residencies_;
};

}  // namespace inferno::metrics
