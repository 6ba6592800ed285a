#include "bench/runner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/describe.h"
#include "bench/figures.h"
#include "bench/places.h"
#include "engine/engine.h"
#include "metrics/stats.h"
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

// Of what is left of --max-seconds, so that runs of one length may differ a little.
constexpr double kPlannedShare = 0.97;
// Of --max-seconds, for measuring ceilings at most where not all runs fit beside them: the time is asked for
// to run.
constexpr double kCeilingsShare = 0.25;

// For settling, and of --max-seconds at most.
constexpr double kSettling_s = 10;
constexpr double kSettlingShare = 0.05;

// "0.033", "1.4", "140": what matters, and never an exponent.
std::string short_seconds(double s) {
  return s < 10 ? fmt::format("{:.2g}", s) : fmt::format("{:.0f}", s);
}

std::chrono::nanoseconds to_ns(metrics::Seconds seconds) {
  return std::chrono::round<std::chrono::nanoseconds>(seconds);
}

// Times the operations of a prompt's passes, from here to stop() or to its end. That costs two clock readings
// an operation; a backend that would wait for each besides is left alone. Nobody else profiles it meanwhile.
class PromptProfile {
 public:
  explicit PromptProfile(backend::Backend& backend) : backend_(backend), is_on_(!backend.profiling_waits()) {
    if (!is_on_) return;
    backend_.profile().clear();
    backend_.set_profiling(true);
  }
  ~PromptProfile() { stop(); }
  PromptProfile(const PromptProfile&) = delete;
  PromptProfile& operator=(const PromptProfile&) = delete;

  void stop() {
    if (is_on_) backend_.set_profiling(false);
  }
  // After stop().
  std::optional<PromptParts> parts() const {
    if (!is_on_) return std::nullopt;
    const metrics::Profile& profile = backend_.profile();
    const metrics::Profile::Row matrices = profile.total("matmul");
    const Nanoseconds attention = profile.total("attention_step").time;
    return PromptParts{.matrices = matrices.time,
                       .attention = attention,
                       .rest = profile.total_time() - matrices.time - attention,
                       .matrix_flops = matrices.cost.flops};
  }

 private:
  backend::Backend& backend_;
  bool is_on_;
};

int n_trials(const ConfigResult& result) {
  return static_cast<int>(result.trials.size());
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
  trial.head_screen = generated.head_screen;
  return trial;
}

double stolen(const Trial& trial) {
  return trial.stolen.value_or(0);
}

bool is_disturbed(const Trial& trial) {
  return stolen(trial) > kDisturbed || was_moved(trial);
}

// The last readings of a line's trip: before and after both measurements of the ceilings beside a trial.
class LineTripReadings {
 public:
  void add(std::optional<Nanoseconds> reading) {
    std::rotate(last_.begin(), last_.begin() + 1, last_.end());
    last_.back() = reading;
  }
  std::optional<Trial::LineTrips> range() const {
    std::optional<Trial::LineTrips> range;
    for (const auto& reading : last_) {
      if (!reading) continue;
      if (!range) range = {*reading, *reading};
      range = {std::min(range->shortest, *reading), std::max(range->longest, *reading)};
    }
    return range;
  }

 private:
  std::array<std::optional<Nanoseconds>, 4> last_;
};

// As many as asked for, in the order in which they ran.
void keep_least_disturbed(ConfigResult& result, int asked) {
  const auto disturbance = [](const Trial& trial) { return std::pair(is_disturbed(trial), stolen(trial)); };
  while (n_trials(result) > asked) {
    const auto most =
        std::max_element(result.trials.begin(), result.trials.end(),
                         [&](const Trial& a, const Trial& b) { return disturbance(a) < disturbance(b); });
    result.trials.erase(most);
    ++result.disturbed_trials;
  }
}

// What greedy decoding left unread of the LM head, or nothing.
std::string unread_head(const ConfigResult& result) {
  metrics::HeadScreenUse use;
  for (const Trial& trial : result.trials) use += trial.head_screen;
  if (use.screened == 0) return "";
  return fmt::format("of the LM head {:.0f} % of the bytes were read, all with --no-head-screen",
                     100 * use.read_share());
}

