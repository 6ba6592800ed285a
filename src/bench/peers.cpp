#include "bench/peers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "bench/describe.h"
#include "bench/report/markdown_table.h"
#include "engine/engine.h"

namespace inferno::bench {
namespace {

// llama-bench's own default: more layers than any model has that one GPU holds.
constexpr const char* kAllLayers = "99";

// tok/s of one round.
struct Speeds {
  double prompt = 0, generation = 0;
};

// What each test has to move and compute.
struct Costs {
  metrics::Cost prompt, generation;
};

// Of one program: each round's speeds, and what held beside them.
struct Rounds {
  std::vector<Speeds> speeds;
  std::vector<Limits> limits;

  std::vector<double> of(double Speeds::*test) const {
    std::vector<double> values;
    for (const Speeds& round : speeds) values.push_back(round.*test);
    return values;
  }
};

// tokens: of the test, which took them / tok/s seconds and had to move and compute `cost`.
std::optional<OfCeiling> middle_share(const Rounds& rounds, double Speeds::*test, int64_t tokens,
                                      const metrics::Cost& cost) {
  std::vector<OfCeiling> shares;
  for (size_t i = 0; i < rounds.speeds.size(); ++i) {
    const double seconds = static_cast<double>(tokens) / (rounds.speeds[i].*test);
    if (const auto share = of_ceiling(cost, seconds, rounds.limits[i])) shares.push_back(*share);
  }
  if (shares.empty()) return std::nullopt;
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>((shares.size() - 1) / 2);
  std::nth_element(shares.begin(), middle, shares.end(),
                   [](const OfCeiling& a, const OfCeiling& b) { return a.pct < b.pct; });
  return *middle;
}

PeerRow peer_row(std::string_view name, double Speeds::*test, int64_t tokens, const Rounds& ours,
                 const Rounds& peer, const metrics::Cost& cost) {
  const std::vector<double> our_speeds = ours.of(test), peer_speeds = peer.of(test);
  std::vector<double> ratio;
  for (size_t i = 0; i < our_speeds.size(); ++i) ratio.push_back(our_speeds[i] / peer_speeds[i]);
  return {.test = fmt::format("{}{}", name, tokens),
          .ours = quartiles(our_speeds).value_or(Quartiles{}),
          .peer = quartiles(peer_speeds).value_or(Quartiles{}),
          .ratio = quartiles(ratio).value_or(Quartiles{}),
          .ours_of_ceiling = middle_share(ours, test, tokens, cost),
          .peer_of_ceiling = middle_share(peer, test, tokens, cost)};
}

class Comparer {
 public:
  Comparer(const model::LoadedModel& loaded, const PeerOptions& options, const OnRound& on_round,
           const std::atomic<bool>* cancelled, const Clock& clock)
      : loaded_(loaded),
        options_(options),
        on_round_(on_round),
        cancelled_(cancelled),
        clock_(clock),
        runner_(loaded, {}, {}, cancelled, clock) {}

  Result<PeerComparison> run() {
    PeerComparison comparison;
    const backend::DeviceInfo info = loaded_.model->backend().info();
    comparison.threads = info.threads;
    if (!info.is_cpu()) comparison.device = info.device;
    Rounds ours, peer;
    Costs costs;
    runner_.settle();
    auto before = ceilings_now(costs);
    // What holds beside a run that is over.
    const auto limits_beside = [&] {
      const auto after = ceilings_now(costs);
      return limits(mean(std::exchange(before, after), after), options_.limits);
    };
    // The first round of each warms caches and clocks, and does not count.
    for (int round = 0; round <= options_.rounds; ++round) {
      if (on_round_) on_round_(round, options_.rounds, "inferno");
      TRY_ASSIGN(const Speeds our_speeds, run_ours(costs));
      const Limits ours_beside = limits_beside();
      if (on_round_) on_round_(round, options_.rounds, "llama-bench");
      TRY_ASSIGN(const Speeds peer_speeds, run_peer(comparison));
      const Limits peer_beside = limits_beside();
      if (round == 0) continue;
      ours.speeds.push_back(our_speeds);
      ours.limits.push_back(ours_beside);
      peer.speeds.push_back(peer_speeds);
      peer.limits.push_back(peer_beside);
    }
    comparison.rows = {
        peer_row("pp", &Speeds::prompt, options_.prompt_tokens, ours, peer, costs.prompt),
        peer_row("tg", &Speeds::generation, options_.generated_tokens, ours, peer, costs.generation)};
    return comparison;
  }

