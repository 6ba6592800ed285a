#include "bench/ladder.h"

#include <algorithm>

#include "bench/describe.h"
#include "bench/figures.h"
#include "model/expand.h"

namespace inferno::bench {
namespace {

struct Rung {
  const char* name;
  std::vector<std::string> backends;  // the first that is here
  bool expanded;                      // on F32 weights
  bool use_kv_cache;
  bool is_for_f32;  // of an F32 model there is this rung, too
};

const std::vector<Rung>& rungs() {
  static const std::vector<Rung> all = {
      {"scalar", {"scalar"}, true, false, true},
      {"KV cache", {"scalar"}, true, true, true},
      {"SIMD", {"simd"}, true, true, true},
      {"threads", {"parallel"}, true, true, true},
      {"quantized", {"parallel", "simd", "scalar"}, false, true, false},
      {"GPU", {"cuda"}, false, true, true},
  };
  return all;
}

Result<std::shared_ptr<backend::Backend>> first_of(const std::vector<std::string>& names) {
  Result<std::shared_ptr<backend::Backend>> backend = backend::create_backend(names.front());
  for (size_t i = 1; i < names.size() && !backend; ++i) backend = backend::create_backend(names[i]);
  return backend;
}

double milliseconds(Nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// Of the trial with the median wall time.
std::vector<double> per_token_ms(std::vector<Trial> trials) {
  const auto middle = trials.begin() + static_cast<std::ptrdiff_t>(trials.size() / 2);
  std::nth_element(trials.begin(), middle, trials.end(),
                   [](const Trial& a, const Trial& b) { return a.wall < b.wall; });
  std::vector<double> series = {milliseconds(middle->prefill)};
  for (const Nanoseconds step : middle->steps) series.push_back(milliseconds(step));
  return series;
}

void fill(LadderRow& row, const ConfigResult& result, const Setting& setting) {
  const std::optional<Figures> f = figures(result, setting);
  if (!f) {
    row.absent = result.note;
    return;
  }
  row.ttft_ms = f->ttft_ms.p50;
  row.decode_tps = f->decode_tps ? f->decode_tps->p50 : 0;
  row.bytes_per_token = f->bytes_per_token;
  row.note = result.note;
  row.generated_tokens = f->generated_tokens;
  row.per_token_ms = per_token_ms(trials_of_one_length(result));
  if (f->decode && f->decode->of_ceiling) {
    row.bound = name(f->decode->of_ceiling->bound);
    row.pct_of_ceiling = f->decode->of_ceiling->pct;
  }
}

class Climb {
 public:
  Climb(const gguf::File& file, const LadderOptions& options, const OnLadderProgress& on_progress,
        const std::atomic<bool>* cancelled, const Clock& clock)
      : file_(file), options_(options), on_progress_(on_progress), cancelled_(cancelled), clock_(clock) {}

  Result<Ladder> run() {
    const auto begin = clock_.now();
    config_.key = config_.report_name = "ladder";
    config_.prompt_tokens = options_.prompt_tokens;
    config_.max_new_tokens = options_.max_new_tokens;
    TRY_ASSIGN(expanded_, model::expand_to_f32(file_, {.cancelled = cancel_by(cancelled_)}));
    for (size_t i = 0; i < rungs().size(); ++i) {
      if (cancelled_ != nullptr && cancelled_->load()) break;
      RunOptions run = options_.run;
      if (run.max_seconds) {
        const double spent = std::chrono::duration<double>(clock_.now() - begin).count();
        run.max_seconds = std::max(1e-9, (*run.max_seconds - spent) / n_left(i));
      }
      Result<LadderRow> row = climb(i, run);
      if (!row && row.error().code == ErrorCode::kCancelled && !ladder_.rows.empty()) break;
      if (!row) return row.error();
      ladder_.rows.push_back(*std::move(row));
    }
    return std::move(ladder_);
  }

 private:
  // Rungs from i on that can be climbed here, at least 1.
  static double n_left(size_t i) {
    double n = 0;
    for (; i < rungs().size(); ++i) n += first_of(rungs()[i].backends) ? 1 : 0;
    return std::max(n, 1.0);
  }

  Result<LadderRow> climb(size_t i, RunOptions run) {
    const Rung& rung = rungs()[i];
    const gguf::File& file = rung.expanded ? expanded_ : file_;
    run.use_kv_cache = rung.use_kv_cache;
    LadderRow row;
    row.name = rung.name;
    row.dtype = name(main_weight_type(file));
    row.kv = rung.use_kv_cache ? name(run.kv_type) : "none";
    row.backend = rung.backends.front();
    auto backend = first_of(rung.backends);
    if (!backend) {
      row.absent = backend.error().message;
      return row;
    }
    if (!rung.is_for_f32 && main_weight_type(file_) == DType::kF32) {
      row.absent = "the model's weights are F32 already";
      return row;
    }
    row.backend = (*backend)->info().backend;
    const Status ran = run_on(*std::move(backend), i, file, run, row);
    if (ran) return row;
    // That a device has no memory for the model, say, is no reason to lose the rungs below.
    if (row.device.empty() || ran.error().code == ErrorCode::kCancelled) return ran.error();
    row.absent = ran.error().message;
    return row;
  }

  // The rung on this backend, which is loaded for it.
  Status run_on(std::shared_ptr<backend::Backend> backend, size_t i, const gguf::File& file,
                const RunOptions& run, LadderRow& row) {
    const backend::DeviceInfo info = backend->info();
    if (!info.is_cpu()) row.device = info.device;
    model::LoadOptions load;
    load.tensor_check = model::TensorCheck::kNone;
    load.cancelled = cancel_by(cancelled_);
    TRY_ASSIGN(const model::LoadedModel loaded,
               model::load_from_gguf(gguf::File(file), std::move(backend), load));
    RunOptions described = run;
    described.max_seconds = options_.run.max_seconds;  // of all rungs: what is measured serves them all
    TRY_ASSIGN(const Setting setting,
               describe(loaded, described, options_.model_path, "ladder", 42, cancel_by(cancelled_)));
    note(setting);
    Runner runner(
        loaded, run,
        [&](const Progress& progress) {
          if (on_progress_) on_progress_(rungs()[i].name, i, rungs().size(), progress);
        },
        cancelled_, clock_);
    TRY_ASSIGN(const std::vector<ConfigResult> results, runner.run({config_}));
    if (results.empty()) {
      row.absent = "interrupted";
    } else {
      fill(row, results.front(), setting);
    }
    return {};
  }

  void note(const Setting& setting) {
    ladder_.model = setting.model;
    if (setting.device.is_cpu()) ladder_.device_name = setting.device_name;
    ladder_.threads = std::max(ladder_.threads, setting.device.threads);
    ladder_.prompt_tokens = config_.prompt_tokens;
    ladder_.generated_tokens = config_.max_new_tokens;
    ladder_.timestamp = setting.timestamp;
    ladder_.git_revision = setting.git_revision;
  }

  const gguf::File& file_;
  gguf::File expanded_;
  const LadderOptions& options_;
  const OnLadderProgress& on_progress_;
  const std::atomic<bool>* cancelled_;
  const Clock& clock_;
  Config config_;
  Ladder ladder_;
};

}  // namespace

Result<Ladder> climb(const gguf::File& file, const LadderOptions& options,
                     const OnLadderProgress& on_progress, const std::atomic<bool>* cancelled,
                     const Clock& clock) {
  return Climb(file, options, on_progress, cancelled, clock).run();
}

}  // namespace inferno::bench
