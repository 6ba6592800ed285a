// inferno bench speculation: what guessing ahead, and the screen of the LM head, gain on texts of several
// kinds.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/generation_report.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "apps/table.h"
#include "apps/text_input.h"
#include "apps/validators.h"
#include "base/json.h"
#include "base/text.h"
#include "bench/speculation.h"

namespace inferno::apps {
namespace {

struct BenchSpeculationOptions {
  std::string model_path;
  std::vector<std::string> texts;
  std::string tokenizer_path;  // empty: the model's own
  bool json = false;
  ModelOptions model;
  bench::SpeculationOptions replay;
};

struct Row {
  std::string text;
  bench::SpeculationReplay replay;
};

// Runs of the same work differ by some percent: the ratio of two of them says nothing.
constexpr int64_t kLeastTrials = 3;

std::string gain_text(double gain, int64_t trials) {
  return trials < kLeastTrials ? "—" : fmt::format("{:.2f}x", gain);
}

std::string as_table(const std::vector<Row>& rows, int64_t trials) {
  std::vector<Align> columns(7, Align::kRight);
  std::vector<std::string> titles = {"text",        "guessed",        "came", "tokens a pass",
                                     "plain tok/s", "guessing tok/s", "gain"};
  const bool has_screen = rows.front().replay.screened.has_value();
  if (has_screen) {
    titles.insert(titles.end(), {"head read", "screened tok/s", "gain"});
    columns.insert(columns.end(), 3, Align::kRight);
  }
  columns.front() = Align::kLeft;
  Table table(columns);
  table.add_row(titles);
  for (const Row& row : rows) {
    const bench::SpeculationReplay& r = row.replay;
    const auto n = static_cast<double>(r.new_tokens);
    std::vector<std::string> cells = {row.text,
                                      group_digits(r.guesses.drafted),
                                      group_digits(r.guesses.accepted),
                                      fmt::format("{:.2f}", n / static_cast<double>(r.n_passes)),
                                      fmt::format("{:.1f}", n / r.plain_s),
                                      fmt::format("{:.1f}", n / r.speculative_s),
                                      gain_text(r.gain(), trials)};
    if (r.screened) {
      cells.push_back(fmt::format("{:.1f} %", 100 * r.screened->use.read_share()));
      cells.push_back(fmt::format("{:.1f}", n / r.screened->s));
      cells.push_back(gain_text(r.plain_s / r.screened->s, trials));
    }
    table.add_row(cells);
  }
  std::string text;
  for (const std::string& line : table.lines()) text += line + "\n";
  if (trials < kLeastTrials) {
    text += fmt::format("No gain is told from {} trial{}: --trials {} or more compare medians.\n", trials,
                        trials == 1 ? "" : "s", kLeastTrials);
  }
  return text;
}

std::string as_json(const BenchSpeculationOptions& options, const model::LoadedModel& loaded,
                    const std::vector<Row>& rows) {
  const backend::DeviceInfo info = loaded.model->backend().info();
  Json json = {{"model", loaded.model->config().name},
               {"backend", info.backend},
               {"isa", info.isa},
               {"threads", info.threads},
               {"prompt_tokens", options.replay.prompt_tokens},
               {"new_tokens", options.replay.new_tokens},
               {"trials", options.replay.trials},
               {"texts", Json::array()}};
  for (const Row& row : rows) {
    const bench::SpeculationReplay& r = row.replay;
    json["texts"].push_back({{"text", row.text},
                             {"drafted", r.guesses.drafted},
                             {"accepted", r.guesses.accepted},
                             {"passes", r.n_passes},
                             {"plain_s", r.plain_s},
                             {"speculative_s", r.speculative_s},
                             {"gain", options.replay.trials < kLeastTrials ? Json() : Json(r.gain())}});
    if (r.screened) {
      json["texts"].back()["screened_s"] = r.screened->s;
      json["texts"].back()["head_screen"] = head_screen_json(r.screened->use);
    }
  }
  return json_text(json, 2) + "\n";
}

Result<std::shared_ptr<const tokenizer::Tokenizer>> choose_tokenizer(const BenchSpeculationOptions& options,
                                                                     const model::LoadedModel& loaded) {
  if (options.tokenizer_path.empty()) return loaded.tokenizer;
  TRY_ASSIGN(const gguf::File file, gguf::File::open(options.tokenizer_path));
  return tokenizer::Tokenizer::from_gguf(file);
}

Status check_context(const bench::SpeculationOptions& options, const model::Model& model) {
  const int64_t n = options.prompt_tokens + options.new_tokens;
  const int64_t context = model.config().context_length;
  if (options.new_tokens <= engine::room_after_prompt(model, static_cast<size_t>(options.prompt_tokens)))
    return {};
  return make_error(
      ErrorCode::kInvalidArgument,
      "--prompt-tokens {} and -n {}: expected at most {} tokens together, one more than the model's "
      "context, found {}; give smaller ones",
      options.prompt_tokens, options.new_tokens, context + 1, n);
}

struct Text {
  std::string name;
  std::vector<int32_t> ids;
};

// All of them, before any is measured.
Result<std::vector<Text>> read_texts(const BenchSpeculationOptions& options,
                                     const tokenizer::Tokenizer& tokenizer) {
  std::vector<Text> texts;
  for (const std::string& path : options.texts) {
    TRY_ASSIGN(const std::string text, read_text(path));
    TRY_ASSIGN(std::vector<int32_t> ids, tokenizer.encode(text));
    const std::string name = escaped(std::filesystem::path(path).filename().string(), 40);
    if (const Status enough = bench::check_length(ids, options.replay); !enough)
      return make_error(enough.error().code, "{}: {}; give a longer text, or smaller --prompt-tokens and -n",
                        name, enough.error().message);
    texts.push_back({name, std::move(ids)});
  }
  return texts;
}

Result<int> run(BenchSpeculationOptions options) {
  TRY_ASSIGN(options.replay.kv_type, kv_type(options.model));
  const std::atomic<bool>& cancelled = install_signal_flag();
  options.replay.cancelled = cancel_by(&cancelled);
  TRY_ASSIGN(const model::LoadedModel loaded,
             load_model(options.model_path, options.model,
                        options.replay.prompt_tokens + options.replay.new_tokens));
  TRY(check_context(options.replay, *loaded.model));
  TRY_ASSIGN(const auto tokenizer, choose_tokenizer(options, loaded));
  TRY_ASSIGN(const std::vector<Text> texts, read_texts(options, *tokenizer));
  ProgressBar bar;
  std::vector<Row> rows;
  for (const Text& text : texts) {
    options.replay.on_trial = [&](int64_t trial) {
      bar.show_line(
          [&] { return fmt::format("{}: trial {} of {}", text.name, trial + 1, options.replay.trials); });
    };
    const auto replay = bench::replay_with_speculation(loaded, text.ids, options.replay);
    if (signal_exit_code() != 0) break;
    if (!replay) return make_error(replay.error().code, "{}: {}", text.name, replay.error().message);
    rows.push_back({text.name, *replay});
  }
  bar.clear();
  if (!rows.empty())
    write_stdout(options.json ? as_json(options, loaded, rows) : as_table(rows, options.replay.trials));
  const int written = finish_stdout();
  if (signal_exit_code() == 0) return written;
  warn(fmt::format("interrupted after {} of {} texts", rows.size(), options.texts.size()));
  return signal_exit_code();
}

}  // namespace

Run setup_bench_speculation(Command command) {
  auto options = std::make_shared<BenchSpeculationOptions>();
  command.add_option("MODEL", options->model_path, "A .gguf file, or synthetic:PRESET[:TYPE]")
      .required()
      .check(not_empty())
      .value_name("");
  command.add_option("TEXT", options->texts, "Files whose text is replayed as if the model had written it")
      .required()
      .value_name("...");
  const auto add_count = [&](const char* flag, int64_t& value, int64_t least, const char* description) {
    command.add_option(flag, value, description)
        .check(whole_number_from(least, 1 << 20))
        .show_default()
        .value_name("N");
  };
  add_count("--prompt-tokens", options->replay.prompt_tokens, 1, "Tokens of each text that are read");
  add_count("-n,--max-new-tokens", options->replay.new_tokens, 1, "Tokens after them that are written");
  add_count("--trials", options->replay.trials, 1,
            "Runs with guesses and without, in turn; medians are shown, and with 3 or more what is gained");
  command
      .add_option("--tokenizer", options->tokenizer_path,
                  "A .gguf whose tokenizer cuts the texts, where the model's own is a synthetic one")
      .check(not_empty())
      .value_name("FILE");
  command.add_flag("--json", options->json, "Print one JSON object");
  add_head_screen_option(command, options->model);
  add_model_options(command, options->model, false);
  command.set_footer(
      "The model's own words do not matter: each pass is computed, and the text says what comes. Where the\n"
      "LM head has a screen (--head-screen), runs that use it come beside those that guess.\n\n"
      "Example:\n"
      "  inferno bench speculation model.gguf prose.txt code.cpp answer-that-quotes.txt");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
