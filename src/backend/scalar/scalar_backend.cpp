#include "backend/scalar/scalar_backend.h"

#include "backend/host_backend.h"
#include "kernels/reference/reference.h"

namespace inferno::backend {
namespace {

namespace reference = kernels::reference;

class ScalarBackend final : public HostBackend {
 public:
  DeviceInfo info() const override { return {"scalar", "CPU", "none (plain loops)", 1, DType::kF32}; }

  // Matrices are read where they lie in the file; vectors become F32.
  Result<Weight> load_weight(const WeightSource& source, WeightUse use) override {
    const Tensor& tensor = source.tensor;
    if (use == WeightUse::kVector) return load_vector(source);
    Weight weight{tensor.dtype, tensor.rows(), tensor.cols(), nullptr};
    weight.data = std::shared_ptr<const void>(tensor.data, [](const void*) {});
    return weight;
  }

 protected:
  BatchView do_begin_forward(const BatchView& host_batch) override { return host_batch; }
  Status do_end_forward() override { return {}; }

  void do_embed(const EmbedArgs& a) override {
    reference::embed({a.table.data.get(), a.table.dtype, a.batch.token_ids, a.y.as<float>(), a.y.rows(),
                      a.y.cols(), a.scale});
  }

  void do_matmul(const MatmulArgs& a) override {
    reference::matmul({a.w.data.get(), a.w.dtype, static_cast<const float*>(a.bias.data.get()),
                       a.x.as<float>(), a.y.as<float>(), a.x.shape[0], a.w.rows, a.w.cols});
  }

  void do_rms_norm(const RmsNormArgs& a) override {
    reference::rms_norm({a.x.as<float>(), static_cast<const float*>(a.w.data.get()), a.y.as<float>(),
                         a.x.rows(), a.x.cols(), a.eps});
  }

  void do_rope_table(const RopeTableArgs& a) override {
    reference::rope_table(
        {a.batch.positions, a.inv_freq, a.cos_sin.as<float>(), a.cos_sin.shape[0], a.cos_sin.shape[1]});
  }

  void do_rope(const RopeArgs& a) override {
    reference::rope({a.x.as<float>(), a.cos_sin.as<float>(), a.x.shape[0], a.x.shape[1], a.x.shape[2],
                     a.cos_sin.shape[1], a.style});
  }

  void do_kv_append(const KvAppendArgs& a) override {
    reference::kv_append({a.k.as<float>(), a.v.as<float>(), a.kv, a.batch.slot_mapping, a.batch.n_tokens});
  }

  void do_attention(const AttentionArgs& a) override {
    reference::attention({a.q.as<float>(), a.kv, a.batch.block_tables, a.batch.cu_seqlens_q,
                          a.batch.context_lens, a.y.as<float>(), a.batch.n_seqs, a.batch.max_blocks,
                          a.q.shape[1], a.scale, a.window});
  }

  void do_add(const AddArgs& a) override {
    reference::add({a.x.as<float>(), a.y.as<float>(), a.x.n_elements()});
  }

  void do_act_mul(const ActMulArgs& a) override {
    reference::act_mul(
        {a.gate.as<float>(), a.up.as<float>(), a.y.as<float>(), a.y.n_elements(), a.activation});
  }

  void do_gather_rows(const GatherRowsArgs& a) override {
    reference::gather_rows({a.x.as<float>(), a.ids, a.y.as<float>(), a.y.rows(), a.y.cols()});
  }
};

}  // namespace

Result<std::shared_ptr<Backend>> create_scalar(const BackendOptions&) {
  return std::shared_ptr<Backend>(std::make_shared<ScalarBackend>());
}

}  // namespace inferno::backend
