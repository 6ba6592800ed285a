#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include "backend/cost.h"
#include "backend/cpu/activation_buffer.h"
#include "backend/cpu/cpu_attention.h"
#include "backend/cpu/cpu_weight.h"
#include "backend/cpu/head_screen.h"
#include "backend/cpu/matrix_products.h"
#include "backend/cpu/rows_left.h"
#include "backend/cpu/thread_rows.h"
#include "backend/host_backend.h"
#include "base/cpu_topology.h"
#include "base/thread_team.h"
#include "kernels/reference/reference.h"

namespace inferno::backend {
namespace {

namespace reference = kernels::reference;

// Rows of activations from which on a step's work on rows is shared among the threads as a loop of its own.
// Below, a barrier costs more than the work: what follows a product on each of its outputs alone is done by
// whoever has made them (RowsLeft), what all outputs of the next one need by each thread for itself
// (ThreadRows), the rest by one thread.
constexpr int64_t kSharedRows = 12;
// Outputs of gate and up that are gone on with at once: whole blocks of quantized activations.
constexpr int64_t kActivationRows = 128;
// Rows of activations up to which a product with the LM head is bound by reading it, so that reading less of
// it pays.
constexpr int64_t kScreenedRows = 4;
// Groups of the head's rows that a thread takes at once of those that a screen has left.
constexpr int64_t kGroupsPerTurn = 8;
// Rows of activations in a block of them: as many positions as a tile of keys has, to whose lines all threads
// with a block in it write, or half as many where there are few rows for each thread.
constexpr int64_t kBlockRows = 16;
// Rows of them that a thread norms at once where only another form of them is wanted: few, so that they stay
// in its nearest caches, but whole groups of blocks that are quantized side by side, if there are 128 numbers
// in a row or a multiple of that.
constexpr int64_t kOwnNormedRows = 4;
static_assert(kOwnNormedRows < kSharedRows);  // what own_rows_ has room for
// Buffers from this size on are worth huge pages: those of keys and values, which decoding reads as it reads
// weights, and the largest of a prompt's activations.
constexpr size_t kLargeBytes = size_t{8} << 20;
// The same where small pages are slow to read: a quarter of a huge page.
constexpr size_t kLargeForSlowPages = size_t{512} << 10;

// Of a matrix: some rows and, if it is one row, maybe some of its columns.
struct Part {
  int64_t row, n_rows;
  int64_t col, n_cols;
};

class CpuBackend final : public HostBackend {
 public:
  // Workers are pinned to `cpus`; weights are spread over the memory of NUMA `nodes`.
  CpuBackend(std::string name, const CpuIsa& isa, unsigned n_threads, std::span<const unsigned> cpus,
             std::vector<unsigned> nodes, ScreenedHeads screened_heads)
      : name_(std::move(name)),
        isa_(isa),
        screened_heads_(screened_heads),
        kernels_(kernels_of(isa)),
        team_(n_threads, cpus),
        memory_(std::move(nodes)),
        screening_(kernels_, screened_heads == ScreenedHeads::kLarge) {}

  DeviceInfo info() const override { return {name_, "CPU", isa_.name, team_.n_threads(), DType::kF32}; }

  Result<Buffer> alloc(size_t bytes) override { return alloc_growing(bytes, bytes); }
  // What is large begins in huge pages or is moved into them as it is written.
  Result<Buffer> alloc_growing(size_t bytes, size_t soon) override {
    const bool is_large =
        bytes >= kLargeBytes || (bytes >= kLargeForSlowPages && memory_.begins_in_huge_pages(bytes, soon));
    if (!is_large) return HostBackend::alloc(bytes);
    TRY_ASSIGN(std::shared_ptr<void> data, memory_.alloc_unwritten(bytes, soon));
    void* const begin = data.get();
    return Buffer(begin, bytes, [owner = std::move(data)](void*) {});
  }
  bool copies_weights() const override { return true; }
  bool settle(std::chrono::milliseconds most) override { return memory_.settle(most); }
  void run_on_host(int64_t n, const std::function<void(int64_t)>& fn) override {
    team_.run(n, [&](int64_t turn, unsigned) { fn(turn); });
  }
  int64_t kv_block_multiple() const override { return kernels_.block_multiple; }

