// Writing files that are either whole or absent.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"

namespace inferno {

// Hands `write` a function that appends bytes to a temporary file beside `path`; then syncs and renames it.
// On any error the temporary file is removed and `path` is as it was.
using AppendFn = std::function<Status(std::span<const std::byte>)>;
Status write_file_atomically(const std::string& path, const std::function<Status(const AppendFn&)>& write);

}  // namespace inferno