// What the host did to the trials, for other guests' sake, or nothing.
std::string disturbance(const ConfigResult& result) {
  std::vector<std::string> notes;
  if (result.disturbed_trials > 0) {
    notes.push_back(fmt::format(
        "{} more {} run, since the host gave processor time to others (steal) or moved processors during "
        "some; the {} least disturbed are used",
        result.disturbed_trials, result.disturbed_trials == 1 ? "trial was" : "trials were",
        n_trials(result)));
  }
  const auto n_moved = std::count_if(result.trials.begin(), result.trials.end(), was_moved);
  if (n_moved > 0) {
    notes.push_back(
        fmt::format("during {} of the trials used the host moved processors nearer or apart, so "
                    "that their ceilings may not be those beside them",
                    n_moved));
  }
  double most = 0;
  for (const Trial& trial : result.trials) most = std::max(most, stolen(trial));
  if (most > kDisturbed)
    notes.push_back(
        fmt::format("of the trials used the host took up to {:.0f} % of the processors' time", 100 * most));
  return join(notes, "; ");
}

// Whether decode stood still for a part of its time that the figures show, or nothing. The trials stay as
// they are: those whose own times were long must not be the ones left out.
std::string stall(const ConfigResult& result) {
  std::vector<double> shares, steps_ms;
  for (const Trial& trial : result.trials) {
    if (const auto share = stalled_share(trial)) shares.push_back(*share);
    for (const Nanoseconds step : trial.steps) steps_ms.push_back(1e3 * seconds(step));
  }
  const double share = metrics::percentile(shares, 0.5).value_or(0);
  if (share <= kStalled) return "";
  const metrics::Summary steps = *metrics::summarize(steps_ms);
  return fmt::format(
      "decode stood still for {:.0f} % of its time (a step took {:.3f} ms in the middle, {:.3f} ms at most): "
      "something else held the processors",
      100 * share, steps.p50, steps.max);
}

}  // namespace

Runner::Runner(const model::LoadedModel& loaded, RunOptions options, OnProgress on_progress,
               const std::atomic<bool>* cancelled, const Clock& clock)
    : loaded_(loaded),
      options_(std::move(options)),
      on_progress_(std::move(on_progress)),
      cancelled_(cancelled),
      clock_(clock),
      pace_(options_.use_kv_cache),
      pass_bytes_(loaded.model->weights().bytes()) {}

double Runner::elapsed() const {
  return std::chrono::duration<double>(clock_.now() - begin_).count();
}

bool Runner::is_cancelled() const {
  return cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed);
}

double Runner::end() const {
  return options_.max_seconds.value_or(kForever);
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
  pace_ = Pace(options_.use_kv_cache);
  progress_ = {};
  progress_.n_configs = configs.size();
  const int64_t context = loaded_.model->config().context_length;
  // The last token is never fed back.
  const auto needed = [](const Config& config) { return config.prompt_tokens + config.max_new_tokens - 1; };
  std::vector<Config> runnable;
  for (const Config& config : configs) {
    if (needed(config) <= context) runnable.push_back(config);
  }
  std::span<const Config> rest = runnable;
  std::vector<ConfigResult> results;
  for (const Config& config : configs) {
    if (is_cancelled()) break;
    progress_.config = results.size();
    progress_.key = config.key;
    ConfigResult& result = results.emplace_back();
    result.config = config;
    result.prompt_tokens = config.prompt_tokens;
    result.max_new_tokens = config.max_new_tokens;
    if (needed(config) > context) {
      result.note = fmt::format("not run: the model's context has {} positions, {} are needed", context,
                                needed(config));
      continue;
    }
    run_row({rest, elapsed()}, result);
    rest = rest.subspan(1);
  }
  return results;
}

RowPlan Runner::plan(const Row& row) const {
  if (!options_.max_seconds || !pace_.known()) {
    return {.budget_s = kForever,
            .warmup_runs = options_.warmup_runs,
            .trials = options_.trials,
            .run_s = kForever};
  }
  const double ceilings_s = static_cast<double>(row.rest.size()) * n_ceilings(row) * ceilings_s_;
  const double left = kPlannedShare * (end() - row.begin_s) - ceilings_s;
  return plan_row(pace_, row.rest, left, options_.warmup_runs, options_.trials);
}

