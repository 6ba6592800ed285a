#include <algorithm>
#include <array>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu_isa.h"
#include "backend/cuda/cuda_backend.h"
#include "backend/no_metal/no_metal.h"
#include "backend/scalar/scalar_backend.h"
#include "base/text.h"

namespace inferno::backend {
namespace {

using Factory = Result<std::shared_ptr<Backend>> (*)(const BackendOptions& options);

struct NamedBackend {
  std::string_view name;
  Factory create;
  bool is_asked_for = false;  // by name alone: `auto` leaves it out
};

// Fastest first: `auto` takes the first that is there. Not the CUDA backend, as long as no device has run it.
constexpr std::array kBackends = {
    NamedBackend{"cuda", create_cuda, true},   NamedBackend{"metal", create_no_metal},
    NamedBackend{"parallel", create_parallel}, NamedBackend{"simd", create_simd},
    NamedBackend{"scalar", create_scalar},
};

}  // namespace

std::vector<std::string_view> backend_names() {
  std::vector<std::string_view> names = {"auto"};
  for (const NamedBackend& entry : kBackends) names.push_back(entry.name);
  return names;
}

Result<std::shared_ptr<Backend>> create_backend(std::string_view name, const BackendOptions& options) {
  TRY(chosen_isa());  // a misspelt INFERNO_FORCE_ISA does not pass unnoticed, whichever backend runs
  if (name == "auto") {
    for (const NamedBackend& entry : kBackends) {
      if (entry.is_asked_for) continue;
      if (auto backend = entry.create(options); backend || backend.error().code != ErrorCode::kUnavailable)
        return backend;
    }
  }
  for (const NamedBackend& entry : kBackends) {
    if (entry.name == name) return entry.create(options);
  }
  return make_error(ErrorCode::kInvalidArgument, "--backend: expected one of {}, found {}",
                    join(backend_names(), ", "), quote(name));
}

}  // namespace inferno::backend