  Result<Weight> load_weight(const WeightSource& source, WeightUse use) override {
    return load(source, use, {});
  }
  Result<Weight> load_weight_cached(const WeightSource& source, WeightUse use, std::string_view name,
                                    RepackCache& cache) override {
    return load(source, use, {&cache, name});
  }
  bool has_screen(const Weight& head) const override { return matrix_of(head).screen != nullptr; }
  uint64_t screen_bytes(const Tensor& head) const override {
    const ScreenKind kind = screen_kind(head, kernels_, screened_heads_);
    return is_optional(kind) ? 0 : head_screen_bytes(head, kernels_, kind);
  }
  std::string weight_layout() const override {
    return fmt::format("{} panels {}", isa_.name, kernels::kPanelLayoutVersion);
  }

 protected:
  BatchView do_begin_forward(const BatchView& host_batch) override {
    reserve(host_batch.n_tokens);
    return host_batch;
  }
  Status do_end_forward() override {
    memory_.written();
    return std::exchange(status_, {});
  }

  void do_embed(const EmbedArgs& a) override {
    const int64_t dim = a.y.cols();
    for_row_blocks(a.y.rows(), [&](int64_t row, int64_t n) {
      reference::embed({matrix_of(a.table).rows, a.table.dtype, a.batch.token_ids + row,
                        a.y.as<float>() + row * dim, n, dim, a.scale});
    });
  }

  void do_matmul(const MatmulArgs& a) override {
    const int64_t n = a.x.shape[0];
    if (!reserve(n)) return;
    const Product product = {&a.w, &a.bias, a.y.as<float>()};
    form_for({&product, 1}, a.x.as<float>(), n);
    products_.multiply({&product, 1}, {a.x.as<float>(), n, formed_}, [](size_t, int64_t, int64_t) {});
  }

  void do_rms_norm(const RmsNormArgs& a) override {
    const int64_t dim = a.x.cols();
    for_row_blocks(a.x.rows(), [&](int64_t row, int64_t n) {
      kernels_.rms_norm(
          {a.x.as<float>() + row * dim, vector_of(a.w), a.y.as<float>() + row * dim, n, dim, a.eps});
    });
  }

  void do_rope_table(const RopeTableArgs& a) override {
    const int64_t n_pairs = a.cos_sin.shape[1];
    for_row_blocks(a.cos_sin.shape[0], [&](int64_t row, int64_t n) {
      reference::rope_table(
          {a.batch.positions + row, a.inv_freq, a.cos_sin.as<float>() + row * n_pairs * 2, n, n_pairs});
    });
  }

  void do_rope(const RopeArgs& a) override {
    for_row_blocks(a.x.shape[0], [&](int64_t row, int64_t n) { rope_rows(a, row, n); });
  }

  void do_kv_append(const KvAppendArgs& a) override {
    for_row_blocks(a.batch.n_tokens,
                   [&](int64_t row, int64_t n) { append_rows(a, row, n, 0, a.kv.n_kv_heads); });
  }

  void do_attention(const AttentionArgs& a) override { attention_.run(a); }

  void do_add(const AddArgs& a) override {
    kernels_.add({a.x.as<float>(), a.y.as<float>(), a.x.n_elements()});
  }

  void do_act_mul(const ActMulArgs& a) override {
    const int64_t cols = a.y.cols();
    for_row_blocks(a.y.rows(), [&](int64_t row, int64_t n) {
      kernels_.act_mul({a.gate.as<float>() + row * cols, a.up.as<float>() + row * cols,
                        a.y.as<float>() + row * cols, n * cols, a.activation});
    });
  }

  void do_gather_rows(const GatherRowsArgs& a) override {
    reference::gather_rows({a.x.as<float>(), a.ids, a.y.as<float>(), a.y.rows(), a.y.cols()});
  }

