#include "bench/share_gate.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "bench/figures.h"
#include "bench/places.h"

namespace inferno::bench {
namespace {

std::optional<double> percent(const std::optional<OfCeiling>& of) {
  return of ? std::optional(of->pct) : std::nullopt;
}

std::optional<double> of_prompt(const Figures& f) {
  return f.prefill ? percent(f.prefill->of_ceiling) : std::nullopt;
}

std::optional<double> of_decode(const Figures& f) {
  if (f.decode_of_all_bytes) return percent(f.decode_of_all_bytes);
  return f.decode ? percent(f.decode->of_ceiling) : std::nullopt;
}

std::optional<double> of_matrices(const Figures& f) {
  return f.prompt_parts ? f.prompt_parts->matrices.pct : std::nullopt;
}

std::optional<double> of_attention(const Figures& f) {
  return f.prompt_parts ? f.prompt_parts->attention.pct : std::nullopt;
}

std::optional<double> of_rest(const Figures& f) {
  return f.prompt_parts ? std::optional(100 * f.prompt_parts->rest) : std::nullopt;
}

struct Judged {
  std::string_view name, what;
  bool is_least;  // the bound is the least that will do
  std::optional<double> (*of)(const Figures& f);
};

constexpr Judged kJudged[] = {
    {"prompt", "of the prompt's ceiling", true, of_prompt},
    {"decode", "of decode's ceiling", true, of_decode},
    {"matrices", "of the arithmetic peak in a prompt's products with weights", true, of_matrices},
    {"attention", "of the peak of fp32 in a prompt's attention", true, of_attention},
    {"rest", "of a prompt's time for all but products and attention", false, of_rest},
};

const Judged* find_judged(std::string_view figure) {
  const auto* const found = std::find_if(std::begin(kJudged), std::end(kJudged),
                                         [&](const Judged& judged) { return judged.name == figure; });
  return found == std::end(kJudged) ? nullptr : found;
}

void judge(const std::string& where, const Figures& f, const ShareBound& bound,
           std::vector<std::string>& lines) {
  const Judged& judged = *find_judged(bound.figure);
  const std::optional<double> value = judged.of(f);
  if (value && (judged.is_least ? *value >= bound.percent : *value <= bound.percent)) return;
  const std::string asked = fmt::format("{} {:g} %", judged.is_least ? "at least" : "at most", bound.percent);
  lines.push_back(
      value ? fmt::format("{}: {}: {:.1f} % {}, {} asked for", where, judged.name, *value, judged.what, asked)
            : fmt::format("{}: {}: not measured, {} {} asked for", where, judged.name, asked, judged.what));
}

}  // namespace

std::vector<std::string_view> share_bound_figures() {
  std::vector<std::string_view> names;
  for (const Judged& judged : kJudged) names.push_back(judged.name);
  return names;
}

Result<ShareBound> parse_share_bound(std::string_view text) {
  const size_t equals = text.find('=');
  const Judged* const judged = find_judged(text.substr(0, equals));
  if (judged != nullptr && equals != std::string_view::npos) {
    std::string_view digits = text.substr(equals + 1);
    if (digits.ends_with('%')) digits.remove_suffix(1);
    double value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (error == std::errc() && stop == end && value >= 0 && value <= 1000)
      return ShareBound{judged->name, value};
  }
  const std::vector<std::string_view> names = share_bound_figures();
  const std::string_view nearest =
      judged != nullptr ? std::string_view() : nearest_name(text.substr(0, equals), names);
  return make_error(ErrorCode::kInvalidArgument,
                    "--gate: expected one of {} with a percentage, such as decode=92, found {}{}",
                    join(names, ", "), quote(text),
                    nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

std::vector<std::string> missed_bounds(const Report& report, std::span<const ShareBound> bounds) {
  std::vector<std::string> lines;
  for (const ConfigResult& result : report.results) {
    const std::string key = escaped(result.config.key);
    std::vector<std::pair<std::string, Figures>> judged;
    if (const std::vector<Place> found = places(result, report.setting); found.size() > 1) {
      for (const Place& place : found)
        judged.emplace_back(fmt::format("{} (a line's trip of {} ns)", key, place.line_trip.count()),
                            place.figures);
    } else if (const auto f = figures(result, report.setting)) {
      judged.emplace_back(key, *f);
    } else if (!bounds.empty()) {
      lines.push_back(key + ": not measured");
    }
    for (const auto& [where, f] : judged) {
      for (const ShareBound& bound : bounds) judge(where, f, bound, lines);
    }
  }
  return lines;
}

}  // namespace inferno::bench
