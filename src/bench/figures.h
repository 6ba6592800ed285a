// What follows from the measurements of one configuration: medians, rates, shares, and how near they come to
// what the machine can do at best.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/result.h"
#include "metrics/stats.h"

namespace inferno::bench {

// Of one figure over the trials.
struct Quartiles {
  double p25 = 0, p50 = 0, p75 = 0;
  size_t n = 0;
};
// nullopt of an empty sample.
std::optional<Quartiles> quartiles(std::span<const double> sample);

// The ceilings that hold for a setting: its threads, the arithmetic of its weights. Absent: not measured.
struct Limits {
  std::optional<double> read_gb_per_s;
  std::optional<double> gops;       // 10^9 operations a second
  std::string arithmetic;           // "int8"; empty without gops
  std::optional<double> fp32_gops;  // what attention is computed in
};
// What the ceilings call the arithmetic that weights of a type can be computed in. On a CPU: fp32 for all,
// besides bf16 or fp16 for weights of that type, besides int8 for quantized ones, and int8_in_int16 for all
// of those but Q8_0, IQ4_NL and IQ4_XS, whose numbers take all of a byte. On a GPU, whose matrix units take
// activations as they are, but in 16 bits: fp32 for F32, bf16 for all others; those units have one peak for
// BF16 and F16, and quantized weights become one of these on the way.
std::vector<std::string_view> arithmetics(const backend::DeviceInfo& device, std::string_view dtype);
// With the fastest of these that was measured, and as many threads as the device has.
Limits limits(const backend::Ceilings& ceilings, const backend::DeviceInfo& device, std::string_view dtype);
Limits limits(const Setting& setting);
// What was measured beside a trial, else `setting`.
Limits limits(const std::optional<backend::CeilingsNow>& now, Limits setting);
Limits limits(const Trial& trial, const Limits& setting);
// Of what was measured before it and after it, as far as it was.
std::optional<backend::CeilingsNow> mean(const std::optional<backend::CeilingsNow>& before,
                                         const std::optional<backend::CeilingsNow>& after);
// What the machine gave most of the time beside a trial.
Limits typical_limits(const Trial& trial);

enum class Bound { kMemory, kArithmetic };
std::string_view name(Bound bound);  // "memory", "arithmetic"

// A measured time against the shortest possible: the longer of bytes / read bandwidth and operations / peak;
// those of attention at the peak of fp32.
struct OfCeiling {
  double pct = 0;  // 100 * shortest / measured
  Bound bound = Bound::kMemory;
  std::string ceiling;   // "41.2 GB/s read", "180.3 G int8/s"
  bool partial = false;  // the other ceiling is not known, so the true floor may be higher
  // The same of what the machine gave in the middle one of the windows, not in the best: it may pass 100.
  // Absent unless both limits were measured beside each trial.
  std::optional<double> pct_of_typical;
};
// nullopt where no limit is known, or no time was measured.
std::optional<OfCeiling> of_ceiling(const metrics::Cost& cost, double measured_s, const Limits& limits);

// The forward passes of one phase: medians over trials.
struct PhaseFigures {
  double ms = 0;
  double gb_per_s = 0, gflop_per_s = 0;
  double flops_per_byte = 0;
  std::optional<OfCeiling> of_ceiling;
};

// Means over trials of what part of the wall time each took; they sum to 1.
struct Shares {
  double prefill = 0, decode = 0, sampling = 0, detokenization = 0, other = 0;
};

// Where the time of a prompt goes, of Trial::prompt_parts: medians over the trials that have them.
struct PromptFigures {
  struct Part {
    double share = 0;  // of the time of all parts, 0 to 1
    // Operations a second, of the arithmetic peak in %: of what the best and of what the middle one of the
    // windows beside a trial gave. Attention is held against fp32 whatever it is computed in, and may pass
    // 100 where that is tiles. Absent where that peak was not measured; the second, as in OfCeiling.
    std::optional<double> pct, pct_of_typical;
  };
  Part matrices, attention;
  double rest = 0;  // a share
};

struct Figures {
  int64_t generated_tokens = 0;  // of each trial
  Quartiles wall_s;
  Quartiles ttft_ms;
  Quartiles prompt_tps;  // prompt tokens / time of the prefill's forward pass
  Quartiles e2e_tps;     // generated tokens / wall: sampling and detokenization included

  // Decode, by three definitions. Absent when one token was generated.
  // The time counted is that of the steps, from one token leaving the sampler to the next: forward pass,
  // sampling and detokenization. The tokens counted are those that it made, generated - 1.
  std::optional<Quartiles> decode_tps;
  // The same tokens by the time of the forward passes alone.
  std::optional<Quartiles> decode_forward_tps;
  // As the seed project has it: all generated tokens, the first included, by the time of the forward passes
  // alone. Higher than what a user sees.
  std::optional<Quartiles> decode_seed_tps;

  std::optional<metrics::Summary> step_ms;  // over all steps of all trials
  std::optional<double> stalled;            // stalled_share(), the median over trials
  Shares shares;
  std::optional<PhaseFigures> prefill, decode;
  // Decode against the ceiling of engines that read for each token all bytes that the file has of the
  // weights; absent where no part of the LM head was left unread and nothing is kept in fewer bytes.
  std::optional<OfCeiling> decode_of_all_bytes;
  std::optional<PromptFigures> prompt_parts;
  Limits limits;               // the medians of what held for the trials
  double bytes_per_token = 0;  // counted by the backend, mean over decode passes; 0 without any
};

// Of the time of a trial's steps, the share in which it stood still: what steps of more than twice the middle
// one's time took beyond it. Of an engine alone on its processors that is near 0. A host may take processors
// away without its guest's system counting it (Trial::stolen); this shows it. nullopt of fewer than eight
// steps, or of none that took time.
std::optional<double> stalled_share(const Trial& trial);

// The trials that generated as many tokens as the last one, in their order: a row that was cut may begin with
// longer ones, and figures of different lengths do not mix.
std::vector<Trial> trials_of_one_length(const ConfigResult& result);

// Of trials_of_one_length(); nullopt without trials.
std::optional<Figures> figures(const ConfigResult& result, const Setting& setting);

}  // namespace inferno::bench
