// Backend: the only door between model and hardware. It owns memory, supplies the primitives that every
// device must have, and the steps of a decoder layer, each with a default composed of primitives (steps.cpp)
// that a device overrides when it can fuse it; the composed version stays its oracle.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/args.h"
#include "base/cancel.h"
#include "base/result.h"
#include "metrics/profile.h"
#include "tensor/tensor.h"

namespace inferno::backend {

struct DeviceInfo {
  std::string backend;   // as --backend names it
  std::string device;    // "CPU", or the name of a device that has memory of its own: "NVIDIA H200"
  std::string isa;       // what the kernels are compiled for
  unsigned threads = 1;  // of the host that compute; 1 where a device does
  DType activation_dtype = DType::kF32;  // of x, q, k, v … and of the logits
  std::string runtime_version = {};      // of what drives the device: "13.0"; empty on the CPU

  bool is_cpu() const { return device == "CPU"; }
};

// Bytes that this process has allocated on a device: now, and at most since reset_peak_allocated_memory().
struct AllocatedMemory {
  uint64_t now = 0;
  uint64_t peak = 0;
};

// What the machine can do at best, measured on the spot.
struct Ceilings {
  // Multiply-adds count as two operations.
  struct Peak {
    // "fp32", "bf16", "fp16": fused multiply-adds; "int8": dot products, summed in int32; "int8_in_int16": of
    // such whose products are small, where the best ISA sums them faster in int16. Of a GPU "bf16" alone,
    // which its matrix units sum in float32.
    std::string arithmetic;
    std::string isa;  // "avx512_vnni"
    unsigned threads = 1;
    double gops = 0;  // 10^9 operations a second
  };
  // Reading memory that no cache holds: GB/s with 1, 2, … threads; empty where it could not be measured.
  std::vector<double> read_gb_per_s;
  std::vector<Peak> peaks;
  // Copying from one place of a device's memory to another, what is read and what is written counted; 0: not
  // measured, as on the CPU.
  double copy_gb_per_s = 0;
  double clock_ghz = 0;     // of a busy core, from a chain of dependent additions
  std::string measured_at;  // UTC, ISO 8601: "2026-01-31T12:00:00Z"
  bool cached = false;      // taken from what an earlier run since the machine's start has measured
  // Each figure is that of the shortest of many windows. This is how near the median window came to it: the
  // shortest / the median, the least of all figures'. Far below 1 the machine was busy with something else.
  double steadiness = 1;

  bool steady() const { return steadiness >= 0.9; }
  // With `threads` threads, or as many as were measured; 0 when none was.
  double read(unsigned threads) const;
  // The best ISA's; 0 when there is none for that arithmetic.
  double peak(std::string_view arithmetic, unsigned threads) const;
};

// The same at one moment: some machines, virtual ones above all, change from second to second.
struct CeilingsNow {
  double read_gb_per_s = 0;  // 0: could not be measured
  double gops = 0;           // 0: nothing here computes in such an arithmetic
  std::string arithmetic;    // "int8": the fastest of those asked for
  double fp32_gops = 0;      // 0: was not asked for
  // The same of the middle one of the windows that were timed, where the above are of the best one: what a
  // machine that others use as well gives most of the time. 0: not known.
  double typical_read_gb_per_s = 0, typical_gops = 0, typical_fp32_gops = 0;
};

class RepackCache;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceInfo info() const = 0;