  void do_qkv_step(const QkvArgs& a) override {
    if (!status_) return;
    const std::array products = {Product{&a.wq, &a.bq, a.q.as<float>()},
                                 Product{&a.wk, &a.bk, a.k.as<float>()},
                                 Product{&a.wv, &a.bv, a.v.as<float>()}};
    const int64_t n = a.x.shape[0];
    const int64_t n_kv_heads = a.kv.n_kv_heads;
    if (n >= kSharedRows) {
      norm_and_form(products, a.norm, a.eps, a.x, a.normed);
      multiply(products, {a.normed.as<float>(), n, formed_});
      for_row_blocks(n, [&](int64_t row, int64_t n_rows) { finish_heads(a, row, n_rows, 0, n_kv_heads); });
      return;
    }
    // A part: a KV head and the heads that share it.
    const std::array rows = {a.wq.rows / n_kv_heads, a.wk.rows / n_kv_heads, a.wv.rows / n_kv_heads};
    head_rows_left_.begin(n_kv_heads, rows[0] + rows[1] + rows[2]);
    const auto own_rows = own_rows_.made_by(
        n, [&](const ThreadRows::Own& own) { return norm_and_form_own(products, a.norm, a.eps, a.x, own); });
    multiply(products, n, own_rows, [&](size_t i, int64_t begin, int64_t end) {
      head_rows_left_.made(begin, end, rows[i], [&](int64_t head) { finish_heads(a, 0, n, head, head + 1); });
    });
    head_rows_left_.end();
  }

  void do_attention_step(const AttentionArgs& a) override {
    if (status_) do_attention(a);
  }

  void do_out_proj_step(const OutProjArgs& a) override {
    if (!status_) return;
    const int64_t n = a.x.shape[0];
    const Product product = {&a.wo, &a.bias, a.scratch.as<float>()};
    const float* attended = a.attended.as<float>();
    if (n >= kSharedRows) {
      form_for({&product, 1}, attended, n);
      return multiply_and_add(product, n, SameForAll{{attended, n, formed_}}, a.post_norm, a.eps, a.x);
    }
    const auto own_rows = own_rows_.made_by(n, [&](const ThreadRows::Own& own) {
      form_rows({&product, 1}, attended, 0, n, own.formed());
      return attended;
    });
    multiply_and_add(product, n, own_rows, a.post_norm, a.eps, a.x);
  }

  void do_mlp_step(const MlpArgs& a) override {
    if (!status_) return;
    const int64_t n = a.x.shape[0];
    const int64_t hidden = a.w_gate.rows;
    const std::array gate_up = {Product{&a.w_gate, &kNoBias, a.gate.as<float>()},
                                Product{&a.w_up, &kNoBias, a.up.as<float>()}};
    const Product down = {&a.w_down, &kNoBias, a.normed.as<float>()};
    status_ = activated_.reserve(n, hidden, forms_of({&down, 1}), *this);
    if (!status_) return;
    const auto activate = [&](Part part) {
      const int64_t first = part.row * hidden + part.col;
      float* gate = a.gate.as<float>() + first;
      kernels_.act_mul({gate, a.up.as<float>() + first, gate, part.n_rows * part.n_cols, a.activation});
      form_blocks({&down, 1}, gate, hidden, part, activated_);
    };
    if (n >= kSharedRows) {
      norm_and_form(gate_up, a.norm, a.eps, a.x, a.normed);
      multiply(gate_up, {a.normed.as<float>(), n, formed_});
      for_row_blocks(n, [&](int64_t row, int64_t n_rows) {
        activate({row, n_rows, 0, hidden});
        form_whole_rows({&down, 1}, a.gate.as<float>() + row * hidden, hidden, row, n_rows, activated_);
      });
    } else {
      // The last part may have fewer rows: as if those that are missing were made.
      const int64_t n_parts = (hidden + kActivationRows - 1) / kActivationRows;
      activation_rows_left_.begin(n_parts, 2 * kActivationRows);
      const auto own_rows = own_rows_.made_by(
          n, [&](const ThreadRows::Own& own) { return norm_and_form_own(gate_up, a.norm, a.eps, a.x, own); });
      multiply(gate_up, n, own_rows, [&](size_t, int64_t begin, int64_t end) {
        const int64_t whole_end = end == hidden ? n_parts * kActivationRows : end;
        activation_rows_left_.made(begin, whole_end, kActivationRows, [&](int64_t part) {
          const int64_t first = part * kActivationRows;
          const int64_t rows = std::min(kActivationRows, hidden - first);
          for (int64_t row = 0; row < n; ++row) activate({row, 1, first, rows});
        });
      });
      activation_rows_left_.end();
      form_whole_rows({&down, 1}, a.gate.as<float>(), hidden, 0, n, activated_);
    }
    multiply_and_add(down, n, SameForAll{{a.gate.as<float>(), n, activated_}}, a.post_norm, a.eps, a.x);
  }