// Of each row, with --max-seconds: before and after each trial, or as many as their share of the time allows
// where not all runs have time beside them.
int Runner::n_ceilings(const Row& row) const {
  if (!options_.measures_ceilings) return 0;
  const int all = options_.trials + 1;
  if (pace_.known()) {
    const double ceilings_s = static_cast<double>(row.rest.size()) * all * ceilings_s_;
    const double left = kPlannedShare * (end() - row.begin_s) - ceilings_s;
    const RowPlan plan = plan_row(pace_, row.rest, left, options_.warmup_runs, options_.trials);
    if (plan.is_whole) return all;
  }
  const double share_s = kCeilingsShare * (end() - row.begin_s) / static_cast<double>(row.rest.size());
  return static_cast<int>(std::clamp(std::floor(share_s / ceilings_s_), 0.0, static_cast<double>(all)));
}

void Runner::run_row(const Row& row, ConfigResult& result) {
  const bool was_ours = peak_is_ours_;
  reset_peak_memory();
  peak_is_ours_ = peak_is_ours_ || was_ours;
  row_ceilings_s_ = 0;
  row_n_ceilings_ = 0;
  result.peak_host_bytes = 0;
  if (const RowPlan plan = this->plan(row); !plan.fits) {
    result.note = fmt::format(
        "not run: its prompt of {} and {} new tokens take about {} s at the speed so far, {} s of "
        "--max-seconds are left for it",
        result.prompt_tokens, std::min(result.max_new_tokens, kLeastNewTokens), short_seconds(plan.least_s),
        short_seconds(std::max(plan.left_s, 0.0)));
  } else if (const Status ran = run_trials(row, result); !ran) {
    result.note = fmt::format("failed: {}", ran.error().message);
  } else {
    keep_least_disturbed(result, options_.trials);
    add_note(result);
  }
  const int64_t positions = result.prompt_tokens + result.max_new_tokens;
  result.cache_bytes = cache_bytes(loaded_.model->kv_config(options_.kv_type, 1, positions), positions);
  note_peak_memory(result);
}

void Runner::reset_peak_memory() {
  peak_is_ours_ = reset_peak_resident_memory();
  loaded_.model->backend().reset_peak_allocated_memory();
}

void Runner::note_peak_memory(ConfigResult& result) {
  if (peak_is_ours_)
    result.peak_host_bytes = std::max(result.peak_host_bytes, peak_resident_memory().value_or(0));
  if (const auto allocated = loaded_.model->backend().allocated_memory()) {
    result.peak_gpu_bytes = std::max(result.peak_gpu_bytes.value_or(0), allocated->peak);
    result.end_gpu_bytes = allocated->now;
  }
}

// Absent as well where they cannot be measured, which is no reason to lose what was timed. The memory that is
// read for them is not counted among the run's.
std::optional<backend::CeilingsNow> Runner::ceilings_now(const Row& row, ConfigResult& result) {
  const bool has_time =
      !options_.max_seconds || (row_n_ceilings_ < n_ceilings(row) && elapsed() + ceilings_s_ <= end());
  if (!options_.measures_ceilings || is_cancelled() || !has_time) return std::nullopt;
  note_peak_memory(result);
  const double begin = elapsed();
  backend::Backend& backend = loaded_.model->backend();
  const std::vector<std::string_view> of =
      arithmetics(backend.info(), name(main_weight_type(loaded_.model->file())));
  const Result<backend::CeilingsNow> now =
      backend.measure_ceilings_now(of, pass_bytes_, cancel_by(cancelled_));
  reset_peak_memory();
  ceilings_s_ = elapsed() - begin;
  row_ceilings_s_ += ceilings_s_;
  ++row_n_ceilings_;
  if (now) return *now;
  log::event(log::Level::kWarn, "inferno::bench", "ceilings not measured", {{"reason", now.error().message}});
  return std::nullopt;
}

void Runner::settle() {
  const double most = options_.max_seconds ? kSettlingShare * *options_.max_seconds : kSettling_s;
  const int slices = is_settled_ ? 0 : static_cast<int>(std::min(most, kSettling_s) * 10);
  is_settled_ = true;
  for (int i = 0; i < slices && !is_cancelled(); ++i) {
    if (loaded_.model->backend().settle(std::chrono::milliseconds(100))) return;
  }
}

