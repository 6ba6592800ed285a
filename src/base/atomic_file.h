// Writing files that are either whole or absent.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace inferno {

// Hands `write` a function that appends bytes to a temporary file beside `path`; then syncs it, lets `check`
// read it by its name, and renames it. On any error the temporary file is removed and `path` is as it was.
using AppendFn = std::function<Status(std::span<const std::byte>)>;
using CheckFn = std::function<Status(const std::string& temporary_path)>;
Status write_file_atomically(const std::string& path, const std::function<Status(const AppendFn&)>& write,
                             const CheckFn& check = {});

// What the temporary file `path` of write_file_atomically() was to become, where nobody goes on writing it:
// its process is gone, or it has not changed for an hour, since a process may have been given the number of
// one that is gone. nullopt of any other file.
std::optional<std::string> target_of_abandoned(const std::string& path);
// Removes what processes that were killed while they wrote `path` have left beside it.
void remove_temporary_files(const std::string& path);

// Whether write_file_atomically() could begin: so that an unwritable path is said before the work, not after
// it. Leaves no trace. A folder that is missing is an error that names it: files are made, folders are not.
Status check_writable(const std::string& path);

// Whether files could be written into this folder, which is made later if it is missing. Leaves no trace.
Status check_folder_writable(const std::string& path);

// Makes the folders that `path` stands in, as far as they are missing.
Status make_parent_folder(const std::string& path);

}  // namespace inferno