  void do_lm_head_step(const LmHeadArgs& a) override {
    if (!status_) return;
    const int64_t n = a.rows.shape[0];
    const Product head = {&a.head, &kNoBias, a.logits.as<float>()};
    const HeadScreen* screen = a.highest_only ? matrix_of(a.head).screen.get() : nullptr;
    // Not while it is tried how to read: which is faster would depend on both.
    const bool can_screen = screen != nullptr && n <= kScreenedRows &&
                            !(screened_heads_ == ScreenedHeads::kLarge && products_.tries_reading(a.head, n));
    const bool screened = can_screen && screening_.is_due();
    const Product coarse = {screened ? &screen->coarse : &a.head, &kNoBias, head.y};
    const bool coarse_is_tried =
        screened && matrix_of(screen->coarse).is_upper_plane && products_.tries_reading(screen->coarse, n);
    do_gather_rows({a.x, a.batch.logits_indices, a.rows});
    const std::array products = {head, coarse};
    for_row_blocks(n, [&](int64_t row, int64_t n_rows) {
      float* rows = a.rows.as<float>() + row * a.rows.cols();
      norm_rows(a.norm, a.eps, rows, rows, n_rows, a.rows.cols());
      form_rows(products, rows, row, n_rows, formed_);
    });
    const Activations x = {a.rows.as<float>(), n, formed_};
    const auto start = std::chrono::steady_clock::now();
    if (screened) {
      multiply_screened(a, head, coarse, *screen, x);
    } else {
      multiply({&head, 1}, x);
      if (screen != nullptr) count({1, 0, a.head.read_bytes(), a.head.read_bytes()});
    }
    if (can_screen && !coarse_is_tried) screening_.took(std::chrono::steady_clock::now() - start, n);
  }

 private:
  Result<Weight> load(const WeightSource& source, WeightUse use, const CachedAs& cached) {
    const Tensor& tensor = source.tensor;
    if (use == WeightUse::kVector) return load_vector(source);
    Weight weight{tensor.dtype, tensor.rows(), tensor.cols(), nullptr};
    const bool is_head = use == WeightUse::kHead || use == WeightUse::kEmbeddingAndHead;
    const ScreenKind screen = is_head ? screen_kind(tensor, kernels_, screened_heads_) : ScreenKind::kNone;
    const bool in_planes = screen == ScreenKind::kUpperPlane;
    const auto type = static_cast<size_t>(tensor.dtype);
    const kernels::PanelMatmul no_panels;
    const kernels::PanelMatmul& kernel = use == WeightUse::kEmbedding ? no_panels
                                         : in_planes                  ? kernels_.planes[type].whole
                                                                      : kernels_.matmul[type];
    const int64_t upper_bytes = in_planes ? kernels_.planes[type].upper.panel_bytes(tensor.cols()) : 0;
    const kernels::CompressedMatmul& compressed =
        use == WeightUse::kEmbedding ? kernels::CompressedMatmul() : kernels_.compressed[type];
    const std::string panels_name = std::string(cached.name) + (in_planes ? " in planes" : "");
    const std::string compressed_name = std::string(cached.name) + " compressed";
    const CachedAs as_panels = {cached.cache, panels_name}, as_compressed = {cached.cache, compressed_name};
    std::shared_ptr<CpuMatrix> matrix = WeightPacker::find(source, compressed.product, 0, as_compressed);
    bool is_compressed = matrix != nullptr;
    if (matrix == nullptr) matrix = WeightPacker::find(source, kernel, upper_bytes, as_panels);
    if (matrix == nullptr && compressed.product.rows != 0) {
      TRY_ASSIGN(matrix, packer_.pack_compressed(source, compressed, as_compressed));
      is_compressed = matrix != nullptr;
    }
    if (matrix == nullptr) {
      TRY_ASSIGN(matrix, packer_.pack(source, kernel, upper_bytes, as_panels));
    }
    if (is_compressed) weight.stored_bytes = static_cast<size_t>(tensor.n_elements() * compressed.bits / 8);
    TRY(products_.reserve_scratch(*matrix, tensor.cols()));
    if (screen != ScreenKind::kNone && has_room_for(screen, tensor)) {
      TRY_ASSIGN(matrix->screen, make_head_screen(tensor, *matrix, screen, kernels_, team_, memory_, cached));
      TRY(products_.reserve_scratch(matrix_of(matrix->screen->coarse), tensor.cols()));
    }
    weight.data = matrix;
    max_cols_ = std::max(max_cols_, tensor.cols());
    forms_.add(matrix->kernel.x_form);
    if (matrix->screen != nullptr) forms_.add(matrix_of(matrix->screen->coarse).kernel.x_form);
    return weight;
  }