  // Memory of the device. Errors: kResource with the size that was asked for.
  virtual Result<Buffer> alloc(size_t bytes) = 0;
  // The same for what is written bit by bit, as keys and values are: so many bytes of it before long.
  virtual Result<Buffer> alloc_growing(size_t bytes, size_t soon);
  // Bytes that can still be taken of it; nullopt where nobody knows.
  virtual std::optional<uint64_t> available_memory() const;
  // What of it is allocated; nullopt where it is the host's, which the process itself is asked for
  // (base/memory.h).
  virtual std::optional<AllocatedMemory> allocated_memory() const { return std::nullopt; }
  virtual void reset_peak_allocated_memory() {}
  virtual Status upload(void* device, const void* host, size_t bytes) = 0;
  virtual Status download(void* host, const void* device, size_t bytes) = 0;
  // Memory of the device as the host reads it; nullptr where it has to be downloaded.
  virtual const void* host_view(const void*) const { return nullptr; }
  // Takes a tensor into the backend's own layout.
  virtual Result<Weight> load_weight(const WeightSource& source, WeightUse use) = 0;
  // As load_weight, with a copy of an earlier run where `cache` has one under the tensor's name, and noting
  // the copy there where it has none.
  virtual Result<Weight> load_weight_cached(const WeightSource& source, WeightUse use, std::string_view name,
                                            RepackCache& cache);
  // What such copies are good for: they lie in the same way where this is the same. Empty: there are none.
  virtual std::string weight_layout() const { return ""; }
  // Whether load_weight makes copies that are read instead of most tensors: then the memory that holds their
  // data may go for now, but the data must stay there to be read.
  virtual bool copies_weights() const { return false; }
  // Does at once, for up to so long, what it would do beside the work that follows: weights are moved into
  // huge pages. For whoever times that work, or has nothing else to do. Returns whether that was all.
  virtual bool settle(std::chrono::milliseconds) { return true; }
  // Calls fn(0) … fn(n - 1), each once, on the threads of the host that it computes with, or on the caller's
  // alone. One caller at a time; not from inside fn.
  virtual void run_on_host(int64_t n, const std::function<void(int64_t)>& fn);
  // A block of a KV cache holds a multiple of as many positions; their layout in it is the backend's own.
  virtual int64_t kv_block_multiple() const { return 1; }

  // Takes some seconds, during which nothing else should run, where no earlier run since the machine's
  // start has left the figures (backend/ceilings.h). kCancelled soon after `cancelled` says so.
  virtual Result<Ceilings> measure_ceilings(const CancelFn& cancelled) = 0;
  // Whether it would take those seconds now.
  virtual bool ceilings_take_seconds() const = 0;
  // Those of this backend's threads, of the fastest of these arithmetics ("int8") and of memory of which
  // pass_bytes are read in each pass, measured now, in a second or two.
  virtual Result<CeilingsNow> measure_ceilings_now(std::span<const std::string_view> arithmetics,
                                                   uint64_t pass_bytes, const CancelFn& cancelled) = 0;

  // A forward pass: begin_forward gives the batch as the device sees it; between the two, primitives and
  // steps run in order, possibly asynchronously; errors surface in end_forward.
  BatchView begin_forward(const BatchView& host_batch);
  Status end_forward();

  // Primitives.
  void embed(const EmbedArgs& args);
  void matmul(const MatmulArgs& args);
  void rms_norm(const RmsNormArgs& args);
  void rope_table(const RopeTableArgs& args);
  void rope(const RopeArgs& args);
  void kv_append(const KvAppendArgs& args);
  void attention(const AttentionArgs& args);
  void add(const AddArgs& args);
  void act_mul(const ActMulArgs& args);
  void gather_rows(const GatherRowsArgs& args);
  void argmax(const ArgmaxArgs& args);

  // Steps of a decoder layer.
  void qkv_step(const QkvArgs& args);  // norm, q k v, qk-norm, rope, append to the cache
  void attention_step(const AttentionArgs& args);
  void out_proj_step(const OutProjArgs& args);  // projection, post-norm, residual
  void mlp_step(const MlpArgs& args);           // norm, gate and up, activation, down, post-norm, residual
  void lm_head_step(const LmHeadArgs& args);    // rows asked for, norm, head, highest logits if asked for

  // Least bytes and operations of everything since the last reset_counters().
  const metrics::Cost& counters() const { return counters_; }
  const metrics::HeadScreenUse& head_screen_use() const { return head_screen_use_; }
  void reset_counters() {
    counters_ = {};
    head_screen_use_ = {};
  }
  // Whether there is a screen for this head: see ScreenedHeads.
  virtual bool has_screen(const Weight&) const { return false; }
  // Of the screen that load_weight makes for this head; 0 for none, and for one that is left out where
  // memory is short.
  virtual uint64_t screen_bytes(const Tensor&) const { return 0; }

