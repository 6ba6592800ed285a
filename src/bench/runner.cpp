#include "bench/runner.h"

#include <algorithm>
#include <limits>

#include "base/memory.h"
#include "engine/engine.h"
#include "metrics/timeline.h"

namespace inferno::bench {
namespace {

// Repeated to the length that a config asks for.
constexpr std::string_view kPassage =
    "The lighthouse keeper had counted ships for forty years. Each evening he climbed the stairs, lit the "
    "lamp, "
    "and wrote three numbers into a thick green book: the wind, the tide, and how many sails he had seen. "
    "Nobody had ever asked him to. One winter a storm took the lamp, and that night the keeper read aloud "
    "from "
    "the book, number by number, through the old brass horn, until every captain knew where the rocks were. ";

// Reading a prompt token takes a fraction of making a new one, once prefill is batched.
constexpr double kPromptTokenWork = 0.25;

double work(const Config& config) {
  return kPromptTokenWork * static_cast<double>(config.prompt_tokens) +
         static_cast<double>(config.max_new_tokens);
}

std::chrono::nanoseconds to_ns(metrics::Seconds seconds) {
  return std::chrono::round<std::chrono::nanoseconds>(seconds);
}

// The clock's readings as a trial; what no phase claims is `other`.
Trial to_trial(const engine::Generated& generated) {
  const metrics::Timeline& timeline = generated.timeline;
  const metrics::Phases& phases = generated.phases;
  Trial trial;
  trial.wall = *timeline.finished - *timeline.enqueued;
  trial.prefill = phases.prefill;
  trial.decode = phases.decode;
  trial.sampling = phases.sampling;
  trial.detokenization = phases.detokenization;
  trial.other = trial.wall - phases.prefill - phases.decode - phases.sampling - phases.detokenization;
  trial.ttft = to_ns(*timeline.ttft());
  for (const metrics::Seconds gap : timeline.itl()) trial.steps.push_back(to_ns(gap));
  trial.generated_tokens = static_cast<int64_t>(generated.ids.size());
  trial.prefill_cost = generated.prefill_cost;
  trial.decode_cost = generated.decode_cost;
  return trial;
}

}  // namespace

Runner::Runner(const model::LoadedModel& loaded, RunOptions options, OnProgress on_progress,
               const std::atomic<bool>* cancelled, const Clock& clock)
    : loaded_(loaded),
      options_(std::move(options)),
      on_progress_(std::move(on_progress)),
      cancelled_(cancelled),
      clock_(clock) {}

double Runner::elapsed() const {
  return std::chrono::duration<double>(clock_.now() - begin_).count();
}

bool Runner::is_cancelled() const {
  return cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed);
}

Result<std::vector<int32_t>> Runner::prompt_ids(int64_t n) const {
  TRY_ASSIGN(std::vector<int32_t> ids,
             loaded_.tokenizer->encode(options_.prompt.value_or(std::string(kPassage))));
  if (ids.empty()) return make_error(ErrorCode::kInvalidArgument, "--prompt: expected text, found none");
  const size_t unit = ids.size();
  while (ids.size() < static_cast<size_t>(n)) ids.push_back(ids[ids.size() % unit]);
  ids.resize(static_cast<size_t>(n));
  return ids;
}

Result<std::vector<ConfigResult>> Runner::run(const std::vector<Config>& configs) {
  TRY(prompt_ids(1));
  begin_ = clock_.now();
  progress_ = {};
  progress_.n_configs = configs.size();
  done_work_ = total_work_ = 0;
  for (const Config& config : configs) total_work_ += work(config) * (options_.warmup_runs + options_.trials);
  std::vector<ConfigResult> results;
  for (size_t i = 0; i < configs.size() && !is_cancelled(); ++i) {
    // What is left of the time, shared equally among the configs that are left.
    const double left = options_.max_seconds ? *options_.max_seconds - elapsed() : kForever;
    results.push_back(run_config(configs[i], i, left / static_cast<double>(configs.size() - i)));
  }
  return results;
}

ConfigResult Runner::run_config(const Config& config, size_t index, double budget) {
  progress_.config = index;
  progress_.key = config.key;
  ConfigResult result;
  result.config = config;
  result.prompt_tokens = config.prompt_tokens;
  result.max_new_tokens = config.max_new_tokens;
  const int64_t context = loaded_.model->config().context_length;
  // The last token is never fed back.
  const int64_t needed = config.prompt_tokens + config.max_new_tokens - 1;
  if (needed > context) {
    result.note =
        fmt::format("not run: the model's context has {} positions, {} are needed", context, needed);
    total_work_ -= work(config) * (options_.warmup_runs + options_.trials);
    return result;
  }
  reset_peak_resident_memory();
  if (const Status ran = run_trials(config, budget, result); !ran) {
    result.note = fmt::format("failed: {}", ran.error().message);
  }
  const int64_t positions = result.prompt_tokens + result.max_new_tokens;
  result.cache_bytes = cache_bytes(loaded_.model->kv_config(options_.kv_type, 1, positions), positions);
  result.peak_host_bytes = peak_resident_memory().value_or(0);
  return result;
}

