// Our speed beside that of llama-bench on the same file, in the same window: rounds of one run each, in turn,
// so that what the machine does meanwhile happens to both.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/figures.h"
#include "bench/runner.h"
#include "model/load.h"

namespace inferno::bench {

struct PeerOptions {
  std::string program = "llama-bench";  // a path, or a name on PATH
  std::string model_path;               // the .gguf that both read
  int64_t prompt_tokens = 512;
  int64_t generated_tokens = 128;
  int rounds = 5;
  DType kv_type = DType::kF16;  // of ours; the peer's default is F16
  std::string numa;             // the peer's --numa; empty: its default
  Limits limits;                // with our threads and this model's weights; they hold for both
  // Before and after each run besides, for what can be measured so quickly: virtual machines change from
  // second to second.
  bool measures_ceilings = false;
};

// One test as llama-bench names it ("pp512": tokens of a prompt a second; "tg128": tokens made a second after
// an empty context, sampling not counted).
struct PeerRow {
  std::string test;
  Quartiles ours, peer;  // tok/s over the rounds
  Quartiles ratio;       // ours / peer, round by round
  // Of the round with the median share, each with the ceiling beside its run. The model is the same, so both
  // have the same bytes to move and operations to do, those that our backend counted. nullopt where no
  // ceiling is known.
  std::optional<OfCeiling> ours_of_ceiling, peer_of_ceiling;
};

struct PeerComparison {
  std::string peer;  // "llama-bench build 6123 (1a2b3c4)"
  unsigned threads = 1;
  std::string device;  // where both compute if not on the CPU, the peer with all layers; else empty
  std::vector<PeerRow> rows;
};

using OnRound = std::function<void(int round, int n_rounds, std::string_view who)>;

// The path of llama-bench: `program` itself when it is a path. kUnavailable when there is no executable at
// it, or none of that name on PATH.
Result<std::string> find_peer(const std::string& program);

// Where our backend is a device's, the peer is to compute every layer on one as well. Errors: those of
// find_peer(); kRuntime when the program fails, says what we do not understand, or has no such device.
Result<PeerComparison> compare_with_peer(const model::LoadedModel& loaded, const PeerOptions& options,
                                         const OnRound& on_round = {},
                                         const std::atomic<bool>* cancelled = nullptr,
                                         const Clock& clock = steady_clock());

std::string peer_table(const PeerComparison& comparison);

}  // namespace inferno::bench
