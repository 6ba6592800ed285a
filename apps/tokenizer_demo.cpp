#include "apps/commands.h"
namespace inferno::apps {
Run setup_tokenizer_demo(CLI::App&) {
  return [] { return 1; };
}
}  // namespace inferno::apps
