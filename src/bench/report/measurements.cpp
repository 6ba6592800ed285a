#include "bench/report/measurements.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bench/report/json_reader.h"
#include "bench/report/report_json.h"

namespace inferno::bench {
namespace {

using Measurements = std::variant<Report, Ladder>;

Result<Measurements> from_text(const std::string& text) {
  TRY_ASSIGN(const Json json, parse_json(text));
  const JsonReader reader(json);
  if (reader.has("rungs")) {
    TRY_ASSIGN(Ladder ladder, ladder_from_json(text));
    return Measurements(std::move(ladder));
  }
  if (reader.has("configs")) {
    TRY_ASSIGN(Report report, report_from_json(text));
    return Measurements(std::move(report));
  }
  return Error{ErrorCode::kInvalidFile,
               "expected a report of `inferno bench` with \"configs\" or \"rungs\", found neither"};
}

Error at(const std::string& path, std::string_view message) {
  return make_error(ErrorCode::kInvalidFile, "{}: {}", escaped(path, path.size()), message);
}

}  // namespace

Result<Measurements> read_measurements(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_text_file(path));
  auto measurements = from_text(text);
  if (!measurements) return at(path, measurements.error().message);
  return measurements;
}

Result<Report> read_report(const std::string& path) {
  TRY_ASSIGN(Measurements measurements, read_measurements(path));
  if (auto* report = std::get_if<Report>(&measurements)) return std::move(*report);
  return at(path, "expected a report with \"configs\", found a ladder");
}

}  // namespace inferno::bench
