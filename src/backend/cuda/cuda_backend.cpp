#include "backend/cuda/cuda_backend.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <optional>
#include <vector>

#include "backend/cost.h"
#include "backend/cuda/batch_on_device.h"
#include "backend/cuda/cuda_ceilings.h"
#include "backend/cuda/device.h"
#include "backend/cuda/device_memory.h"
#include "backend/cuda/matrix_peak.h"
#include "backend/cuda/staging.h"
#include "backend/read_vector.h"
#include "base/log.h"
#include "base/text.h"
#include "kernels/cuda/launch.h"

namespace inferno::backend {
namespace {

namespace launch = kernels::cuda;

// Of a vector, or nullptr where it is empty.
const float* values_of(const Weight& w) {
  return static_cast<const float*>(w.data.get());
}

// Elements from a row to the next.
int64_t stride_of(const Tensor& t) {
  return t.n_elements() / t.shape[0];
}

const Weight kNoBias;

constexpr const char* kMatrixArithmetic = "bf16";  // of the matrix peak

class CudaBackend final : public Backend {
 public:
  CudaBackend(cuda::Device device, cuda::OwnedStream stream, cuda::Staging staging)
      : device_(std::move(device)), stream_(std::move(stream)), staging_(std::move(staging)) {}

  DeviceInfo info() const override {
    return {"cuda", device_.name, device_.architecture, 1, DType::kF32, device_.runtime_version};
  }

  Result<Buffer> alloc(size_t bytes) override { return cuda::alloc(bytes); }
  std::optional<uint64_t> available_memory() const override { return cuda::free_bytes(); }
  std::optional<AllocatedMemory> allocated_memory() const override { return cuda::allocated_memory(); }
  void reset_peak_allocated_memory() override { cuda::reset_peak_allocated_memory(); }

  Status upload(void* device, const void* host, size_t bytes) override {
    return staging_.copy(device, host, bytes, stream_.get());
  }

  Status download(void* host, const void* device, size_t bytes) override {
    constexpr const char* kDoing = "copying from the device";
    TRY(cuda::check(kDoing, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_.get())));
    return cuda::check(kDoing, cudaStreamSynchronize(stream_.get()));
  }

  bool copies_weights() const override { return true; }
  bool profiling_waits() const override { return true; }

  // As it lies in the file; vectors become F32 on the way.
  Result<Weight> load_weight(const WeightSource& source, WeightUse use) override {
    const Tensor& tensor = source.tensor;
    if (use == WeightUse::kVector) {
      std::vector<float> values(static_cast<size_t>(tensor.n_elements()));
      TRY(read_vector(source, values.data()));
      return load(DType::kF32, tensor, values.size() * sizeof(float),
                  [&](void* device, size_t bytes) { return upload(device, values.data(), bytes); });
    }
    return load(tensor.dtype, tensor, tensor.bytes(),
                [&](void* device, size_t bytes) { return upload_rows(device, source, bytes); });
  }

  Result<Ceilings> measure_ceilings(const CancelFn&) override {
    TRY_ASSIGN(const cuda::Bandwidth read, cuda::measure_read_bandwidth(stream_.get()));
    TRY_ASSIGN(const cuda::Bandwidth copy, cuda::measure_copy_bandwidth(stream_.get()));
    Ceilings ceilings;
    ceilings.read_gb_per_s = {read.best_gb_per_s};
    ceilings.copy_gb_per_s = copy.best_gb_per_s;
    ceilings.steadiness = std::min(read.steadiness(), copy.steadiness());
    if (const auto peak = matrix_peak()) {
      ceilings.peaks = {{kMatrixArithmetic, device_.architecture, 1, peak->best_gflop_per_s}};
      ceilings.steadiness = std::min(ceilings.steadiness, peak->steadiness());
    }
    ceilings.measured_at = utc_time(std::time(nullptr));
    return ceilings;
  }
  bool ceilings_take_seconds() const override { return false; }

  Result<CeilingsNow> measure_ceilings_now(std::span<const std::string_view> arithmetics, uint64_t,
                                           const CancelFn&) override {
    TRY_ASSIGN(const cuda::Bandwidth read, cuda::measure_read_bandwidth(stream_.get()));
    CeilingsNow now;
    now.read_gb_per_s = read.best_gb_per_s;
    now.typical_read_gb_per_s = read.typical_gb_per_s;
    if (std::find(arithmetics.begin(), arithmetics.end(), kMatrixArithmetic) == arithmetics.end()) return now;
    if (const auto peak = matrix_peak()) {
      now.gops = peak->best_gflop_per_s;
      now.typical_gops = peak->typical_gflop_per_s;
      now.arithmetic = kMatrixArithmetic;
    }
    return now;
  }