  // A copy that nobody has asked for is left out where memory is short.
  bool is_optional(ScreenKind kind) const {
    return kind == ScreenKind::kCopy && screened_heads_ == ScreenedHeads::kLarge;
  }
  bool has_room_for(ScreenKind kind, const Tensor& head) const {
    const auto available = available_memory();
    return !is_optional(kind) || !available || 2 * head_screen_bytes(head, kernels_, kind) <= *available;
  }

  // fn(row, n), or fn(row, n, thread), for all rows, in blocks by the threads where there are many.
  template <class Fn>
  void for_row_blocks(int64_t n, const Fn& fn) {
    const auto call = [&](int64_t row, int64_t n_rows, unsigned thread) {
      if constexpr (std::is_invocable_v<Fn, int64_t, int64_t, unsigned>) {
        fn(row, n_rows, thread);
      } else {
        fn(row, n_rows);
      }
    };
    if (n < kSharedRows || team_.n_threads() == 1) {
      if (n > 0) call(0, n, 0);
      return;
    }
    const int64_t of_thread = (n + team_.n_threads() - 1) / team_.n_threads();
    const int64_t block = of_thread > kBlockRows / 2 ? kBlockRows : kBlockRows / 2;
    team_.run((n + block - 1) / block, [&](int64_t turn, unsigned thread) {
      call(turn * block, std::min(block, n - turn * block), thread);
    });
  }

  void rope_rows(const RopeArgs& a, int64_t row, int64_t n) {
    const int64_t n_pairs = a.cos_sin.shape[1];
    kernels_.rope({a.x.as<float>() + row * a.x.shape[1] * a.x.shape[2],
                   a.cos_sin.as<float>() + row * n_pairs * 2, n, a.x.shape[1], a.x.shape[2], n_pairs,
                   a.style});
  }

  void append_rows(const KvAppendArgs& a, int64_t row, int64_t n, int64_t head_begin, int64_t head_end) {
    const int64_t size = a.kv.n_kv_heads * a.kv.head_dim;
    kernels_.cache_of(a.kv).kv_append(
        {a.k.as<float>() + row * size, a.v.as<float>() + row * size, a.kv, a.batch.slot_mapping + row, n},
        head_begin, head_end);
  }

