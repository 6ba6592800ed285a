#include "apps/measured_ceilings.h"

#include <fmt/core.h>

#include "apps/output.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "backend/ceilings.h"
#include "backend/ceilings_cache.h"
#include "base/text.h"

namespace inferno::apps {

Result<backend::Ceilings> measured_ceilings(bool fresh,
                                            const std::function<Result<backend::Ceilings>()>& measure) {
  TRY_ASSIGN(const bool wants_fresh, backend::wants_fresh_ceilings());
  ProgressBar line;
  if (fresh || wants_fresh || !backend::has_cached_cpu_ceilings()) {
    line.show_line(
        [] { return "measuring what memory and processor can give (once after a start of the machine)…"; });
  }
  Result<backend::Ceilings> ceilings = measure();
  line.clear();
  // Figures without those of memory are not meant to be kept.
  if (ceilings && !ceilings->cached && !ceilings->read_gb_per_s.empty() &&
      !backend::has_cached_cpu_ceilings()) {
    const auto path = backend::ceilings_cache_path();
    warn(fmt::format("the machine's ceilings are measured anew by each run: {}",
                     path ? "cannot keep them in " + escaped(*path, 4096)
                          : "neither XDG_CACHE_HOME nor HOME says where to keep them"));
  }
  return ceilings;
}

Result<backend::Ceilings> measured_ceilings(backend::Backend& backend) {
  const auto measure = [&] { return backend.measure_ceilings(signal_came); };
  return backend.info().is_cpu() ? measured_ceilings(false, measure) : measure();
}

}  // namespace inferno::apps
