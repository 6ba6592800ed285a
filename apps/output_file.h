// Files that the user names for output. One rule for all: a file's folder has to be there, a folder that is
// named as such (--output-dir) is made, and either is judged before the work whose result goes there.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace inferno::apps {

enum class Content { kOther, kModel };
// Whether this file can be written; nothing is made. An empty path is an option that was not given. Refused
// as well: "-", which is read from elsewhere; the file that stdout or stderr goes to; a model, unless one is
// written.
Status check_output_file(const std::string& path, Content content = Content::kOther);
// Whether no two options name one file.
Status check_outputs_differ(std::initializer_list<std::pair<std::string_view, std::string>> outputs);
// Whether files can be written into this folder, which is made later if it is missing; `instead` says what
// else can be given.
Status check_output_folder(const std::string& folder, const std::string& instead);

// Whether the disk of `path` has room for so many bytes; a system that does not tell has.
Status check_free_space(const std::string& path, uint64_t bytes);

// What a command that writes `path` ends with after `error`: the exit code of a signal, with a line that
// nothing was written, or the error.
Result<int> not_written(const std::string& path, const Error& error);

// "PATH: wrote 12.3 KB" on stderr, and `why` in brackets unless it is empty.
void say_written(const std::string& path, const std::string& why = "");

}  // namespace inferno::apps