  // What is left to do on q, k and v after their products, for these KV heads and the heads that share them.
  void finish_heads(const QkvArgs& a, int64_t row, int64_t n, int64_t head_begin, int64_t head_end) {
    const int64_t n_pairs = a.cos_sin.shape[1];
    const auto norm_and_rope = [&](const Weight& norm, const Tensor& x, int64_t r) {
      const int64_t heads_per_kv_head = x.shape[1] / a.kv.n_kv_heads;
      const int64_t n_heads = (head_end - head_begin) * heads_per_kv_head;
      float* first = x.as<float>() + (r * x.shape[1] + head_begin * heads_per_kv_head) * x.shape[2];
      if (!norm.empty()) kernels_.rms_norm({first, vector_of(norm), first, n_heads, x.shape[2], a.eps});
      kernels_.rope(
          {first, a.cos_sin.as<float>() + r * n_pairs * 2, 1, n_heads, x.shape[2], n_pairs, a.rope_style});
    };
    for (int64_t r = row; r < row + n; ++r) {
      norm_and_rope(a.q_norm, a.q, r);
      norm_and_rope(a.k_norm, a.k, r);
    }
    append_rows({a.k, a.v, a.kv, a.batch}, row, n, head_begin, head_end);
  }

  static XForms forms_of(std::span<const Product> products) {
    XForms forms;
    for (const Product& p : products) forms.add(matrix_of(*p.w).kernel.x_form);
    return forms;
  }

  // Some rows and columns, of rows of k elements, the first of which is x, in those of the forms that the
  // products take that are made of blocks of columns. Fewer columns than k: of one row.
  void form_blocks(std::span<const Product> products, const float* x, int64_t k, Part part,
                   const ActivationBuffer& to) const {
    const XForms forms = forms_of(products);
    if (forms.has_int8()) {
      kernels::QuantizedRows quantized = to.quantized_from(part.row * k + part.col);
      if (!forms.has(kernels::XForm::kInt8Halves)) quantized.half = nullptr, quantized.half_total = nullptr;
      kernels_.quantize(x, part.n_rows, part.n_cols, quantized);
    }
    if (forms.has(kernels::XForm::kBf16))
      kernels_.to_bf16({x, k, part.row, part.n_rows, part.col, part.n_cols, to.bf16()});
    if (forms.has(kernels::XForm::kBf16Parts))
      kernels_.split({x, k, part.row, part.n_rows, part.col, part.n_cols, to.split()});
  }

  // Some rows, the first of which is x, in the form that has a scale for a row.
  void form_whole_rows(std::span<const Product> products, const float* x, int64_t k, int64_t row, int64_t n,
                       const ActivationBuffer& to) const {
    if (forms_of(products).has(kernels::XForm::kF16Parts)) kernels_.to_f16({x, k, row, n, to.f16()});
  }

  void form_rows(std::span<const Product> products, const float* x, int64_t row, int64_t n,
                 const ActivationBuffer& to) const {
    const int64_t k = products.front().w->cols;
    form_blocks(products, x, k, {row, n, 0, k}, to);
    form_whole_rows(products, x, k, row, n, to);
  }

  void form_for(std::span<const Product> products, const float* x, int64_t n) {
    const int64_t k = products.front().w->cols;
    for_row_blocks(
        n, [&](int64_t row, int64_t n_rows) { form_rows(products, x + row * k, row, n_rows, formed_); });
  }

  void norm_rows(const Weight& norm, float eps, const float* x, float* y, int64_t n, int64_t dim) const {
    kernels_.rms_norm({x, vector_of(norm), y, n, dim, eps});
  }

  // A thread's own, of few rows: what ThreadRows::Maker calls.
  const float* norm_and_form_own(std::span<const Product> products, const Weight& norm, float eps,
                                 const Tensor& x, const ThreadRows::Own& own) const {
    norm_rows(norm, eps, x.as<float>(), own.x(), x.rows(), x.cols());
    form_rows(products, own.x(), 0, x.rows(), own.formed());
    return own.x();
  }

  // Many rows: norm(x) in the forms that the products take. Where none of those is floats, normed is not
  // written: a thread leaves a few rows at a time in memory of its own.
  void norm_and_form(std::span<const Product> products, const Weight& norm, float eps, const Tensor& x,
                     const Tensor& normed) {
    const int64_t dim = x.cols();
    const bool as_floats = forms_of(products).has(kernels::XForm::kFloat);
    const int64_t most = as_floats ? kBlockRows : kOwnNormedRows;
    for_row_blocks(x.shape[0], [&](int64_t first, int64_t n, unsigned thread) {
      for (int64_t row = first; row < first + n; row += most) {
        const int64_t n_rows = std::min(most, first + n - row);
        float* y = as_floats ? normed.as<float>() + row * dim : own_rows_.of(thread).x();
        norm_rows(norm, eps, x.as<float>() + row * dim, y, n_rows, dim);
        form_rows(products, y, row, n_rows, formed_);
      }
    });
  }

