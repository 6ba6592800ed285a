#include "bench/peers.h"

#include <nlohmann/json.hpp>

#include "base/subprocess.h"
#include "base/text.h"
#include "bench/report/markdown_table.h"
#include "engine/engine.h"

namespace inferno::bench {
namespace {

// tok/s of one round.
struct Speeds {
  double prompt = 0, generation = 0;
};

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
    comparison.threads = loaded_.model->backend().info().threads;
    std::vector<double> ours_pp, ours_tg, peer_pp, peer_tg, ratio_pp, ratio_tg;
    // The first round of each warms caches and clocks, and does not count.
    for (int round = 0; round <= options_.rounds; ++round) {
      if (on_round_) on_round_(round, options_.rounds, "inferno");
      TRY_ASSIGN(const Speeds ours, run_ours());
      if (on_round_) on_round_(round, options_.rounds, "llama-bench");
      TRY_ASSIGN(const Speeds peer, run_peer(comparison));
      if (round == 0) continue;
      ours_pp.push_back(ours.prompt);
      ours_tg.push_back(ours.generation);
      peer_pp.push_back(peer.prompt);
      peer_tg.push_back(peer.generation);
      ratio_pp.push_back(ours.prompt / peer.prompt);
      ratio_tg.push_back(ours.generation / peer.generation);
    }
    const auto of = [](const std::vector<double>& rounds) { return quartiles(rounds).value_or(Quartiles{}); };
    comparison.rows = {
        {fmt::format("pp{}", options_.prompt_tokens), of(ours_pp), of(peer_pp), of(ratio_pp)},
        {fmt::format("tg{}", options_.generated_tokens), of(ours_tg), of(peer_tg), of(ratio_tg)}};
    return comparison;
  }

 private:
  Result<Speeds> run_ours() {
    TRY_ASSIGN(const engine::Generated prompt, generate(options_.prompt_tokens, 1));
    TRY_ASSIGN(const engine::Generated tokens, generate(1, options_.generated_tokens + 1));
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
    TRY_ASSIGN(const Finished finished,
               run_subprocess(
                   {options_.program, "-m", options_.model_path, "-p", std::to_string(options_.prompt_tokens),
                    "-n", std::to_string(options_.generated_tokens), "-t", std::to_string(comparison.threads),
                    "-r", "1", "-ngl", "0", "-o", "json"},
                   cancelled_));
    if (finished.exit_code != 0) {
      return make_error(ErrorCode::kRuntime, "{}: ended with exit code {}", escaped(options_.program, 4096),
                        finished.exit_code);
    }
    return understand(finished.out, comparison);
  }

  // llama-bench -o json: an array with an object for each test.
  Result<Speeds> understand(const std::string& text, PeerComparison& comparison) const {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    Speeds speeds;
    if (json.is_array()) {
      for (const auto& test : json) {
        if (!test.is_object()) continue;
        const double speed = number(test, "avg_ts");
        if (number(test, "n_gen") == 0) speeds.prompt = speed;
        if (number(test, "n_prompt") == 0) speeds.generation = speed;
        comparison.peer = fmt::format("llama-bench build {} ({})", number(test, "build_number"),
                                      escaped(string(test, "build_commit"), 40));
      }
    }
    if (speeds.prompt > 0 && speeds.generation > 0) return speeds;
    return make_error(ErrorCode::kRuntime,
                      "{}: expected a JSON array with avg_ts of a prompt and of a generation, found \"{}\"",
                      escaped(options_.program, 4096), escaped(text, 80));
  }

  static double number(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
  }
  static std::string string(const nlohmann::json& object, const char* key) {
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

Result<PeerComparison> compare_with_peer(const model::LoadedModel& loaded, const PeerOptions& options,
                                         const OnRound& on_round, const std::atomic<bool>* cancelled,
                                         const Clock& clock) {
  PeerOptions found = options;
  if (options.program.find('/') == std::string::npos) {
    const auto path = find_program(options.program);
    if (!path) {
      return make_error(ErrorCode::kUnavailable,
                        "{} is not on PATH; install llama.cpp, or name the program with --program",
                        escaped(options.program, 4096));
    }
    found.program = *path;
  }
  return Comparer(loaded, found, on_round, cancelled, clock).run();
}

std::string peer_table(const PeerComparison& comparison) {
  using Align = MarkdownTable::Align;
  const auto spread = [](const Quartiles& q) {
    return fmt::format("{} ({}–{})", fixed(q.p50, 1), fixed(q.p25, 1), fixed(q.p75, 1));
  };
  MarkdownTable table({{"test", Align::kLeft}, {"inferno tok/s"}, {"peer tok/s"}, {"ratio"}});
  for (const PeerRow& row : comparison.rows) {
    table.add_row({row.test, spread(row.ours), spread(row.peer),
                   fmt::format("{} ({}–{})", fixed(row.ratio.p50, 2), fixed(row.ratio.p25, 2),
                               fixed(row.ratio.p75, 2))});
  }
  return fmt::format("Medians and quartiles of {} rounds in turn, {} thread{}; peer: {}\n\n{}",
                     comparison.rows.empty() ? 0 : comparison.rows.front().ours.n, comparison.threads,
                     comparison.threads == 1 ? "" : "s", comparison.peer, table.text());
}

}  // namespace inferno::bench
