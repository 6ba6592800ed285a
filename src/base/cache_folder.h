// Where what can be made anew is kept from one run to the next.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace inferno {

// $XDG_CACHE_HOME/inferno, else ~/.cache/inferno; nullopt with neither variable. A relative XDG_CACHE_HOME
// counts as unset, as its specification demands.
std::optional<std::string> cache_folder();

// Makes `folder` if it is missing, for its owner alone.
Status make_cache_folder(const std::string& folder);

}  // namespace inferno
