#include "backend/backend.h"

#include <algorithm>

#include "backend/cost.h"
#include "base/memory.h"
#include "metrics/telemetry.h"

namespace inferno::backend {

double Ceilings::read(unsigned threads) const {
  if (read_gb_per_s.empty() || threads == 0) return 0;
  return read_gb_per_s[std::min<size_t>(threads, read_gb_per_s.size()) - 1];
}

double Ceilings::peak(std::string_view arithmetic, unsigned threads) const {
  double best = 0;
  for (const Peak& p : peaks) {
    if (p.arithmetic == arithmetic && p.threads == threads) best = std::max(best, p.gops);
  }
  return best;
}

Result<Buffer> Backend::alloc_growing(size_t bytes, size_t /*soon*/) {
  return alloc(bytes);
}

std::optional<uint64_t> Backend::available_memory() const {
  return inferno::available_memory();
}

void Backend::run_on_host(int64_t n, const std::function<void(int64_t)>& fn) {
  for (int64_t i = 0; i < n; ++i) fn(i);
}

Result<Weight> Backend::load_weight_cached(const WeightSource& source, WeightUse use, std::string_view,
                                           RepackCache&) {
  return load_weight(source, use);
}

Backend::Operation::Operation(Backend& backend, const char* name, const metrics::Cost& cost)
    : backend_(backend),
      outer_(backend.operation_),
      name_(name),
      cost_(cost),
      profiled_(backend.profiling_),
      traced_(outer_ == nullptr && telemetry::enabled()) {
  backend_.operation_ = this;
  if (profiled_) {
    backend_.profile_.enter(name);
    profile_start_ = std::chrono::steady_clock::now();
  }
  if (traced_) trace_start_ = telemetry::now();
}

Backend::Operation::~Operation() {
  backend_.operation_ = outer_;
  if (outer_ == nullptr) backend_.counters_ += cost_;
  if (traced_) telemetry::record(name_, trace_start_, telemetry::now());
  if (profiled_) backend_.profile_.leave(std::chrono::steady_clock::now() - profile_start_, cost_);
}

void Backend::Operation::recount(const metrics::Cost& cost) {
  cost_ = cost;
}

BatchView Backend::begin_forward(const BatchView& host_batch) {
  host_batch_ = host_batch;
  return do_begin_forward(host_batch);
}

Status Backend::end_forward() {
  return do_end_forward();
}

// clang-format off
void Backend::embed(const EmbedArgs& a) { const Operation o(*this, "embed", cost(a, host_batch_)); do_embed(a); }
void Backend::matmul(const MatmulArgs& a) { const Operation o(*this, "matmul", cost(a, host_batch_)); do_matmul(a); }
void Backend::rms_norm(const RmsNormArgs& a) { const Operation o(*this, "rms_norm", cost(a, host_batch_)); do_rms_norm(a); }
void Backend::rope_table(const RopeTableArgs& a) { const Operation o(*this, "rope_table", cost(a, host_batch_)); do_rope_table(a); }
void Backend::rope(const RopeArgs& a) { const Operation o(*this, "rope", cost(a, host_batch_)); do_rope(a); }
void Backend::kv_append(const KvAppendArgs& a) { const Operation o(*this, "kv_append", cost(a, host_batch_)); do_kv_append(a); }
void Backend::attention(const AttentionArgs& a) { const Operation o(*this, "attention", cost(a, host_batch_)); do_attention(a); }
void Backend::add(const AddArgs& a) { const Operation o(*this, "add", cost(a, host_batch_)); do_add(a); }
void Backend::act_mul(const ActMulArgs& a) { const Operation o(*this, "act_mul", cost(a, host_batch_)); do_act_mul(a); }
void Backend::gather_rows(const GatherRowsArgs& a) { const Operation o(*this, "gather_rows", cost(a, host_batch_)); do_gather_rows(a); }
void Backend::argmax(const ArgmaxArgs& a) { const Operation o(*this, "argmax", cost(a, host_batch_)); do_argmax(a); }

void Backend::qkv_step(const QkvArgs& a) { const Operation o(*this, "qkv_step", cost(a, host_batch_)); do_qkv_step(a); }
void Backend::attention_step(const AttentionArgs& a) { const Operation o(*this, "attention_step", cost(a, host_batch_)); do_attention_step(a); }
void Backend::out_proj_step(const OutProjArgs& a) { const Operation o(*this, "out_proj_step", cost(a, host_batch_)); do_out_proj_step(a); }
void Backend::mlp_step(const MlpArgs& a) { const Operation o(*this, "mlp_step", cost(a, host_batch_)); do_mlp_step(a); }
void Backend::lm_head_step(const LmHeadArgs& a) { const Operation o(*this, "lm_head_step", cost(a, host_batch_)); do_lm_head_step(a); }
// clang-format on

}  // namespace inferno::backend