 protected:
  BatchView do_begin_forward(const BatchView& host_batch) override {
    failed_.reset();
    auto batch = batch_.copy(host_batch, staging_, stream_.get());
    if (batch) return *batch;
    fail(std::move(batch).error());
    return {};
  }

  // The first thing that went wrong since begin_forward(), or what the device says now. A kernel that never
  // ends is waited for: CUDA cannot cancel one, and its memory is in use until it ends, so that a time limit
  // here could neither free anything nor let the next request run.
  Status do_end_forward() override {
    const Status ran = cuda::check("the forward pass", cudaStreamSynchronize(stream_.get()));
    if (!failed_) return ran;
    const Error error = std::move(*failed_);
    failed_.reset();
    return error;
  }

  void do_embed(const EmbedArgs& a) override {
    put("embed", [&](launch::Stream stream) {
      launch::embed({a.table.data.get(), a.table.dtype, a.batch.token_ids, a.y.as<float>(), a.y.rows(),
                     a.y.cols(), a.scale},
                    stream);
    });
  }

  void do_matmul(const MatmulArgs& a) override {
    put("matmul", [&](launch::Stream stream) {
      launch::matmul({a.w.data.get(), a.w.dtype, values_of(a.bias), a.x.as<float>(), a.y.as<float>(),
                      a.x.shape[0], a.w.rows, a.w.cols},
                     stream);
    });
  }

  void do_rms_norm(const RmsNormArgs& a) override {
    put("rms_norm", [&](launch::Stream stream) {
      launch::rms_norm({a.x.as<float>(), values_of(a.w), a.y.as<float>(), a.x.rows(), a.x.cols(), a.eps},
                       stream);
    });
  }

  void do_rope_table(const RopeTableArgs& a) override {
    const int64_t n_pairs = a.cos_sin.shape[1];
    put("rope_table", [&](launch::Stream stream) {
      const auto frequencies = frequencies_on_device({a.inv_freq, static_cast<size_t>(n_pairs)});
      if (!frequencies) return fail(frequencies.error());
      launch::rope_table(
          {a.batch.positions, *frequencies, a.cos_sin.as<float>(), a.cos_sin.shape[0], n_pairs}, stream);
    });
  }

  void do_rope(const RopeArgs& a) override {
    put("rope", [&](launch::Stream stream) {
      launch::rope({a.x.as<float>(), a.cos_sin.as<float>(), a.x.shape[0], a.x.shape[1], a.x.shape[2],
                    a.cos_sin.shape[1], a.style},
                   stream);
    });
  }

  void do_kv_append(const KvAppendArgs& a) override {
    put("kv_append", [&](launch::Stream stream) {
      launch::kv_append({a.k.as<float>(), a.v.as<float>(), a.kv, a.batch.slot_mapping, a.batch.n_tokens},
                        stream);
    });
  }

  void do_attention(const AttentionArgs& a) override {
    put("attention", [&](launch::Stream stream) {
      launch::attention(
          {a.q.as<float>(), a.kv, a.batch.block_tables, a.batch.cu_seqlens_q, a.batch.context_lens,
           a.y.as<float>(), a.batch.n_seqs, a.batch.max_blocks, a.q.shape[1], a.scale, a.window},
          a.batch.n_tokens, stream);
    });
  }

  void do_add(const AddArgs& a) override {
    put("add", [&](launch::Stream stream) {
      launch::add({a.x.as<float>(), a.y.as<float>(), a.x.n_elements()}, stream);
    });
  }

  void do_act_mul(const ActMulArgs& a) override {
    put("act_mul", [&](launch::Stream stream) {
      launch::act_mul({a.gate.as<float>(), a.up.as<float>(), a.y.as<float>(), a.y.n_elements(), a.activation},
                      stream);
    });
  }

  void do_gather_rows(const GatherRowsArgs& a) override {
    put("gather_rows", [&](launch::Stream stream) {
      launch::gather_rows({a.x.as<float>(), a.ids, a.y.as<float>(), a.y.rows(), a.y.cols()}, stream);
    });
  }

  void do_argmax(const ArgmaxArgs& a) override {
    const int64_t n = a.x.rows(), dim = a.x.cols();
    put("argmax", [&](launch::Stream stream) {
      const auto scratch = argmax_scratch(n * launch::argmax_blocks(dim));
      if (!scratch) return fail(scratch.error());
      launch::argmax({a.x.as<float>(), a.y, n, dim}, *scratch, stream);
    });
  }

