#include <algorithm>
#include <cmath>

#include "bench/report/markdown_table.h"
#include "bench/report/page_sections.h"
#include "bench/report/svg_chart.h"

namespace inferno::bench {
namespace {

constexpr double kBarWidth = 240;

// Lengths of bars: linear from 0, or logarithmic where the longest would hide the shortest.
class BarScale {
 public:
  explicit BarScale(const std::vector<LadderRow>& rows) {
    for (const LadderRow& row : rows) {
      if (!row.absent.empty() || row.decode_tps <= 0) continue;
      greatest_ = std::max(greatest_, row.decode_tps);
      least_ = least_ > 0 ? std::min(least_, row.decode_tps) : row.decode_tps;
    }
    constexpr double kHides = 30;
    log_ = least_ > 0 && greatest_ / least_ > kHides;
    from_ = log_ ? std::pow(10, std::floor(std::log10(least_)) - 1) : 0;
  }

  double length(double value) const {
    if (greatest_ <= 0 || value <= 0) return 0;
    return kBarWidth * (log_ ? std::log(value / from_) / std::log(greatest_ / from_) : value / greatest_);
  }
  std::string title() const {
    return log_ ? fmt::format("Decode (log scale from {} tok/s)", short_number(from_))
                : "Decode (from 0 tok/s)";
  }

 private:
  double least_ = 0, greatest_ = 0, from_ = 0;
  bool log_ = false;
};

std::string cell(const std::string& text, const char* attributes = "") {
  return fmt::format("<td{}>{}</td>", attributes, html_escaped(text));
}

std::string bar(double length) {
  return fmt::format(
      "<td class='left'><svg class='bar' width='{0:.0f}' height='14' aria-hidden='true'>"
      "<rect class='s0' width='{1:.1f}' height='14' rx='2'/></svg></td>",
      kBarWidth, length);
}

std::string row_html(const std::vector<LadderRow>& rows, size_t i, const BarScale& scale) {
  const LadderRow& row = rows[i];
  std::string text = fmt::format("<tr><th scope='row' class='left'>{}</th>", html_escaped(row.name)) +
                     cell(backend_text(row), " class='left'") + cell(row.dtype, " class='left'") +
                     cell(row.kv, " class='left'");
  if (!row.absent.empty()) return text + cell(row.absent, " class='left muted' colspan='6'") + "</tr>\n";
  const auto faster = speed_up(rows, i);
  std::string ceiling = row.bound.empty() ? "—" : row.bound;
  if (row.pct_of_ceiling) ceiling = fmt::format("{} % of {}", fixed(row.pct_of_ceiling, 1), row.bound);
  return text + cell(fixed(row.bytes_per_token / 1e6, 1)) + cell(milliseconds(row.ttft_ms)) +
         cell(fixed(row.decode_tps, 2)) + bar(scale.length(row.decode_tps)) +
         cell(faster ? fixed(faster, 2) + "×" : "—") + cell(ceiling, " class='left'") + "</tr>\n";
}

std::string table(const Ladder& ladder) {
  const BarScale scale(ladder.rows);
  std::string text =
      "<div class='scroll' tabindex='0'><table><caption>Each rung adds one thing to the one above; speed-up "
      "is over the rung before, by the tokens that both generated</caption>\n<thead><tr>"
      "<th scope='col' class='left'>Rung</th><th scope='col' class='left'>Backend</th>"
      "<th scope='col' class='left'>Weights</th><th scope='col' class='left'>KV</th>"
      "<th scope='col'>MB/token</th><th scope='col'>TTFT ms</th><th scope='col'>Decode tok/s</th>"
      "<th scope='col' class='left'>" +
      html_escaped(scale.title()) +
      "</th><th scope='col'>Speed-up</th><th scope='col' class='left'>Ceiling</th></tr></thead>\n<tbody>\n";
  for (size_t i = 0; i < ladder.rows.size(); ++i) text += row_html(ladder.rows, i, scale);
  return text + "</tbody></table></div>\n";
}

std::string notes(const Ladder& ladder) {
  std::string items;
  for (const LadderRow& row : ladder.rows) {
    if (row.note.empty()) continue;
    items += fmt::format("<li>{}: {}</li>\n", html_escaped(row.name), html_escaped(row.note));
  }
  return items.empty() ? "" : "<ul class='muted'>\n" + items + "</ul>\n";
}

std::string tokens_chart(const Ladder& ladder) {
  std::vector<std::string> names;
  std::vector<std::vector<Point>> lines;
  std::vector<double> xs;
  std::vector<double> ys;
  for (const LadderRow& row : ladder.rows) {
    if (!row.absent.empty() || row.per_token_ms.empty()) continue;
    names.push_back(row.name);
    auto& line = lines.emplace_back();
    for (size_t i = 0; i < row.per_token_ms.size(); ++i) {
      line.push_back({static_cast<double>(i + 1), row.per_token_ms[i]});
      xs.push_back(line.back().x);
      ys.push_back(line.back().y);
    }
  }
  if (lines.empty()) return "";
  SvgChart chart("Time of every token, " + ladder.model,
                 "Milliseconds of each generated token, logarithmic, a line for each rung: of the first, the "
                 "forward pass over the prompt; of each later one, the time since the one before.",
                 900, 340, Axis::span("generated token", xs), Axis::fit("time (ms)", ys, true));
  for (size_t i = 0; i < lines.size(); ++i) {
    chart.add_line(lines[i], i);
    chart.add_marker(lines[i].back(), i, names[i]);
  }
  return legend(names) +
         "<figure class='wide'><figcaption>Every token: the prompt's pass, then token to token</figcaption>" +
         chart.text() + "</figure>\n";
}

}  // namespace

std::string ladder_section(std::span<const Ladder> ladders) {
  if (ladders.empty()) return "";
  std::string text = "<section id='ladder'><h2>Ladder</h2>\n";
  for (const Ladder& ladder : ladders) {
    text += fmt::format(
        "<h3>{}</h3>\n<p class='muted'>{}, {} at most; {} prompt tokens, {} generated; {} {}</p>\n",
        html_escaped(ladder.model), html_escaped(ladder.device_name),
        ladder.threads == 1 ? "1 thread" : fmt::format("{} threads", ladder.threads), ladder.prompt_tokens,
        ladder.generated_tokens, html_escaped(ladder.git_revision), html_escaped(ladder.timestamp));
    text += table(ladder) + notes(ladder) + tokens_chart(ladder);
  }
  return text + "</section>\n";
}

}  // namespace inferno::bench
