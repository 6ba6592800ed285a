#include "backend/ceilings_cache.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/mapped_file.h"
#include "kernels/cpu/kernels.h"

namespace inferno::backend {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr size_t kMaxEntries = 16;

Json key_json(const CeilingsKey& key) {
  return {{"boot_id", key.boot_id}, {"cpu", key.cpu},   {"build", key.build},
          {"isas", key.isas},       {"cpus", key.cpus}, {"threads", key.threads}};
}

// What a machine could have.
struct Range {
  double least, most;
};
constexpr Range kClockGhz{0.1, 20};
constexpr Range kReadGbPerS{0.01, 1e6};
constexpr Range kPeakGops{0.01, 1e9};
constexpr Range kSteadiness{1e-9, 1};

// The number, if it lies in the range.
std::optional<double> rate(const Json& json, Range range) {
  if (!json.is_number()) return std::nullopt;
  const auto value = json.get<double>();
  return value >= range.least && value <= range.most ? std::optional(value) : std::nullopt;
}

// The member, or null.
const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

// "2026-01-31T12:00:00Z"
bool is_time(const Json& json) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  if (!json.is_string()) return false;
  const auto& text = json.get_ref<const std::string&>();
  return std::equal(text.begin(), text.end(), kPattern.begin(), kPattern.end(),
                    [](char c, char p) { return p == 'd' ? c >= '0' && c <= '9' : c == p; });
}

bool is_isa(std::string_view name) {
  const auto isas = kernels::cpu_isas();
  return std::any_of(isas.begin(), isas.end(), [&](const auto& isa) { return isa.name == name; });
}

std::optional<Ceilings::Peak> parse_peak(const Json& json, unsigned max_threads) {
  const Json& arithmetic = member(json, "arithmetic");
  const Json& isa = member(json, "isa");
  const Json& threads = member(json, "threads");
  const auto gops = rate(member(json, "gops"), kPeakGops);
  if (!arithmetic.is_string() || !isa.is_string() || !threads.is_number_unsigned() || !gops) return {};
  if (threads.get<uint64_t>() == 0 || threads.get<uint64_t>() > max_threads) return {};
  Ceilings::Peak peak{arithmetic.get<std::string>(), isa.get<std::string>(), threads.get<unsigned>(), *gops};
  const auto names = {"fp32", "bf16", "fp16", "int8", "int8_in_int16"};
  if (std::find(names.begin(), names.end(), peak.arithmetic) == names.end() || !is_isa(peak.isa)) return {};
  return peak;
}

std::optional<Ceilings> parse_ceilings(const Json& json, unsigned threads) {
  Ceilings ceilings;
  const Json& measured_at = member(json, "measured_at");
  const auto clock = rate(member(json, "clock_ghz"), kClockGhz);
  const auto steadiness = rate(member(json, "steadiness"), kSteadiness);
  const Json& reads = member(json, "read_gb_per_s");
  const Json& peaks = member(json, "peaks");
  if (!is_time(measured_at) || !clock || !steadiness || !reads.is_array() || !peaks.is_array())
    return std::nullopt;
  if (reads.size() != threads || peaks.empty()) return std::nullopt;
  for (const Json& read : reads) {
    const auto value = rate(read, kReadGbPerS);
    if (!value) return std::nullopt;
    ceilings.read_gb_per_s.push_back(*value);
  }
  for (const Json& entry : peaks) {
    auto peak = parse_peak(entry, threads);
    if (!peak) return std::nullopt;
    ceilings.peaks.push_back(std::move(*peak));
  }
  ceilings.clock_ghz = *clock;
  ceilings.steadiness = *steadiness;
  ceilings.measured_at = measured_at.get<std::string>();
  ceilings.cached = true;
  return ceilings;
}

// What lies in the file, the newest first; an empty array of anything else.
Json read_entries(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file || (*file)->bytes().size() > kMaxFileBytes) return Json::array();
  const auto bytes = (*file)->bytes();
  const auto json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const Json& entries = json ? member(*json, "entries") : Json();
  return entries.is_array() ? entries : Json::array();
}

}  // namespace

std::string ceilings_build() {
  return fmt::format("{} {}", INFERNO_BUILD, ceilings_sources());
}

std::optional<std::string> ceilings_cache_path() {
  const auto folder = cache_folder();
  if (!folder) return std::nullopt;
  return *folder + "/ceilings.json";
}

std::optional<Ceilings> load_ceilings(const std::string& path, const CeilingsKey& key) {
  if (key.boot_id.empty()) return std::nullopt;
  const Json entries = read_entries(path);
  for (const Json& entry : entries) {
    if (member(entry, "key") != key_json(key)) continue;
    if (auto ceilings = parse_ceilings(member(entry, "ceilings"), key.threads)) return ceilings;
  }
  return std::nullopt;
}

Status save_ceilings(const std::string& path, const CeilingsKey& key, const Ceilings& ceilings) {
  if (key.boot_id.empty()) return {};
  TRY(make_cache_folder(std::filesystem::path(path).parent_path().string()));
  Json entries = Json::array({{{"key", key_json(key)}, {"ceilings", ceilings_json(ceilings)}}});
  for (Json& entry : read_entries(path)) {
    const Json& other = member(entry, "key");
    const bool counts = member(other, "boot_id") == key.boot_id && other != key_json(key);
    if (counts && entries.size() < kMaxEntries) entries.push_back(std::move(entry));
  }
  const std::string text = json_text({{"entries", std::move(entries)}}, 1) + "\n";
  return write_file_atomically(
      path, [&](const AppendFn& append) { return append(std::as_bytes(std::span<const char>(text))); });
}

Json ceilings_json(const Ceilings& ceilings) {
  Json peaks = Json::array();
  for (const Ceilings::Peak& peak : ceilings.peaks) {
    peaks.push_back(
        {{"arithmetic", peak.arithmetic}, {"isa", peak.isa}, {"threads", peak.threads}, {"gops", peak.gops}});
  }
  Json json = {{"measured_at", ceilings.measured_at},
               {"clock_ghz", ceilings.clock_ghz},
               {"steadiness", ceilings.steadiness},
               {"read_gb_per_s", ceilings.read_gb_per_s},
               {"peaks", std::move(peaks)}};
  if (ceilings.copy_gb_per_s > 0) json["copy_gb_per_s"] = ceilings.copy_gb_per_s;
  return json;
}

}  // namespace inferno::backend
