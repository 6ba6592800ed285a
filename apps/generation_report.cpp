#include "apps/generation_report.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "apps/measured_ceilings.h"
#include "apps/output.h"
#include "apps/signals.h"
#include "apps/table.h"
#include "base/text.h"
#include "bench/describe.h"
#include "engine/context.h"
#include "quantize/file_type.h"

namespace inferno::apps {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

double milliseconds(metrics::Metrics::Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

using Row = metrics::Metrics::Row;

std::string threads_text(unsigned n) {
  return n == 1 ? "one thread" : fmt::format("{} threads", n);
}

// Of the first pass, which reads the whole prompt.
std::optional<double> prompt_tokens_per_second(const GenerationRun& run) {
  const auto ms = run.metrics.time_to_first_token_ms();
  if (!ms || *ms <= 0) return std::nullopt;
  return 1e3 * static_cast<double>(run.request.prompt_ids.size()) / *ms;
}

std::string prompt_speed_text(const GenerationRun& run) {
  const auto speed = prompt_tokens_per_second(run);
  const size_t n = run.request.prompt_ids.size();
  return speed ? fmt::format("{:.3f} ({} token{})", *speed, n, n == 1 ? "" : "s") : "—";
}

// "Q4_K_M" where the file says that it is such a mix, and most of its weights are of its type.
std::string_view weights_name(const gguf::File& file) {
  const DType most = bench::main_weight_type(file);
  const Result<std::optional<uint32_t>> id = file.meta_optional<uint32_t>("general.file_type");
  for (const quantize::FileType& type : quantize::file_types()) {
    if (id.ok() && *id == type.id && type.dtype == most) return type.name;
  }
  return name(most);
}

std::vector<Row> rows_of_what_ran(const GenerationRun& run) {
  const model::Model& model = *run.loaded.model;
  const backend::DeviceInfo info = run.loaded.model->backend().info();
  std::vector<Row> rows = {
      {"model", fmt::format("{}, {}, {}", for_terminal(model.file().path()), weights_name(model.file()),
                            human_bytes(model.weights().bytes()))},
      {"backend", info.is_cpu()
                      ? fmt::format("{}, {}, {}", info.backend, info.isa, threads_text(info.threads))
                      : fmt::format("{}, {}, {}", info.backend, for_terminal(info.device), info.isa)},
      {"load_ms", fmt::format("{:.3f}", run.load_ms)}};
  if (const auto& cache = run.loaded.repack_cache) {
    rows.push_back({"repack_cache", fmt::format("{}, {} {}", human_bytes(cache->bytes),
                                                cache->was_written ? "written to" : "mapped from",
                                                for_terminal(cache->path))});
  }
  return rows;
}

// Up to four lines, each short enough for a terminal.
std::string bandwidth_text(const std::optional<Bandwidth>& bandwidth) {
  if (!bandwidth) return "—";
  std::string text =
      fmt::format("{}, read at {:.3f} GB/s", human_bytes(static_cast<uint64_t>(bandwidth->bytes_per_token)),
                  bandwidth->gb_per_s);
  if (const auto peak = bandwidth->peak_gb_per_s) {
    const std::string& device = bandwidth->device;
    text += fmt::format(":\n{:.1f} % of the {:.1f} GB/s that {}", 100.0 * bandwidth->gb_per_s / *peak, *peak,
                        device.empty() ? threads_text(bandwidth->threads) + " can read from memory"
                                       : for_terminal(device) + " can read from its memory");
    if (bandwidth->gb_per_s > *peak) text += ",\nso the caches hold much of it";
    if (!bandwidth->steady)
      text += device.empty() ? "\n(measured on a busy machine; anew: inferno ceilings --fresh)"
                             : "\n(measured while the device was busy; each run measures it anew)";
  }
  return text;
}

// Further lines begin below the first.
std::string indented(const std::string& text, size_t columns) {
  std::string result;
  for (const char c : text) result += c == '\n' ? "\n" + std::string(columns, ' ') : std::string(1, c);
  return result;
}

// Of tokens guessed ahead (--speculative).
std::string guesses_text(const engine::Generated& generated) {
  const engine::Guesses& g = generated.guesses;
  return fmt::format(
      "{} of {} came, {:.2f} tokens a pass", g.accepted, g.drafted,
      static_cast<double>(generated.ids.size()) / static_cast<double>(generated.ids.size() - g.accepted));
}

// What the screen of the LM head has saved.
std::string head_screen_text(const metrics::HeadScreenUse& use) {
  return fmt::format("in {} of {} passes, {:.1f} % of the head's bytes read", use.screened, use.passes,
                     100 * use.read_share());
}

// Of a device's ceilings that of reading alone: for the others a library may have to be loaded.
Result<backend::Ceilings> read_ceilings(backend::Backend& backend) {
  if (backend.info().is_cpu()) return measured_ceilings(backend);
  TRY_ASSIGN(const backend::CeilingsNow now, backend.measure_ceilings_now({}, 0, signal_came));
  backend::Ceilings ceilings;
  ceilings.read_gb_per_s = {now.read_gb_per_s};
  if (now.read_gb_per_s > 0) ceilings.steadiness = now.typical_read_gb_per_s / now.read_gb_per_s;
  return ceilings;
}

}  // namespace

std::optional<Bandwidth> measure_bandwidth(backend::Backend& backend, const engine::Generated& generated,
                                           const metrics::Metrics& metrics) {
  const auto& passes = metrics.per_forward();
  if (passes.size() < 2) return std::nullopt;
  double decode_ns = 0;
  for (size_t i = 1; i < passes.size(); ++i) decode_ns += static_cast<double>(passes[i].count());
  const auto bytes = static_cast<double>(generated.decode_cost.bytes());
  const backend::DeviceInfo info = backend.info();
  Bandwidth bandwidth{.bytes_per_token = bytes / static_cast<double>(passes.size() - 1),
                      .gb_per_s = decode_ns > 0 ? bytes / decode_ns : 0.0,
                      .peak_gb_per_s = std::nullopt,
                      .threads = info.threads,
                      .device = info.is_cpu() ? "" : info.device,
                      .steady = true};
  if (generated.finish_reason == engine::FinishReason::kCancelled) return bandwidth;
  if (const auto ceilings = read_ceilings(backend)) {
    const double peak = ceilings->read(info.threads);
    if (peak > 0) bandwidth.peak_gb_per_s = peak;
    // Of more threads than processors there is no figure.
    const auto measured = static_cast<unsigned>(ceilings->read_gb_per_s.size());
    bandwidth.threads = std::min(bandwidth.threads, std::max(1u, measured));
    bandwidth.steady = ceilings->steady();
  } else if (ceilings.error().code != ErrorCode::kCancelled) {
    warn(ceilings.error().message);
  }
  return bandwidth;
}

std::string interrupted_text(const engine::Generated& generated) {
  const size_t n = generated.ids.size();
  return fmt::format("interrupted after {} token{}", n, n == 1 ? "" : "s");
}

void warn_of_small_context(const model::LoadedModel& loaded, const engine::Request& request) {
  const int64_t room = engine::room_after_prompt(*loaded.model, request.prompt_ids.size());
  // A prompt that leaves none is refused by the engine.
  if (room == 0 || request.max_new_tokens <= room) return;
  warn(fmt::format(
      "{} tokens may come, but the model's context of {} leaves room for {} after the prompt: the text ends "
      "there at the latest",
      request.max_new_tokens, loaded.model->config().context_length, room));
}

void warn_of_full_context(const model::LoadedModel& loaded, const engine::Generated& generated) {
  if (generated.finish_reason != engine::FinishReason::kContext) return;
  warn(fmt::format("the text ends here because prompt and text fill the model's context of {} tokens",
                   loaded.model->config().context_length));
}

std::string metrics_block(const GenerationRun& run, bool with_passes) {
  std::vector<Row> rows = rows_of_what_ran(run);
  rows.push_back({"prompt_tokens_per_second", prompt_speed_text(run)});
  for (Row& row : run.metrics.rows(with_passes)) rows.push_back(std::move(row));
  rows.push_back({"bytes_per_token", bandwidth_text(run.bandwidth)});
  if (run.generated.guesses.drafted > 0) rows.push_back({"guessed_tokens", guesses_text(run.generated)});
  if (run.generated.head_screen.passes > 0)
    rows.push_back({"head_screen", head_screen_text(run.generated.head_screen)});
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string text = "metrics:\n";
  for (const Row& row : rows)
    text += fmt::format(" {} {}\n", padded(row.name + ":", width + 1, Align::kLeft),
                        indented(row.value, width + 3));
  return text;
}

Json metrics_json(const GenerationRun& run) {
  const metrics::Metrics& metrics = run.metrics;
  const std::optional<Bandwidth>& bandwidth = run.bandwidth;
  Json json;
  json["load_ms"] = run.load_ms;
  json["time_to_first_token_ms"] = or_null(metrics.time_to_first_token_ms());
  json["prompt_tokens_per_second"] = or_null(prompt_tokens_per_second(run));
  json["decode_tokens_per_second"] = or_null(metrics.decode_tokens_per_second());
  json["per_forward_ms"] = Json::array();
  for (const auto pass : metrics.per_forward()) json["per_forward_ms"].push_back(milliseconds(pass));
  const auto field = [&](double Bandwidth::*member) {
    return bandwidth ? Json((*bandwidth).*member) : Json(nullptr);
  };
  json["bytes_per_token"] = field(&Bandwidth::bytes_per_token);
  json["decode_gb_per_s"] = field(&Bandwidth::gb_per_s);
  const std::optional<double> peak = bandwidth ? bandwidth->peak_gb_per_s : std::nullopt;
  json["read_peak_gb_per_s"] = or_null(peak);
  json["decode_pct_of_peak"] =
      or_null(peak ? std::optional(100.0 * bandwidth->gb_per_s / *peak) : std::nullopt);
  return json;
}

Json serving_json(const metrics::ServingMetrics& serving) {
  Json json = {{"n_requests", serving.n_requests()},
               {"n_cancelled", serving.n_cancelled()},
               {"n_failed", serving.n_failed()},
               {"new_tokens", serving.new_tokens()},
               {"ttps", or_null(serving.ttps())}};
  for (const auto& row : serving.rows()) {
    auto& field = json[std::string(row.name)];
    if (const auto& v = row.values) {
      field = {{"n", v->n},     {"mean", v->mean}, {"min", v->min}, {"p50", v->p50},
               {"p95", v->p95}, {"p99", v->p99},   {"max", v->max}};
    }
  }
  return json;
}

Json repack_cache_json(const model::LoadedModel& loaded) {
  if (!loaded.repack_cache) return nullptr;
  return {{"path", loaded.repack_cache->path},
          {"bytes", loaded.repack_cache->bytes},
          {"was_written", loaded.repack_cache->was_written}};
}

Json guesses_json(const engine::Guesses& guesses) {
  return {{"drafted", guesses.drafted}, {"accepted", guesses.accepted}};
}

Json head_screen_json(const metrics::HeadScreenUse& use) {
  return {{"passes", use.passes},
          {"screened", use.screened},
          {"head_bytes", use.head_bytes},
          {"read_bytes", use.read_bytes}};
}

Json phases_json(const engine::Generated& generated) {
  const auto seconds = [](auto duration) { return metrics::Seconds(duration).count(); };
  const metrics::Phases& p = generated.phases;
  const double all = seconds(p.prefill + p.decode + p.sampling + p.detokenization);
  const auto latency = generated.timeline.e2el();
  return {{"prefill_s", seconds(p.prefill)},
          {"decode_s", seconds(p.decode)},
          {"sampling_s", seconds(p.sampling)},
          {"detokenization_s", seconds(p.detokenization)},
          {"other_s", latency ? Json(latency->count() - all) : nullptr}};
}

}  // namespace inferno::apps
