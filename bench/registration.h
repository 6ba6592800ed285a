// Benchmarks of which it takes a backend to know whether they are there. No backend is made before main():
// CUDA's runtime may not be used until it begins, as its kernels may not be known yet.
#pragma once

#include <vector>

namespace inferno::bench_support {

// What adds them, in the order in which the files are linked.
inline std::vector<void (*)()>& registrations() {
  static std::vector<void (*)()> functions;
  return functions;
}

// For a constant of a file: has main() call this.
inline bool register_in_main(void (*add)()) {
  registrations().push_back(add);
  return true;
}

}  // namespace inferno::bench_support