  void do_qkv_step(const QkvArgs& a) override {
    rms_norm({a.norm, a.x, a.normed, a.eps});
    if (a.wq.dtype == a.wk.dtype && a.wq.dtype == a.wv.dtype) {
      multiply({{a.wq, a.bq, a.normed, a.q}, {a.wk, a.bk, a.normed, a.k}, {a.wv, a.bv, a.normed, a.v}});
    } else {
      matmul({a.wq, a.bq, a.normed, a.q});
      matmul({a.wk, a.bk, a.normed, a.k});
      matmul({a.wv, a.bv, a.normed, a.v});
    }
    const Operation operation(*this, "finish_heads", cost_of_heads(a));
    put("finish_heads", [&](launch::Stream stream) {
      launch::finish_heads(
          {a.q.as<float>(), a.k.as<float>(), a.v.as<float>(), values_of(a.q_norm), values_of(a.k_norm),
           a.cos_sin.as<float>(), a.batch.slot_mapping, a.kv, a.batch.n_tokens, a.q.shape[1],
           a.cos_sin.shape[1], stride_of(a.q), stride_of(a.k), stride_of(a.v), a.eps, a.rope_style},
          stream);
    });
  }

  void do_out_proj_step(const OutProjArgs& a) override {
    multiply_and_add({a.wo, a.bias, a.attended, a.scratch}, a.post_norm, a.eps, a.x);
  }

  void do_mlp_step(const MlpArgs& a) override {
    rms_norm({a.norm, a.x, a.normed, a.eps});
    if (a.w_gate.dtype == a.w_up.dtype) {
      // What the rows of `up` would be is never in memory.
      metrics::Cost cost = product_cost(a.w_gate, a.normed.rows());
      cost += product_cost(a.w_up, a.normed.rows());
      cost.activation_bytes = a.normed.bytes() + a.gate.bytes();
      const Operation operation(*this, "gated_matmul", cost);
      put("gated_matmul", [&](launch::Stream stream) {
        launch::gated_matmul(
            {a.w_gate.data.get(), a.w_up.data.get(), a.w_gate.dtype, a.normed.as<float>(), a.gate.as<float>(),
             a.normed.shape[0], a.w_gate.rows, a.w_gate.cols, a.activation},
            stream);
      });
    } else {
      matmul({a.w_gate, kNoBias, a.normed, a.gate});
      matmul({a.w_up, kNoBias, a.normed, a.up});
      act_mul({a.gate, a.up, a.gate, a.activation});
    }
    multiply_and_add({a.w_down, kNoBias, a.gate, a.normed}, a.post_norm, a.eps, a.x);
  }

 private:
  using Products = std::initializer_list<MatmulArgs>;

  // Absent where it cannot be measured, which is no reason to do without the rest.
  std::optional<cuda::MatrixPeak> matrix_peak() {
    const auto peak = cuda::measure_matrix_peak(stream_.get());
    if (peak) return *peak;
    static std::atomic<bool> is_said = false;
    if (!is_said.exchange(true)) {
      log::event(log::Level::kWarn, "inferno::backend", "matrix peak not measured",
                 {{"reason", peak.error().message}});
    }
    return std::nullopt;
  }

  static metrics::Cost cost_of_heads(const QkvArgs& a) {
    const BatchView batch = a.batch;  // of which costs take its numbers alone
    metrics::Cost sum = cost(RopeArgs{a.q, a.cos_sin, a.rope_style}, batch);
    sum += cost(RopeArgs{a.k, a.cos_sin, a.rope_style}, batch);
    sum += cost(KvAppendArgs{a.k, a.v, a.kv, a.batch}, batch);
    return sum;
  }

  // Products of the same rows with matrices of one type, in one launch; added to what is there if `add`.
  void multiply(Products products, bool add = false) {
    const MatmulArgs& first = *products.begin();
    metrics::Cost cost;
    cost.activation_bytes = first.x.bytes();
    for (const MatmulArgs& product : products) {
      cost += product_cost(product.w, first.x.shape[0]);
      cost.weight_bytes += product.bias.empty() ? 0 : product.bias.bytes();
      cost.activation_bytes += product.y.bytes();
    }
    const Operation operation(*this, "matmul", cost);
    launch::SharedMatmulParams params = {
        {}, 0, first.w.dtype, first.x.as<float>(), first.x.shape[0], first.w.cols, add};
    for (const MatmulArgs& product : products) {
      params.matrices[params.n_matrices++] = {product.w.data.get(), values_of(product.bias),
                                              product.y.as<float>(), product.w.rows};
    }
    put("matmul", [&](launch::Stream stream) { launch::shared_matmul(params, stream); });
  }