  // Times every operation while on; costs two clock readings each. With telemetry on, an operation that is no
  // part of another is a span of its name too.
  void set_profiling(bool on) { profiling_ = on; }
  // Whether timing operations makes the host wait for each of them, so that what is timed with it on runs
  // slower than without.
  virtual bool profiling_waits() const { return false; }
  metrics::Profile& profile() { return profile_; }

 protected:
  virtual BatchView do_begin_forward(const BatchView& host_batch) = 0;
  virtual Status do_end_forward() = 0;

  virtual void do_embed(const EmbedArgs& args) = 0;
  virtual void do_matmul(const MatmulArgs& args) = 0;
  virtual void do_rms_norm(const RmsNormArgs& args) = 0;
  virtual void do_rope_table(const RopeTableArgs& args) = 0;
  virtual void do_rope(const RopeArgs& args) = 0;
  virtual void do_kv_append(const KvAppendArgs& args) = 0;
  virtual void do_attention(const AttentionArgs& args) = 0;
  virtual void do_add(const AddArgs& args) = 0;
  virtual void do_act_mul(const ActMulArgs& args) = 0;
  virtual void do_gather_rows(const GatherRowsArgs& args) = 0;
  virtual void do_argmax(const ArgmaxArgs& args) = 0;

  virtual void do_qkv_step(const QkvArgs& args);
  virtual void do_attention_step(const AttentionArgs& args);
  virtual void do_out_proj_step(const OutProjArgs& args);
  virtual void do_mlp_step(const MlpArgs& args);
  virtual void do_lm_head_step(const LmHeadArgs& args);

  // An operation, from here to the end of its scope: counted and a span of telemetry if it is not part of
  // another one, in the profile if there is one. A step that is fused opens one for what is worth a line of
  // its own in the profile.
  class Operation {
   public:
    Operation(Backend& backend, const char* name, const metrics::Cost& cost);
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    // Where it turns out while it runs that it costs something else.
    void recount(const metrics::Cost& cost);

   private:
    Backend& backend_;
    Operation* outer_;
    const char* name_;
    metrics::Cost cost_;
    bool profiled_;
    bool traced_;
    std::chrono::steady_clock::time_point profile_start_;
    int64_t trace_start_ = 0;
  };

  // Whether operations are timed: then one that has returned has to have been computed, too.
  bool profiling() const { return profiling_; }
  // The one that began last of those that go on.
  Operation& operation() { return *operation_; }
  // A forward pass whose head has a screen and is asked for the highest logits alone.
  void count(const metrics::HeadScreenUse& use) { head_screen_use_ += use; }

 private:
  BatchView host_batch_;
  metrics::Cost counters_;
  metrics::HeadScreenUse head_screen_use_;
  metrics::Profile profile_;
  bool profiling_ = false;
  Operation* operation_ = nullptr;
};

// Which LM heads have a screen: upper bits or a coarse copy of their weights, which tell which rows cannot
// have the highest logit, so that they are not read where nothing else is wanted (LmHeadArgs::highest_only);
// backend/cpu/head_screen.h. The highest logit and where it stands are the same, bit for bit.
enum class ScreenedHeads : uint8_t {
  kNone,
  // From 16 MiB on, where it is small beside the head (Q8_0 and Q6_K in planes, floating point by a copy);
  // used if it is faster.
  kLarge,
  kAll,  // any size, and Q8_0 and Q6_K by a copy where there are no planes; used as long as it reads less
};

struct BackendOptions {
  unsigned threads = 0;  // of `parallel`; 0: a thread for each core that this process may use
  ScreenedHeads screened_heads = ScreenedHeads::kLarge;
};

// --backend: scalar | simd | parallel | cuda | metal | auto. An unknown name is kInvalidArgument with the
// list; a known one that is not here is kUnavailable with the reason.
Result<std::shared_ptr<Backend>> create_backend(std::string_view name, const BackendOptions& options = {});
std::vector<std::string_view> backend_names();

}  // namespace inferno::backend
