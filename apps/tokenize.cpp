#include "apps/commands.h"
namespace inferno::apps {
Run setup_tokenize(CLI::App&) {
  return [] { return 1; };
}
}  // namespace inferno::apps
