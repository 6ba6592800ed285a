#include "bench/describe.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>

#include "backend/ceilings.h"
#include "base/cpu_topology.h"
#include "base/version.h"
#include "model/synthetic.h"

namespace inferno::bench {
namespace {

// Of a path, the last component: what is left of the folder is nobody's business in a report.
std::string shown_path(const model::LoadedModel& loaded, const std::string& path) {
  if (path.empty()) return "demo";
  if (model::is_synthetic(path)) return loaded.model->file().path();
  return std::filesystem::path(path).filename().string();
}

std::string model_name(const model::LoadedModel& loaded, const std::string& path) {
  if (path.empty()) return "demo";
  // A mix is part of the name: the type of most weights does not tell it from a format for all.
  if (auto spec = model::parse_synthetic(path)) {
    spec->seed = 0;
    return spec->mix ? model::synthetic_path(*spec) : fmt::format("synthetic:{}", spec->preset.name);
  }
  const std::string& name = loaded.model->config().name;
  return name.empty() ? std::filesystem::path(path).stem().string() : name;
}

// Some seconds are gone before the first run where the CPU's ceilings are measured, which
// INFERNO_CEILINGS=fresh asks for.
bool has_time_for_ceilings(const backend::Backend& backend, const RunOptions& options) {
  constexpr double kLeastSeconds = 15;
  const auto fresh = backend::wants_fresh_ceilings();
  return options.max_seconds.value_or(kLeastSeconds) >= kLeastSeconds || (fresh && *fresh) ||
         !backend.ceilings_take_seconds();
}

}  // namespace

DType main_weight_type(const gguf::File& file) {
  std::map<DType, uint64_t> bytes;
  for (const gguf::TensorInfo& info : file.tensors()) bytes[info.tensor.dtype] += info.tensor.bytes();
  const auto most = std::max_element(bytes.begin(), bytes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? DType::kF32 : most->first;
}

Result<Setting> describe(const model::LoadedModel& loaded, const RunOptions& options,
                         const std::string& model_path, const std::string& suite, uint64_t seed,
                         const CancelFn& cancelled) {
  backend::Backend& backend = loaded.model->backend();
  Setting setting;
  setting.model = model_name(loaded, model_path);
  setting.model_path = shown_path(loaded, model_path);
  setting.dtype = name(main_weight_type(loaded.model->file()));
  setting.kv_type = name(options.kv_type);
  setting.use_kv_cache = options.use_kv_cache;
  setting.suite = suite;
  setting.seed = seed;
  setting.device = backend.info();
  setting.device_name = setting.device.is_cpu() ? cpu_topology().model : setting.device.device;
  if (const auto allocated = backend.allocated_memory()) setting.post_load_gpu_bytes = allocated->now;
  if (has_time_for_ceilings(backend, options)) {
    TRY_ASSIGN(setting.ceilings, backend.measure_ceilings(cancelled));
  }
  setting.engine_version = version();
  setting.git_revision = git_revision();
  setting.timestamp = utc_time(std::time(nullptr));
  setting.model_bytes = loaded.model->weights().bytes();
  return setting;
}

}  // namespace inferno::bench