Status Runner::run_trials(const Row& row, ConfigResult& result) {
  TRY_ASSIGN(const std::vector<int32_t> ids, prompt_ids(result.prompt_tokens));
  engine::Engine engine(*loaded_.model, loaded_.tokenizer, {}, clock_);
  settle();
  std::optional<backend::CeilingsNow> before;
  LineTripReadings line_trips;
  const auto read_line_trip = [&] {
    if (options_.line_trip) line_trips.add(options_.line_trip(loaded_.model->backend().info().threads));
  };
  while (!has_enough_trials(result) && !is_cancelled()) {
    const RowPlan plan = this->plan(row);
    const bool is_first = result.trials.empty();
    if (!is_first && !has_time_again(row, plan, result.trials.front())) break;
    progress_.warmup = is_first && result.warmup_runs < plan.warmup_runs;
    progress_.run = progress_.warmup ? result.warmup_runs : n_trials(result);
    progress_.n_runs = progress_.warmup ? plan.warmup_runs : std::max(options_.trials, n_trials(result) + 1);
    if (!progress_.warmup) {
      if (is_first) read_line_trip();
      if (!before) before = ceilings_now(row, result);
      if (is_first) read_line_trip();
    }
    const auto stolen = options_.stolen_time ? options_.stolen_time() : std::nullopt;
    TRY_ASSIGN(std::optional<Trial> trial, run_once(engine, row, ids, result));
    if (!trial) break;
    trial->stolen = stolen_share(stolen, *trial);
    if (!progress_.warmup) read_line_trip();
    // A first run may have shown that there is no time to warm up: it is a trial then.
    if (progress_.warmup && result.warmup_runs < this->plan(row).warmup_runs) {
      ++result.warmup_runs;
    } else if (is_first || trial->generated_tokens == result.max_new_tokens) {
      result.cut = result.cut || trial->generated_tokens < result.max_new_tokens;
      result.max_new_tokens = trial->generated_tokens;
      const auto after = ceilings_now(row, result);
      trial->ceilings = mean(before, after);
      before = after;
      read_line_trip();
      trial->line_trips = line_trips.range();
      result.trials.push_back(std::move(*trial));
    } else {
      break;
    }
  }
  return {};
}

// What is taken is counted in steps of 10 ms: one of them says nothing of a short trial.
std::optional<double> Runner::stolen_share(std::optional<Nanoseconds> before, const Trial& trial) const {
  constexpr Nanoseconds kStep = std::chrono::milliseconds(10);
  const auto after = options_.stolen_time ? options_.stolen_time() : std::nullopt;
  if (!before || !after || trial.wall <= Nanoseconds(0)) return std::nullopt;
  const double threads = loaded_.model->backend().info().threads;
  return std::clamp(seconds(*after - *before - kStep) / (seconds(trial.wall) * threads), 0.0, 1.0);
}

bool Runner::has_enough_trials(const ConfigResult& result) const {
  if (n_trials(result) < options_.trials) return false;
  if ((!options_.stolen_time && !options_.line_trip) || options_.max_seconds) return true;
  const auto disturbed = std::count_if(result.trials.begin(), result.trials.end(), is_disturbed);
  return n_trials(result) - disturbed >= options_.trials || n_trials(result) >= 2 * options_.trials;
}

bool Runner::has_time_again(const Row& row, const RowPlan& plan, const Trial& first) const {
  const double wanted = seconds(first.wall);
  return elapsed() + wanted <= std::min(end(), row.begin_s + row_ceilings_s_ + plan.budget_s + 0.1 * wanted);
}

void Runner::add_note(ConfigResult& result) const {
  std::vector<std::string> notes;
  if (result.cut) {
    notes.push_back(fmt::format("cut by --max-seconds at {} of {} new tokens", result.max_new_tokens,
                                result.config.max_new_tokens));
  }
  std::vector<std::string> fewer;
  const auto count = [&](int n, int asked, std::string_view what) {
    if (n < asked) fewer.push_back(fmt::format("{} of {} {}", n, asked, what));
  };
  count(n_trials(result), options_.trials, "trials");
  count(result.warmup_runs, options_.warmup_runs, "warm-up runs");
  if (options_.measures_ceilings && options_.max_seconds)
    count(row_n_ceilings_, n_trials(result) + 1, "measurements of the machine's ceilings");
  if (is_cancelled()) {
    notes.push_back("interrupted");
  } else if (result.trials.empty()) {
    notes.push_back("not run: --max-seconds was over before its first token");
  } else if (!fewer.empty()) {
    notes.push_back(fmt::format("--max-seconds left time for {}", join(fewer, " and ")));
  }
  if (const std::string unread = unread_head(result); !unread.empty()) notes.push_back(unread);
  if (const std::string disturbed = disturbance(result); !disturbed.empty()) notes.push_back(disturbed);
  if (const std::string stalled = stall(result); !stalled.empty()) notes.push_back(stalled);
  result.note = join(notes, "; ");
}

