// What a path leads to, in words for an error message.
#pragma once

#include <sys/stat.h>

#include <string_view>

namespace inferno {

// "a directory", "a named pipe (FIFO)" … for the st_mode of stat().
std::string_view file_kind(mode_t mode);

}  // namespace inferno