Status Runner::run_trials(const Config& config, double budget, ConfigResult& result) {
  TRY_ASSIGN(const std::vector<int32_t> ids, prompt_ids(config.prompt_tokens));
  const double end = elapsed() + budget;
  const int n_runs = options_.warmup_runs + options_.trials;
  for (int run = 0; run < n_runs && !is_cancelled(); ++run) {
    progress_.warmup = run < options_.warmup_runs;
    progress_.run = progress_.warmup ? run : run - options_.warmup_runs;
    progress_.n_runs = progress_.warmup ? options_.warmup_runs : options_.trials;
    const double now = elapsed();
    const bool is_first = result.trials.empty();
    // The trials of a row are of one length: the first decides, the others run if there is time for nearly as
    // much (it has taken a little more than its share).
    const double share = (end - now) / (n_runs - run);
    const double wanted = is_first ? 0 : std::chrono::duration<double>(result.trials.front().wall).count();
    if (share <= 0 || now + 0.9 * wanted > end) break;
    Deadlines deadlines;
    if (is_first) deadlines = {progress_.warmup ? now + share : end, now + share};
    TRY_ASSIGN(const std::optional<Trial> trial, run_once(config, ids, result.max_new_tokens, deadlines));
    done_work_ += work(config);
    if (progress_.warmup) {
      result.warmup_runs += trial ? 1 : 0;
      if (!trial) run = options_.warmup_runs - 1;  // too slow to be warmed up: on to the trials
    } else if (trial) {
      add_trial(*trial, result);
    } else {
      break;
    }
  }
  add_note(result, budget);
  return {};
}

void Runner::add_trial(const Trial& trial, ConfigResult& result) const {
  result.cut = result.cut || trial.generated_tokens < result.max_new_tokens;
  result.max_new_tokens = trial.generated_tokens;
  result.trials.push_back(trial);
}

void Runner::add_note(ConfigResult& result, double budget) const {
  std::vector<std::string> notes;
  if (result.cut) {
    notes.push_back(fmt::format("cut by --max-seconds at {} of {} new tokens", result.max_new_tokens,
                                result.config.max_new_tokens));
  }
  const auto n = static_cast<int>(result.trials.size());
  if (is_cancelled()) {
    notes.push_back("interrupted");
  } else if (n == 0) {
    notes.push_back(
        fmt::format("not run: its share of --max-seconds, {:.1f} s, was over before the first token",
                    std::max(budget, 0.0)));
  } else if (n < options_.trials) {
    notes.push_back(fmt::format("{} of {} trials: --max-seconds was over", n, options_.trials));
  }
  result.note = fmt::format("{}", fmt::join(notes, "; "));
}

Result<std::optional<Trial>> Runner::run_once(const Config& config, const std::vector<int32_t>& ids,
                                              int64_t max_new_tokens, Deadlines deadlines) {
  engine::Request request;
  request.prompt_ids = ids;
  request.max_new_tokens = max_new_tokens;
  request.sampling = config.sampling;
  request.ignore_end = true;  // a row's length is the config's, whatever the model says
  request.use_kv_cache = options_.use_kv_cache;
  request.kv_type = options_.kv_type;

  progress_.tokens = 0;
  progress_.max_new_tokens = max_new_tokens;
  bool is_over = false;
  // Within a pass only the prompt's is given up: a token under way is finished, so that no time is lost in
  // it.
  const auto cancelled = [&] {
    return is_over || is_cancelled() ||
           (deadlines.prompt < kForever && progress_.tokens == 0 && elapsed() > deadlines.prompt);
  };
  engine::Engine engine(*loaded_.model, loaded_.tokenizer, {}, clock_);
  TRY_ASSIGN(const engine::RequestId id,
             engine.submit(
                 std::move(request), [](std::string_view) { return true; }, cancelled));
  while (engine.has_work()) {
    engine.step();
    progress_.tokens = static_cast<int64_t>(engine.n_generated(id));
    report_progress();
    is_over = progress_.elapsed_s > deadlines.tokens && progress_.tokens > 0;
  }
  engine::Outcome outcome = *engine.take(id);
  if (!outcome.generated) return outcome.generated.error();
  if (is_cancelled() || outcome.generated->ids.empty()) return std::optional<Trial>();
  return std::optional<Trial>(to_trial(*outcome.generated));
}

void Runner::report_progress() {
  progress_.elapsed_s = elapsed();
  const double done = done_work_ + static_cast<double>(progress_.tokens);
  if (done_work_ > 0) progress_.left_s = progress_.elapsed_s / done * std::max(0.0, total_work_ - done);
  if (progress_.left_s && options_.max_seconds) {
    progress_.left_s =
        std::min(*progress_.left_s, std::max(0.0, *options_.max_seconds - progress_.elapsed_s));
  }
  if (on_progress_) on_progress_(progress_);
}

uint64_t cache_bytes(const kv::Config& config, int64_t tokens) {
  return kv::bytes_per_position(config) * static_cast<uint64_t>(tokens);
}

}  // namespace inferno::bench