  void add_to_residual(const Weight& post_norm, float eps, float* y, const Tensor& x) {
    const int64_t dim = x.cols();
    for_row_blocks(x.shape[0], [&](int64_t row, int64_t n) {
      float* first = y + row * dim;
      if (!post_norm.empty()) kernels_.rms_norm({first, vector_of(post_norm), first, n, dim, eps});
      kernels_.add({x.as<float>() + row * dim, first, n * dim});
    });
  }

  // The residual stream += product, normed first where there is a norm.
  template <class RowsOf>
  void multiply_and_add(const Product& product, int64_t n, const RowsOf& rows_of, const Weight& post_norm,
                        float eps, const Tensor& residual) {
    const int64_t dim = residual.cols();
    if (!post_norm.empty() || n >= kSharedRows) {
      multiply({&product, 1}, n, rows_of, [](size_t, int64_t, int64_t) {});
      return add_to_residual(post_norm, eps, product.y, residual);
    }
    multiply({&product, 1}, n, rows_of, [&](size_t, int64_t begin, int64_t end) {
      for (int64_t at = begin; at < n * dim; at += dim)
        kernels_.add({residual.as<float>() + at, product.y + at, end - begin});
    });
  }

  // The product with the LM head, as far as it can have the highest logits.
  void multiply_screened(const LmHeadArgs& a, const Product& head, const Product& coarse,
                         const HeadScreen& screen, const Activations& x) {
    screening_.begin(screen, x.x, x.formed.quantized_from(0), matrix_of(a.head).kernel.x_form, x.n);
    {
      metrics::Cost coarse_cost = product_cost(*coarse.w, x.n);
      coarse_cost.weight_bytes = screen.coarse_bytes;
      const Operation operation(*this, "matmul", coarse_cost);
      products_.multiply({&coarse, 1}, x, [&](size_t, int64_t begin, int64_t end) {
        screening_.coarse_logits(coarse.y, begin, end);
      });
    }
    const int64_t panels_per_group = screen.group_rows / MatrixProducts::rows_of_panel(a.head);
    // A panel here and one there, which no processor foresees.
    using Panels = MatrixProducts::Panels;
    const auto panels_of = [&](int64_t group) -> Panels {
      return {group * panels_per_group,
              std::min(MatrixProducts::panels_of(a.head), (group + 1) * panels_per_group)};
    };
    const auto multiply_group = [&](int64_t group, unsigned thread, const MatrixProducts::Fetched& next) {
      products_.multiply_panels(head, x, panels_of(group), thread, next);
    };
    for (int64_t row = 0; row < x.n; ++row) {
      const int64_t group = screening_.likeliest_group(row);
      multiply_group(group, 0, {});
      const int64_t end = std::min((group + 1) * screen.group_rows, a.head.rows);
      for (int64_t i = group * screen.group_rows; i < end; ++i)
        screening_.found(row, head.y[row * a.head.rows + i]);
    }
    const std::span<const int64_t> left = screening_.groups_left();
    auto n_left = static_cast<int64_t>(left.size());
    if (2 * n_left > screen.n_groups) {  // then rather all, in order
      n_left = screen.n_groups;
      multiply({&head, 1}, x);
    } else {
      const int64_t n_turns = (n_left + kGroupsPerTurn - 1) / kGroupsPerTurn;
      team_.run(n_turns, [&](int64_t turn, unsigned thread) {
        const int64_t end = std::min(n_left, (turn + 1) * kGroupsPerTurn);
        for (int64_t i = turn * kGroupsPerTurn; i < end; ++i) {
          const auto group_at = [&](int64_t at) { return left[static_cast<size_t>(at)]; };
          const Panels next = i + 1 < end ? panels_of(group_at(i + 1)) : Panels{};
          multiply_group(group_at(i), thread, MatrixProducts::panels_at(a.head, next));
        }
      });
    }
    Weight rows_left = {a.head.dtype, std::min(n_left * screen.group_rows, a.head.rows), a.head.cols,
                        nullptr};
    rows_left.stored_bytes =
        static_cast<size_t>(static_cast<int64_t>(a.head.stored_bytes) / a.head.rows * rows_left.rows);
    metrics::Cost cost_left = cost(a, a.batch);
    const uint64_t read = screen.bytes() + rows_left.read_bytes();
    cost_left.weight_bytes += read - a.head.read_bytes();
    cost_left.flops += product_cost(rows_left, x.n).flops;
    operation().recount(cost_left);
    count({1, 1, a.head.read_bytes(), read});
    screening_.passed(a.head.read_bytes(), read);
  }

