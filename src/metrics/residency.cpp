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
  residencies_.add(Seconds(now - pinned->second).count());
  pinned_.erase(pinned);
}

}  // namespace inferno::metrics