engine::Request Runner::request(const Config& config, const std::vector<int32_t>& ids,
                                int64_t max_new_tokens) const {
  engine::Request request;
  request.prompt_ids = ids;
  request.max_new_tokens = max_new_tokens;
  request.sampling = config.sampling;
  request.ignore_end = true;  // a row's length is the config's, whatever the model says
  request.use_kv_cache = options_.use_kv_cache;
  request.kv_type = options_.kv_type;
  return request;
}

Result<std::optional<Trial>> Runner::run_once(engine::Engine& engine, const Row& row,
                                              const std::vector<int32_t>& ids, const ConfigResult& result) {
  const double begin = elapsed();
  double first_token = begin;
  progress_.tokens = 0;
  progress_.max_new_tokens = result.max_new_tokens;
  bool is_over = false;
  // Within a pass only the prompt's is given up: a token under way is finished, so that no time is lost in
  // it.
  const auto cancelled = [&] {
    return is_over || is_cancelled() || (options_.max_seconds && progress_.tokens == 0 && elapsed() > end());
  };
  TRY_ASSIGN(const engine::RequestId id, engine.submit(
                                             request(row.rest.front(), ids, result.max_new_tokens),
                                             [](std::string_view) { return true; }, cancelled));
  PromptProfile profile(loaded_.model->backend());
  while (engine.has_work()) {
    engine.step();
    progress_.tokens = static_cast<int64_t>(engine.n_generated(id));
    if (progress_.tokens > 0) profile.stop();
    progress_.elapsed_s = elapsed();
    report_progress(row, begin);
    if (progress_.tokens == 0) continue;
    if (progress_.tokens == 1) first_token = progress_.elapsed_s;
    pace_.observe(result.prompt_tokens, first_token - begin, progress_.tokens - 1,
                  progress_.elapsed_s - first_token);
    is_over = options_.max_seconds && progress_.elapsed_s > token_deadline(row, begin, result);
  }
  engine::Outcome outcome = *engine.take(id);
  if (!outcome.generated) return outcome.generated.error();
  if (is_cancelled() || outcome.generated->ids.empty()) return std::optional<Trial>();
  Trial trial = to_trial(*outcome.generated);
  trial.prompt_parts = profile.parts();
  if (!trial.steps.empty()) pass_bytes_ = trial.decode_cost.bytes() / trial.steps.size();
  return std::optional<Trial>(std::move(trial));
}

double Runner::token_deadline(const Row& row, double begin, const ConfigResult& result) const {
  if (!result.trials.empty()) return end();  // as long as the first trial
  const double step = pace_.step_s(result.prompt_tokens + progress_.tokens);
  return std::min(end(), begin + plan(row).run_s) - step;
}

void Runner::report_progress(const Row& row, double begin) {
  if (!on_progress_) return;
  const auto run_s = [&](const Config& config) {
    return pace_.run_s(config.prompt_tokens, config.max_new_tokens);
  };
  if (pace_.known()) {
    const Config& config = row.rest.front();
    const double this_run = pace_.run_s(config.prompt_tokens, progress_.max_new_tokens);
    const int runs = progress_.n_runs - progress_.run - 1 + (progress_.warmup ? options_.trials : 0);
    double left = runs * this_run + std::max(0.0, begin + this_run - progress_.elapsed_s);
    for (const Config& later : row.rest.subspan(1)) {
      left += (options_.warmup_runs + options_.trials) * run_s(later);
    }
    progress_.left_s = std::min(left, std::max(0.0, end() - progress_.elapsed_s));
  }
  on_progress_(progress_);
}

uint64_t cache_bytes(const kv::Config& config, int64_t tokens) {
  return kv::bytes_per_position(config) * static_cast<uint64_t>(tokens);
}

}  // namespace inferno::bench