  // The products of the same rows, as a line of the profile.
  template <class RowsOf, class Made>
  void multiply(std::span<const Product> products, int64_t n, const RowsOf& rows_of, const Made& made) {
    metrics::Cost cost;
    for (const Product& p : products) cost += product_cost(*p.w, n);
    const Operation operation(*this, "matmul", cost);
    products_.multiply(products, n, rows_of, made);
  }
  void multiply(std::span<const Product> products, const Activations& x) {
    multiply(products, x.n, SameForAll{x}, [](size_t, int64_t, int64_t) {});
  }

  // Room for n rows of the widest matrix, in other forms. Where there is none, the steps up to the end of
  // this forward pass do nothing, and that says so.
  bool reserve(int64_t n) {
    if (status_) status_ = formed_.reserve(n, max_cols_, forms_, *this);
    const int64_t n_own = std::min(n, kSharedRows - 1);
    if (status_) status_ = own_rows_.reserve(team_.n_threads(), n_own, max_cols_, forms_, *this);
    return status_.ok();
  }

  std::string name_;
  const CpuIsa& isa_;
  ScreenedHeads screened_heads_;
  CpuKernels kernels_;
  ThreadTeam team_;
  LargeMemory memory_;  // of weights, keys and values
  WeightPacker packer_{team_, memory_};
  CpuAttention attention_{kernels_, team_, *this};
  MatrixProducts products_{team_, *this};
  int64_t max_cols_ = 0;
  XForms forms_;                // that some product takes
  ActivationBuffer formed_;     // what the products under way multiply: of many rows, and of the head
  ThreadRows own_rows_;         // the same of few rows, and a thread's norms of many
  ActivationBuffer activated_;  // what gate and up come to, made while they still multiply the other
  RowsLeft head_rows_left_, activation_rows_left_;  // of q, k and v; of gate and up
  HeadScreening screening_;
  Status status_;  // of the forward pass under way
};

Result<std::shared_ptr<Backend>> create(std::string name, unsigned n_threads, std::span<const unsigned> cpus,
                                        std::vector<unsigned> nodes, const BackendOptions& options) {
  TRY_ASSIGN(const CpuIsa* isa, chosen_isa());
  return std::shared_ptr<Backend>(std::make_shared<CpuBackend>(std::move(name), *isa, n_threads, cpus,
                                                               std::move(nodes), options.screened_heads));
}

}  // namespace

Result<std::shared_ptr<Backend>> create_simd(const BackendOptions& options) {
  return create("simd", 1, {}, {}, options);
}

Result<std::shared_ptr<Backend>> create_parallel(const BackendOptions& options) {
  const CpuTopology topology = cpu_topology();
  const unsigned chosen = std::max(1u, std::min(topology.cores, topology.threads));
  const unsigned n_threads = options.threads != 0 ? options.threads : chosen;
  const std::span<const unsigned> cpus = topology.cpus;
  const auto used = cpus.first(std::min<size_t>(n_threads, cpus.size()));
  return create("parallel", n_threads, cpus, nodes_of(topology.nodes, used), options);
}

}  // namespace inferno::backend
