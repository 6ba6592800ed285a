// What may have been meant by a model's path that cannot be opened.
#pragma once

#include <string>

namespace inferno::apps {

// What follows the error, with its "; ": of a folder the models in it; of a path that is not there the
// nearest name beside it, or that a repository's name is no file. "" when there is nothing to say.
std::string hint_for_unopened(const std::string& path);

}  // namespace inferno::apps
