// What this program was built from.
#pragma once

#include <string_view>

namespace inferno {

// "0.1.0"
std::string_view version();
// The commit, abbreviated; "-dirty" appended when files differed from it; "" outside a git repository.
std::string_view git_revision();

}  // namespace inferno
