// Progress of long work, reported by the library and drawn (or not) by the caller: the library never prints.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace inferno {

// done and total in one unit (bytes, tensors …); called from the thread that does the work, at least at the
// end.
using ProgressFn = std::function<void(std::string_view what, uint64_t done, uint64_t total)>;

}  // namespace inferno
