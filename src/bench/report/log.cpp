#include "bench/report/log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/atomic_file.h"
#include "base/text.h"
#include "bench/figures.h"
#include "bench/places.h"
#include "bench/report/json_reader.h"

namespace inferno::bench {
namespace {

Error io_error(const std::string& path, std::string_view what, int error_number) {
  return make_error(ErrorCode::kIo, "{}: cannot {}: {}", escaped(path, path.size()), what,
                    std::generic_category().message(error_number));
}

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

LogEntry::Medians medians(const Figures& f) {
  LogEntry::Medians m;
  m.e2e_tps = f.e2e_tps.p50;
  m.ttft_ms = f.ttft_ms.p50;
  if (f.decode_tps) m.decode_tps = f.decode_tps->p50;
  if (f.step_ms) m.step_p50_ms = f.step_ms->p50;
  if (f.prefill && f.prefill->of_ceiling) m.prefill_pct_of_ceiling = f.prefill->of_ceiling->pct;
  if (f.decode) m.decode_gb_per_s = f.decode->gb_per_s;
  if (f.decode && f.decode->of_ceiling) {
    m.decode_pct_of_ceiling = f.decode->of_ceiling->pct;
    m.decode_bound = name(f.decode->of_ceiling->bound);
  }
  if (f.decode_of_all_bytes) m.decode_pct_of_all_bytes = f.decode_of_all_bytes->pct;
  if (f.prompt_parts) m.prefill_rest_pct = 100 * f.prompt_parts->rest;
  return m;
}

LogEntry::Config config_entry(const ConfigResult& result, const Figures& f, const Setting& setting) {
  LogEntry::Config config;
  static_cast<LogEntry::Medians&>(config) = medians(f);
  config.key = result.config.key;
  config.prompt_tokens = result.prompt_tokens;
  config.generated_tokens = f.generated_tokens;
  config.asked_prompt_tokens = result.config.prompt_tokens;
  config.asked_new_tokens = result.config.max_new_tokens;
  config.cut = result.cut;
  config.note = result.note;
  for (const Place& place : places(result, setting)) {
    config.places.push_back({medians(place.figures), place.line_trip.count(),
                             static_cast<int64_t>(place.n_trials), place.figures.limits.read_gb_per_s});
  }
  return config;
}

void add_medians(Json& json, const LogEntry::Medians& m) {
  json["e2e_tps"] = m.e2e_tps;
  json["ttft_ms"] = m.ttft_ms;
  json["decode_tps"] = or_null(m.decode_tps);
  json["step_p50_ms"] = or_null(m.step_p50_ms);
  json["prefill_pct_of_ceiling"] = or_null(m.prefill_pct_of_ceiling);
  json["decode_pct_of_ceiling"] = or_null(m.decode_pct_of_ceiling);
  json["decode_pct_of_all_bytes"] = or_null(m.decode_pct_of_all_bytes);
  json["decode_gb_per_s"] = or_null(m.decode_gb_per_s);
  json["decode_bound"] = m.decode_bound;
  json["prefill_rest_pct"] = or_null(m.prefill_rest_pct);
}

Json place_json(const LogEntry::Place& place) {
  Json json = {{"line_trip_ns", place.line_trip_ns},
               {"trials", place.trials},
               {"read_gb_per_s", or_null(place.read_gb_per_s)}};
  add_medians(json, place);
  return json;
}

Json config_json(const LogEntry::Config& config) {
  Json json = {{"key", config.key},
               {"prompt_tokens", config.prompt_tokens},
               {"generated_tokens", config.generated_tokens},
               {"asked_prompt_tokens", config.asked_prompt_tokens},
               {"asked_new_tokens", config.asked_new_tokens},
               {"cut", config.cut},
               {"note", config.note.empty() ? Json(nullptr) : Json(config.note)}};
  add_medians(json, config);
  json["places"] = Json::array();
  for (const LogEntry::Place& place : config.places) json["places"].push_back(place_json(place));
  return json;
}

LogEntry::Medians read_medians(JsonReader& json) {
  LogEntry::Medians m;
  m.e2e_tps = json.number("e2e_tps");
  m.ttft_ms = json.number("ttft_ms");
  m.decode_tps = json.optional_number("decode_tps");
  m.step_p50_ms = json.optional_number("step_p50_ms");
  m.prefill_pct_of_ceiling = json.optional_number("prefill_pct_of_ceiling");
  m.decode_pct_of_ceiling = json.optional_number("decode_pct_of_ceiling");
  m.decode_pct_of_all_bytes = json.optional_number("decode_pct_of_all_bytes");  // older lines lack it
  if (!m.decode_pct_of_all_bytes)  // or have it by the name of what was spared then
    m.decode_pct_of_all_bytes = json.optional_number("decode_pct_of_whole_head");
  m.decode_gb_per_s = json.optional_number("decode_gb_per_s");
  m.decode_bound = json.optional_text("decode_bound").value_or("");
  m.prefill_rest_pct = json.optional_number("prefill_rest_pct");  // likewise
  return m;
}

LogEntry::Place read_place(JsonReader& json) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  return {read_medians(json), static_cast<int64_t>(json.whole("line_trip_ns", kMost)),
          static_cast<int64_t>(json.whole("trials", kMost)), json.optional_number("read_gb_per_s")};
}

LogEntry::Config read_config(JsonReader& json) {
  constexpr uint64_t kMaxTokens = uint64_t{1} << 40;
  LogEntry::Config config;
  static_cast<LogEntry::Medians&>(config) = read_medians(json);
  config.key = json.text("key");
  config.prompt_tokens = static_cast<int64_t>(json.whole("prompt_tokens", kMaxTokens));
  config.generated_tokens = static_cast<int64_t>(json.whole("generated_tokens", kMaxTokens));
  config.asked_prompt_tokens = static_cast<int64_t>(json.whole("asked_prompt_tokens", kMaxTokens));
  config.asked_new_tokens = static_cast<int64_t>(json.whole("asked_new_tokens", kMaxTokens));
  config.cut = json.flag("cut");
  config.note = json.optional_text("note").value_or("");
  if (json.has("places")) {  // older lines lack it
    for (JsonReader& place : json.objects("places")) config.places.push_back(read_place(place));
  }
  return config;
}

// Appends to the file of this descriptor, which nobody else is appending to; cuts it back if that fails.
Status append(int fd, const std::string& path, std::string line) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return io_error(path, "look at it", errno);
  // A last line that somebody left without its end stays a line of its own.
  char last = '\n';
  if (info.st_size > 0 && ::pread(fd, &last, 1, info.st_size - 1) != 1) {
    return io_error(path, "read it", errno);
  }
  if (last != '\n') line.insert(0, 1, '\n');
  ssize_t written = -1;
  do written = ::write(fd, line.data(), line.size());
  while (written < 0 && errno == EINTR);
  if (written < 0) return io_error(path, "write it", errno);
  // A device has nothing to bring to the disk.
  const bool is_whole = written == static_cast<ssize_t>(line.size());
  if (is_whole && (!S_ISREG(info.st_mode) || ::fsync(fd) == 0)) return {};
  const int why = is_whole ? errno : ENOSPC;
  if (::ftruncate(fd, info.st_size) != 0) return io_error(path, "take back half a line", errno);
  return io_error(path, "write it", why);
}

}  // namespace

