#include "bench/ladder_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/text.h"
#include "bench/report/json_reader.h"
#include "bench/report/markdown_table.h"

namespace inferno::bench {
namespace {

Json row_json(std::span<const LadderRow> rows, size_t i) {
  const LadderRow& row = rows[i];
  const bool here = row.absent.empty();
  const auto measured = [&](const auto& value) { return here ? Json(value) : Json(nullptr); };
  const auto text = [](const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); };
  const std::optional<double> faster = speed_up(rows, i);
  return {{"name", row.name},
          {"backend", row.backend},
          {"device", text(row.device)},
          {"dtype", row.dtype},
          {"kv", row.kv},
          {"absent", text(row.absent)},
          {"note", text(row.note)},
          {"generated_tokens", measured(row.generated_tokens)},
          {"bytes_per_token", measured(row.bytes_per_token)},
          {"ttft_ms", measured(row.ttft_ms)},
          {"decode_tps", measured(row.decode_tps)},
          {"speed_up", faster ? Json(*faster) : Json(nullptr)},
          {"bound", measured(row.bound)},
          {"pct_of_ceiling", row.pct_of_ceiling ? Json(*row.pct_of_ceiling) : Json(nullptr)},
          {"per_token_ms", measured(row.per_token_ms)}};
}

constexpr uint64_t kMaxTokens = uint64_t{1} << 40;

LadderRow read_row(JsonReader& json) {
  LadderRow row;
  row.name = json.text("name");
  row.backend = json.text("backend");
  row.device = json.optional_text("device").value_or("");  // older ladders lack it
  row.dtype = json.text("dtype");
  row.kv = json.text("kv");
  row.absent = json.optional_text("absent").value_or("");
  row.note = json.optional_text("note").value_or("");
  if (!row.absent.empty()) return row;
  row.bytes_per_token = json.number("bytes_per_token");
  row.ttft_ms = json.number("ttft_ms");
  row.decode_tps = json.number("decode_tps");
  row.bound = json.text("bound");
  row.pct_of_ceiling = json.optional_number("pct_of_ceiling");
  row.generated_tokens = static_cast<int64_t>(json.whole("generated_tokens", kMaxTokens));
  row.per_token_ms = json.numbers("per_token_ms");
  json.expect(row.per_token_ms.size() == static_cast<size_t>(row.generated_tokens), "generated_tokens",
              "as many as there are per_token_ms");
  return row;
}

std::string bound_text(const LadderRow& row) {
  if (row.bound.empty()) return "—";
  return row.pct_of_ceiling ? fmt::format("{} % of {}", fixed(row.pct_of_ceiling, 1), row.bound) : row.bound;
}

std::vector<std::string> cells(std::span<const LadderRow> rows, size_t i) {
  const LadderRow& row = rows[i];
  std::vector<std::string> cells = {row.name, backend_text(row), row.dtype, row.kv};
  if (!row.absent.empty()) {
    cells.resize(9, "—");
    return cells;
  }
  const std::optional<double> faster = speed_up(rows, i);
  cells.insert(cells.end(),
               {fixed(row.bytes_per_token / 1e6, 1), fixed(row.ttft_ms, 1), fixed(row.decode_tps, 2),
                faster ? fixed(faster, 2) + "x" : "—", bound_text(row)});
  return cells;
}

std::optional<double> ratio(double a, double b) {
  return a > 0 && b > 0 ? std::optional(a / b) : std::nullopt;
}

std::optional<double> over_common_tokens(const LadderRow& row, const LadderRow& before) {
  const size_t n = std::min(row.per_token_ms.size(), before.per_token_ms.size());
  const auto decode_ms = [&](const std::vector<double>& ms) {
    return n == 0 ? 0 : std::accumulate(ms.begin() + 1, ms.begin() + static_cast<std::ptrdiff_t>(n), 0.0);
  };
  return ratio(decode_ms(before.per_token_ms), decode_ms(row.per_token_ms));
}

}  // namespace

std::optional<double> speed_up(std::span<const LadderRow> rows, size_t i) {
  if (!rows[i].absent.empty()) return std::nullopt;
  for (size_t before = i; before > 0; --before) {
    const LadderRow& row = rows[before - 1];
    if (!row.absent.empty()) continue;
    return row.generated_tokens == rows[i].generated_tokens ? ratio(rows[i].decode_tps, row.decode_tps)
                                                            : over_common_tokens(rows[i], row);
  }
  return std::nullopt;
}

std::string backend_text(const LadderRow& row) {
  return row.device.empty() ? row.backend : fmt::format("{}, {}", row.backend, row.device);
}

std::string to_json(const Ladder& ladder) {
  Json json = {{"model", ladder.model},
               {"device_name", ladder.device_name},
               {"threads", ladder.threads},
               {"prompt_tokens", ladder.prompt_tokens},
               {"generated_tokens", ladder.generated_tokens},
               {"timestamp", ladder.timestamp},
               {"git_revision", ladder.git_revision},
               {"rungs", Json::array()}};
  for (size_t i = 0; i < ladder.rows.size(); ++i) json["rungs"].push_back(row_json(ladder.rows, i));
  return json_text(json, 1) + "\n";
}

Result<Ladder> ladder_from_json(std::string_view text) {
  TRY_ASSIGN(const Json json, parse_json(text));
  JsonReader reader(json);
  Ladder ladder;
  ladder.model = reader.text("model");
  ladder.device_name = reader.text("device_name");
  ladder.threads = static_cast<unsigned>(reader.whole("threads", 1 << 20));
  ladder.prompt_tokens = static_cast<int64_t>(reader.whole("prompt_tokens", kMaxTokens));
  ladder.generated_tokens = static_cast<int64_t>(reader.whole("generated_tokens", kMaxTokens));
  ladder.timestamp = reader.text("timestamp");
  ladder.git_revision = reader.text("git_revision");
  for (JsonReader& row : reader.objects("rungs")) ladder.rows.push_back(read_row(row));
  TRY(reader.status());
  return ladder;
}

std::string ladder_table(const Ladder& ladder) {
  using Align = MarkdownTable::Align;
  MarkdownTable table({{"Rung", Align::kLeft},
                       {"Backend", Align::kLeft},
                       {"Weights", Align::kLeft},
                       {"KV", Align::kLeft},
                       {"MB/token", Align::kRight},
                       {"TTFT ms", Align::kRight},
                       {"Decode tok/s", Align::kRight},
                       {"Speed-up", Align::kRight},
                       {"Ceiling", Align::kLeft}});
  std::string sentences;
  bool any_cut = false;
  for (size_t i = 0; i < ladder.rows.size(); ++i) {
    const LadderRow& row = ladder.rows[i];
    table.add_row(cells(ladder.rows, i));
    for (const std::string& sentence : {row.absent, row.note}) {
      if (!sentence.empty()) sentences += fmt::format("{}: {}\n", escaped(row.name), escaped(sentence, 400));
    }
    any_cut |= row.absent.empty() && row.generated_tokens < ladder.generated_tokens;
  }
  if (any_cut) {
    sentences +=
        "Speed-up of a row that was cut, and over it: by the time of the tokens after the first that both "
        "rows "
        "generated; — where there are none.\n";
  }
  return table.text() + (sentences.empty() ? "" : "\n" + sentences);
}

}  // namespace inferno::bench
