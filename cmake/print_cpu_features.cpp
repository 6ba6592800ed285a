// What native_features() of isa.cmake runs: the names that the program itself goes by, on a line each.
#include <cstdio>

#include "base/cpu_features.h"

int main() {
  for (const std::string_view name : inferno::cpu_features().names())
    std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
}