std::string LogEntry::series() const {
  return fmt::format("{} {} {} {}/{} {}t{}{}", model, dtype, use_kv_cache ? "KV " + kv_type : "no cache",
                     backend, isa, threads, device_name.empty() ? "" : ", ", device_name);
}

LogEntry log_entry(const Report& report) {
  const Setting& s = report.setting;
  LogEntry entry{.timestamp = s.timestamp,
                 .git_revision = s.git_revision,
                 .engine_version = s.engine_version,
                 .model = s.model,
                 .dtype = s.dtype,
                 .kv_type = s.kv_type,
                 .suite = s.suite,
                 .use_kv_cache = s.use_kv_cache,
                 .backend = s.device.backend,
                 .device_name = s.device_name,
                 .isa = s.device.isa,
                 .threads = s.device.threads,
                 .configs = {}};
  for (const ConfigResult& result : report.results) {
    if (const auto f = figures(result, s)) entry.configs.push_back(config_entry(result, *f, s));
  }
  return entry;
}

std::string to_json_line(const LogEntry& entry) {
  Json json = {{"timestamp", entry.timestamp},
               {"git_revision", entry.git_revision},
               {"engine_version", entry.engine_version},
               {"model", entry.model},
               {"dtype", entry.dtype},
               {"kv_type", entry.kv_type},
               {"suite", entry.suite},
               {"use_kv_cache", entry.use_kv_cache},
               {"backend", entry.backend},
               {"device_name", entry.device_name},
               {"isa", entry.isa},
               {"threads", entry.threads},
               {"configs", Json::array()}};
  for (const LogEntry::Config& config : entry.configs) json["configs"].push_back(config_json(config));
  return json_text(json) + "\n";
}

Result<LogEntry> log_entry_from_json(std::string_view line) {
  TRY_ASSIGN(const Json json, parse_json(line));
  JsonReader reader(json);
  LogEntry entry;
  entry.timestamp = reader.text("timestamp");
  entry.git_revision = reader.text("git_revision");
  entry.engine_version = reader.text("engine_version");
  entry.model = reader.text("model");
  entry.dtype = reader.text("dtype");
  entry.kv_type = reader.text("kv_type");
  entry.suite = reader.text("suite");
  entry.use_kv_cache = reader.flag("use_kv_cache");
  entry.backend = reader.text("backend");
  entry.device_name = reader.text("device_name");
  entry.isa = reader.text("isa");
  entry.threads = static_cast<unsigned>(reader.whole("threads", 1 << 20));
  for (JsonReader& config : reader.objects("configs")) entry.configs.push_back(read_config(config));
  TRY(reader.status());
  return entry;
}

Status check_log(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  if (file.fd() < 0) return errno == ENOENT ? check_writable(path) : io_error(path, "open it", errno);
  constexpr std::string_view kBegin = "{\"timestamp\":";  // of to_json_line()
  std::array<char, kBegin.size()> begin{};
  const ssize_t n = ::pread(file.fd(), begin.data(), begin.size(), 0);
  if (n <= 0 || std::string_view(begin.data(), static_cast<size_t>(n)) == kBegin) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "{}: expected a history of runs, a JSON object to a line, or no file; found something "
                    "else, to which a line would do harm",
                    escaped(path, path.size()));
}

Status append_to_log(const std::string& path, const LogEntry& entry) {
  const OpenFile file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (file.fd() < 0) return io_error(path, "open it", errno);
  if (::flock(file.fd(), LOCK_EX) != 0) return io_error(path, "lock it", errno);
  return append(file.fd(), path, to_json_line(entry));
}

Result<Log> read_log(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_text_file(path));
  Log log;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto entry = log_entry_from_json(line);
    if (entry) {
      log.entries.push_back(*std::move(entry));
    } else {
      log.warnings.push_back(
          fmt::format("{}:{}: {}", escaped(path, path.size()), number, entry.error().message));
    }
  }
  return log;
}

}  // namespace inferno::bench