  // x += the product or, where there is a norm for it, that of the product, which is left in product.y.
  void multiply_and_add(const MatmulArgs& product, const Weight& post_norm, float eps, const Tensor& x) {
    if (post_norm.empty()) return multiply({{product.w, product.bias, product.x, x}}, /*add=*/true);
    matmul(product);
    const Operation operation(*this, "rms_norm_add", cost(RmsNormArgs{post_norm, product.y, x, eps}, {}));
    put("rms_norm_add", [&](launch::Stream stream) {
      launch::rms_norm_add(
          {product.y.as<float>(), values_of(post_norm), x.as<float>(), x.rows(), x.cols(), eps}, stream);
    });
  }

  // Nothing is launched after a failure: what it would read is not there.
  template <class Launch>
  void put(std::string_view operation, const Launch& launch_it) {
    if (failed_) return;
    launch_it(stream_.get());
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
      return fail(cuda::runtime_error(fmt::format("launching {}", operation), error));
    }
    if (!profiling()) return;
    if (const Status ran = cuda::check(operation, cudaStreamSynchronize(stream_.get())); !ran)
      fail(ran.error());
  }

  void fail(Error error) {
    if (!failed_) failed_ = std::move(error);
  }

  // Straight from the file into pinned memory, where the source copies rows and one fits there.
  Status upload_rows(void* device, const WeightSource& source, size_t bytes) {
    const Tensor& tensor = source.tensor;
    const size_t row = row_bytes(tensor.dtype, static_cast<size_t>(tensor.cols()));
    if (!source.copy_rows || row == 0 || row > cuda::Staging::kPieceBytes)
      return upload(device, tensor.data, bytes);
    const auto fill = [&](size_t offset, size_t n, std::byte* to) {
      return source.copy_rows(static_cast<int64_t>(offset / row), static_cast<int64_t>(n / row), to);
    };
    return staging_.send(device, bytes, row, fill, stream_.get());
  }

  template <class Upload>
  Result<Weight> load(DType dtype, const Tensor& shape, size_t bytes, const Upload& upload_to) {
    TRY_ASSIGN(Buffer buffer, alloc(bytes));
    TRY(upload_to(buffer.data(), bytes));
    const auto owner = std::make_shared<Buffer>(std::move(buffer));
    return Weight{dtype, shape.rows(), shape.cols(), std::shared_ptr<const void>(owner, owner->data())};
  }

  // A model has one or two such tables, the same in every pass.
  Result<const double*> frequencies_on_device(std::span<const double> values) {
    for (const Frequencies& known : frequencies_) {
      if (std::equal(values.begin(), values.end(), known.values.begin(), known.values.end()))
        return static_cast<const double*>(known.on_device.data());
    }
    TRY_ASSIGN(Buffer on_device, alloc(values.size_bytes()));
    TRY(upload(on_device.data(), values.data(), values.size_bytes()));
    frequencies_.push_back({{values.begin(), values.end()}, std::move(on_device)});
    return static_cast<const double*>(frequencies_.back().on_device.data());
  }

  // For so many words.
  Result<uint64_t*> argmax_scratch(int64_t n) {
    const size_t bytes = static_cast<size_t>(n) * sizeof(uint64_t);
    if (bytes > argmax_scratch_.bytes()) {
      TRY_ASSIGN(argmax_scratch_, alloc(bytes));
    }
    return static_cast<uint64_t*>(argmax_scratch_.data());
  }

  struct Frequencies {
    std::vector<double> values;
    Buffer on_device;
  };

  cuda::Device device_;
  cuda::OwnedStream stream_;
  cuda::Staging staging_;
  cuda::BatchOnDevice batch_;
  std::vector<Frequencies> frequencies_;  // of rope tables
  Buffer argmax_scratch_;
  std::optional<Error> failed_;  // of the forward pass that goes on
};

}  // namespace

Result<std::shared_ptr<Backend>> create_cuda(const BackendOptions&) {
  TRY_ASSIGN(cuda::Device device, cuda::find_device());
  Result<cuda::OwnedStream> stream = cuda::make_stream();
  Result<cuda::Staging> staging = cuda::Staging::create();
  // A device that cannot even begin is one that is not there.
  if (!stream) return Error{ErrorCode::kUnavailable, stream.error().message};
  if (!staging) return Error{ErrorCode::kUnavailable, staging.error().message};
  return std::shared_ptr<Backend>(
      std::make_shared<CudaBackend>(std::move(device), std::move(*stream), std::move(*staging)));
}

}  // namespace inferno::backend
