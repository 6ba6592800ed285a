#include "apps/commands.h"
namespace inferno::apps {
Run setup_generate(CLI::App&) {
  return [] { return 1; };
}
}  // namespace inferno::apps