 private:
  // Absent as well where they cannot be measured: then those of options_ hold.
  std::optional<backend::CeilingsNow> ceilings_now(const Costs& costs) const {
    if (!options_.measures_ceilings) return std::nullopt;
    const auto n_tokens = static_cast<uint64_t>(std::max<int64_t>(1, options_.generated_tokens));
    const uint64_t token_bytes = costs.generation.bytes() / n_tokens;
    backend::Backend& backend = loaded_.model->backend();
    auto now = backend.measure_ceilings_now(
        arithmetics(backend.info(), name(main_weight_type(loaded_.model->file()))),
        token_bytes > 0 ? token_bytes : loaded_.model->weights().bytes(), cancel_by(cancelled_));
    if (now) return *std::move(now);
    log::event(log::Level::kWarn, "inferno::bench", "ceilings not measured",
               {{"reason", now.error().message}});
    return std::nullopt;
  }

  Result<Speeds> run_ours(Costs& costs) {
    TRY_ASSIGN(const engine::Generated prompt, generate(options_.prompt_tokens, 1));
    TRY_ASSIGN(const engine::Generated tokens, generate(1, options_.generated_tokens + 1));
    // The same bytes for both, whoever keeps them in fewer.
    costs = {prompt.prefill_cost.as_in_file(), tokens.decode_cost.as_in_file()};
    const auto rate = [](int64_t n, std::chrono::nanoseconds time) {
      return static_cast<double>(n) / std::chrono::duration<double>(time).count();
    };
    return Speeds{rate(options_.prompt_tokens, prompt.phases.prefill),
                  rate(options_.generated_tokens, tokens.phases.decode)};
  }

  Result<engine::Generated> generate(int64_t prompt_tokens, int64_t n) {
    engine::Request request;
    TRY_ASSIGN(request.prompt_ids, runner_.prompt_ids(prompt_tokens));
    request.max_new_tokens = n;
    request.ignore_end = true;
    request.kv_type = options_.kv_type;
    engine::Engine engine(*loaded_.model, loaded_.tokenizer, {}, clock_);
    TRY_ASSIGN(const engine::RequestId id, engine.submit(std::move(request), {}, cancel_by(cancelled_)));
    while (engine.has_work()) engine.step();
    Result<engine::Generated> generated = engine.take(id)->generated;
    if (generated && generated->finish_reason == engine::FinishReason::kCancelled) {
      return make_error(ErrorCode::kCancelled, "interrupted");
    }
    return generated;
  }

  Result<Speeds> run_peer(PeerComparison& comparison) {
    std::vector<std::string> command = {options_.program,
                                        "-m",
                                        options_.model_path,
                                        "-p",
                                        std::to_string(options_.prompt_tokens),
                                        "-n",
                                        std::to_string(options_.generated_tokens),
                                        "-t",
                                        std::to_string(comparison.threads),
                                        "-r",
                                        "1",
                                        "-ngl",
                                        comparison.device.empty() ? "0" : kAllLayers,
                                        "-o",
                                        "json"};
    if (!options_.numa.empty()) command.insert(command.end(), {"--numa", options_.numa});
    TRY_ASSIGN(const Finished finished, run_subprocess(command, cancelled_));
    if (finished.exit_code != 0) {
      return make_error(ErrorCode::kRuntime, "{}: ended with exit code {}", escaped(options_.program, 4096),
                        finished.exit_code);
    }
    return understand(finished.out, comparison);
  }

