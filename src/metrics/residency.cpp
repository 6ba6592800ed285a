#include "metrics/residency.h"

#include "base/check.h"

namespace inferno::metrics {

void KvResidency::pin(int64_t page, TimePoint now) {
  const bool is_new = pinned_.emplace(page, now).second;
  CHECK(is_new, "page {} is pinned already", page);
}

void KvResidency::unpin(int64_t page, TimePoint now) {
  const auto pinned = pinned_.find(page);
  CHECK(pinned != pinned_.end(), "page {} is not pinned", page);
  residencies_.push_back(Seconds(now - pinned->second).count());
  pinned_.erase(pinned);
}

std::vector<double> KvResidency::live(TimePoint now) const {
  std::vector<double> seconds;
  for (const auto& [page, since] : pinned_) seconds.push_back(Seconds(now - since).count());
  return seconds;
}

}  // namespace inferno::metrics
