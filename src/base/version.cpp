#include "base/version.h"

#include "inferno_revision.h"  // written by cmake/revision.cmake at every build

namespace inferno {

std::string_view version() {
  return INFERNO_VERSION;
}

std::string_view git_revision() {
  return INFERNO_REVISION;
}

}  // namespace inferno
