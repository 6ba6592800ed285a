#include "backend/cpu_isa.h"

#include <string>

#include "base/environment.h"
#include "base/text.h"
#include "tensor/quant_blocks.h"

namespace inferno::backend {
namespace {

bool runs(const CpuIsa& isa, const CpuFeatures& features) {
  for (const char* const* need = isa.needs; *need != nullptr; ++need) {
    if (!features.has(*need)) return false;
  }
  return isa.extends == nullptr || runs(*isa.extends, features);
}

bool is_built(const CpuIsa& isa) {
  return isa.table != nullptr && (isa.extends == nullptr || is_built(*isa.extends));
}

bool is_available(const CpuIsa& isa, const CpuFeatures& features) {
  return is_built(isa) && runs(isa, features);
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

// Of a product that takes activations in 8 bits, the rows of activations from `row` on.
kernels::PanelMatmulParams rows_from(kernels::PanelMatmulParams p, int64_t row) {
  const int64_t elements = row * p.k;
  const int64_t blocks = elements / kBlock32;
  const kernels::QuantizedRows q = p.quantized;
  p.n -= row;
  p.x += elements;
  p.quantized = {q.q + elements, q.scale + blocks, q.sum + blocks, q.total + blocks, nullptr, nullptr};
  if (q.half != nullptr) {
    p.quantized.half = q.half + 2 * blocks;
    p.quantized.half_total = q.half_total + 2 * blocks;
  }
  p.y += row * p.m;
  return p;
}

}  // namespace

std::vector<const CpuIsa*> available_isas(const CpuFeatures& features) {
  std::vector<const CpuIsa*> isas;
  for (const CpuIsa& isa : kernels::cpu_isas()) {
    if (is_available(isa, features)) isas.push_back(&isa);
  }
  return isas;
}

std::string missed_isa(const CpuFeatures& features) {
  const CpuIsa* best = nullptr;
  for (const CpuIsa& isa : kernels::cpu_isas()) {
    if (runs(isa, features)) best = &isa;
  }
  if (is_built(*best)) return {};
  return fmt::format(
      "this processor has {}, for which this build has no kernels: the best here is {}; build on this "
      "machine (./run), with g++ 12 or newer, or with -DINFERNO_ISAS=all",
      best->name, available_isas(features).back()->name);
}

std::string missed_isa() {
  return environment::get("INFERNO_FORCE_ISA") ? std::string() : missed_isa(cpu_features());
}

Result<const CpuIsa*> choose_isa(const CpuFeatures& features, std::optional<std::string_view> forced) {
  const std::vector<const CpuIsa*> here = available_isas(features);
  if (!forced) return here.back();
  const CpuIsa* isa = find(*forced);
  if (isa == nullptr) {
    std::vector<std::string_view> names;
    for (const CpuIsa& known : kernels::cpu_isas()) names.emplace_back(known.name);
    const std::string_view nearest = nearest_name(*forced, names);
    return make_error(ErrorCode::kInvalidArgument, "INFERNO_FORCE_ISA: expected one of {}, found {}{}",
                      list(here), quote(*forced),
                      nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  if (!is_available(*isa, features)) {
    return make_error(ErrorCode::kUnavailable, "INFERNO_FORCE_ISA={}: {}; here are {}", *forced,
                      runs(*isa, features) ? "not in this build" : "this CPU or its system does not have it",
                      list(here));
  }
  return isa;
}

Result<const CpuIsa*> chosen_isa() {
  return choose_isa(cpu_features(), environment::get("INFERNO_FORCE_ISA"));
}

CpuKernels kernels_of(const CpuIsa& isa) {
  return isa.table(isa.extends == nullptr ? CpuKernels{} : kernels_of(*isa.extends));
}

void multiply_rows(const kernels::PanelMatmul& kernel, const kernels::PanelMatmulParams& params) {
  const int64_t in_tiles =
      kernel.multiply_tiles == nullptr ? 0 : params.n / kernels::kMatrixTileRows * kernels::kMatrixTileRows;
  if (in_tiles > 0) {
    kernels::PanelMatmulParams tiles = params;
    tiles.n = in_tiles;
    kernel.multiply_tiles(tiles);
  }
  if (in_tiles == 0) return kernel.multiply(params);
  if (in_tiles == params.n) return;
  kernels::PanelMatmulParams rest = rows_from(params, in_tiles);
  rest.scratch_is_kept = false;  // tiles have written to it
  kernel.multiply(rest);
}

}  // namespace inferno::backend
