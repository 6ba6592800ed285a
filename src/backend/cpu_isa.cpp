#include "backend/cpu_isa.h"

#include <string>

#include "base/environment.h"
#include "base/text.h"

namespace inferno::backend {
namespace {

bool is_available(const CpuIsa& isa, const CpuFeatures& features) {
  if (isa.table == nullptr) return false;
  for (const char* const* need = isa.needs; *need != nullptr; ++need) {
    if (!features.has(*need)) return false;
  }
  return isa.extends == nullptr || is_available(*isa.extends, features);
}

const CpuIsa* find(std::string_view name) {
  for (const CpuIsa& isa : kernels::cpu_isas()) {
    if (isa.name == name) return &isa;
  }
  return nullptr;
}

std::string list(const std::vector<const CpuIsa*>& isas) {
  std::string names;
  for (const CpuIsa* isa : isas) names += (names.empty() ? "" : ", ") + std::string(isa->name);
  return names;
}

}  // namespace

std::vector<const CpuIsa*> available_isas(const CpuFeatures& features) {
  std::vector<const CpuIsa*> isas;
  for (const CpuIsa& isa : kernels::cpu_isas()) {
    if (is_available(isa, features)) isas.push_back(&isa);
  }
  return isas;
}

Result<const CpuIsa*> choose_isa(const CpuFeatures& features, std::optional<std::string_view> forced) {
  const std::vector<const CpuIsa*> here = available_isas(features);
  if (!forced) return here.back();
  const CpuIsa* isa = find(*forced);
  if (isa == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, "INFERNO_FORCE_ISA: expected one of {}, found {}",
                      list(here), quote(*forced));
  }
  if (!is_available(*isa, features)) {
    return make_error(ErrorCode::kUnavailable, "INFERNO_FORCE_ISA={}: {}; here are {}", *forced,
                      isa->table == nullptr ? "not in this build" : "this CPU does not have it", list(here));
  }
  return isa;
}

Result<const CpuIsa*> chosen_isa() {
  return choose_isa(cpu_features(), environment::get("INFERNO_FORCE_ISA"));
}

CpuKernels kernels_of(const CpuIsa& isa) {
  return isa.table(isa.extends == nullptr ? CpuKernels{} : kernels_of(*isa.extends));
}

}  // namespace inferno::backend