  // llama-bench -o json: an array with an object for each test.
  Result<Speeds> understand(const std::string& text, PeerComparison& comparison) const {
    const auto json = parse_json(text);
    Speeds speeds;
    if (json && json->is_array()) {
      for (const Json& test : *json) {
        if (!test.is_object()) continue;
        const double speed = number(test, "avg_ts");
        if (number(test, "n_gen") == 0) speeds.prompt = speed;
        if (number(test, "n_prompt") == 0) speeds.generation = speed;
        comparison.peer = fmt::format("llama-bench build {} ({})", number(test, "build_number"),
                                      escaped(string(test, "build_commit"), 40));
        // A build without a device takes -ngl without a word. Its name was not always told.
        if (!comparison.device.empty() && test.contains("gpu_info") && string(test, "gpu_info").empty()) {
          return make_error(ErrorCode::kRuntime,
                            "{}: expected a GPU that it computes on, as --backend {} does, found none in its "
                            "gpu_info; name a build with CUDA with --program, or take --backend parallel",
                            escaped(options_.program, 4096), loaded_.model->backend().info().backend);
        }
      }
    }
    if (speeds.prompt > 0 && speeds.generation > 0) return speeds;
    return make_error(ErrorCode::kRuntime,
                      "{}: expected a JSON array with avg_ts of a prompt and of a generation, found \"{}\"",
                      escaped(options_.program, 4096), escaped(text, 80));
  }

  static double number(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
  }
  static std::string string(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  }

  const model::LoadedModel& loaded_;
  const PeerOptions& options_;
  const OnRound& on_round_;
  const std::atomic<bool>* cancelled_;
  const Clock& clock_;
  Runner runner_;
};

}  // namespace

Result<std::string> find_peer(const std::string& program) {
  if (const auto path = find_program(program)) return *path;
  const bool is_path = program.find('/') != std::string::npos;
  return make_error(ErrorCode::kUnavailable, "{}{}", escaped(program, 4096),
                    is_path
                        ? ": expected llama.cpp's llama-bench, found no executable file; --program names it"
                        : " is not on PATH; install llama.cpp, or name the program with --program");
}

Result<PeerComparison> compare_with_peer(const model::LoadedModel& loaded, const PeerOptions& options,
                                         const OnRound& on_round, const std::atomic<bool>* cancelled,
                                         const Clock& clock) {
  PeerOptions found = options;
  TRY_ASSIGN(found.program, find_peer(options.program));
  return Comparer(loaded, found, on_round, cancelled, clock).run();
}

std::string peer_table(const PeerComparison& comparison) {
  using Align = MarkdownTable::Align;
  const auto spread = [](const Quartiles& q) {
    return fmt::format("{} ({}–{})", fixed(q.p50, 1), fixed(q.p25, 1), fixed(q.p75, 1));
  };
  const auto share = [](const std::optional<OfCeiling>& of) {
    return of ? fmt::format("{} %{}", fixed(of->pct, 1), of->partial ? "*" : "") : "—";
  };
  MarkdownTable table({{"test", Align::kLeft},
                       {"inferno tok/s"},
                       {"of ceiling"},
                       {"peer tok/s"},
                       {"of ceiling"},
                       {"ceiling beside inferno", Align::kLeft},
                       {"ratio"}});
  for (const PeerRow& row : comparison.rows) {
    table.add_row({row.test, spread(row.ours), share(row.ours_of_ceiling), spread(row.peer),
                   share(row.peer_of_ceiling), row.ours_of_ceiling ? row.ours_of_ceiling->ceiling : "—",
                   fmt::format("{} ({}–{})", fixed(row.ratio.p50, 2), fixed(row.ratio.p25, 2),
                               fixed(row.ratio.p75, 2))});
  }
  const bool partial = std::any_of(comparison.rows.begin(), comparison.rows.end(), [](const PeerRow& row) {
    return row.ours_of_ceiling && row.ours_of_ceiling->partial;
  });
  return fmt::format(
      "Medians and quartiles of {} rounds in turn, {}; peer: {}{}\n\n{}\nOf ceiling: the shortest time that "
      "the measured peaks allow over the measured time.{}\n",
      comparison.rows.empty() ? 0 : comparison.rows.front().ours.n,
      comparison.device.empty()
          ? fmt::format("{} thread{}", comparison.threads, comparison.threads == 1 ? "" : "s")
          : "on " + escaped(comparison.device, 256),
      comparison.peer,
      comparison.device.empty() ? "" : fmt::format(" with all layers there (-ngl {})", kAllLayers),
      table.text(), partial ? " *: the other ceiling was not measured." : "");
}

}  // namespace inferno::bench
