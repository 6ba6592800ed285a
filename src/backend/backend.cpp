#include "backend/backend.h"

#include <algorithm>

#include "backend/cost.h"
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

template <class F>
void Backend::run(const char* name, const metrics::Cost& cost, F&& operation) {
  if (depth_ == 0) counters_ += cost;
  const bool traced = telemetry::enabled();
  const bool timed = profiling_ || traced;
  if (profiling_) profile_.enter(name);
  std::chrono::steady_clock::time_point start;
  if (timed) start = telemetry::now();
  ++depth_;
  operation();
  --depth_;
  if (!timed) return;
  const auto end = telemetry::now();
  if (profiling_) profile_.leave(end - start, cost);
  if (traced) telemetry::record(name, start, end);
}

BatchView Backend::begin_forward(const BatchView& host_batch) {
  host_batch_ = host_batch;
  return do_begin_forward(host_batch);
}

Status Backend::end_forward() {
  return do_end_forward();
}

// clang-format off
void Backend::embed(const EmbedArgs& a) { run("embed", cost(a, host_batch_), [&] { do_embed(a); }); }
void Backend::matmul(const MatmulArgs& a) { run("matmul", cost(a, host_batch_), [&] { do_matmul(a); }); }
void Backend::rms_norm(const RmsNormArgs& a) { run("rms_norm", cost(a, host_batch_), [&] { do_rms_norm(a); }); }
void Backend::rope_table(const RopeTableArgs& a) { run("rope_table", cost(a, host_batch_), [&] { do_rope_table(a); }); }
void Backend::rope(const RopeArgs& a) { run("rope", cost(a, host_batch_), [&] { do_rope(a); }); }
void Backend::kv_append(const KvAppendArgs& a) { run("kv_append", cost(a, host_batch_), [&] { do_kv_append(a); }); }
void Backend::attention(const AttentionArgs& a) { run("attention", cost(a, host_batch_), [&] { do_attention(a); }); }
void Backend::add(const AddArgs& a) { run("add", cost(a, host_batch_), [&] { do_add(a); }); }
void Backend::act_mul(const ActMulArgs& a) { run("act_mul", cost(a, host_batch_), [&] { do_act_mul(a); }); }
void Backend::gather_rows(const GatherRowsArgs& a) { run("gather_rows", cost(a, host_batch_), [&] { do_gather_rows(a); }); }

void Backend::qkv_step(const QkvArgs& a) { run("qkv_step", cost(a, host_batch_), [&] { do_qkv_step(a); }); }
void Backend::attention_step(const AttentionArgs& a) { run("attention_step", cost(a, host_batch_), [&] { do_attention_step(a); }); }
void Backend::out_proj_step(const OutProjArgs& a) { run("out_proj_step", cost(a, host_batch_), [&] { do_out_proj_step(a); }); }
void Backend::mlp_step(const MlpArgs& a) { run("mlp_step", cost(a, host_batch_), [&] { do_mlp_step(a); }); }
void Backend::lm_head_step(const LmHeadArgs& a) { run("lm_head_step", cost(a, host_batch_), [&] { do_lm_head_step(a); }); }
// clang-format on

}  // namespace inferno::backend
