// inferno cache: the repacked weights that --repack-cache has kept, and how to be rid of them.
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/output.h"
#include "apps/table.h"
#include "apps/validators.h"
#include "base/cache_folder.h"
#include "base/json.h"
#include "base/text.h"
#include "model/repack.h"

namespace inferno::apps {
namespace {

using Caches = std::vector<model::StoredRepackCache>;

struct CacheOptions {
  std::string folder;  // empty: that of --repack-cache without a folder
  std::vector<std::string> remove;
  bool clear = false;
  bool json = false;
};

std::string age_text(std::time_t written) {
  const std::time_t minutes = (std::time(nullptr) - written) / 60;
  if (minutes < 1) return "just now";
  const auto ago = [](std::time_t n, const char* unit) {
    return fmt::format("{} {}{} ago", n, unit, n == 1 ? "" : "s");
  };
  if (minutes < 60) return ago(minutes, "minute");
  return minutes < 48 * 60 ? ago(minutes / 60, "hour") : ago(minutes / 60 / 24, "day");
}

uint64_t total_bytes(const Caches& caches) {
  uint64_t bytes = 0;
  for (const auto& cache : caches) bytes += cache.bytes;
  return bytes;
}

// "2 caches, 1.3 GB"
std::string sum_text(const Caches& caches) {
  return fmt::format("{} cache{}, {}", caches.size(), caches.size() == 1 ? "" : "s",
                     human_bytes(total_bytes(caches)));
}

std::string table(const Caches& caches, const std::string& folder) {
  if (caches.empty()) {
    return fmt::format("no caches in {}; --repack-cache of a command that loads a model makes them\n",
                       for_terminal(folder));
  }
  Table table({Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft});
  table.add_row({"model", "ISA", "size", "written"});
  for (const auto& cache : caches) {
    table.add_row({escaped(cache.model, 100), escaped(cache.isa), human_bytes(cache.bytes),
                   (cache.is_unfinished ? "unfinished, " : "") + age_text(cache.written)});
  }
  const std::vector<std::string> lines = table.lines();
  std::string text = dim(lines.front(), false) + "\n";
  for (size_t i = 1; i < lines.size(); ++i) text += lines[i] + "\n";
  return text + fmt::format("\n{} in {}\n", sum_text(caches), for_terminal(folder));
}

std::string json_text_of(const Caches& caches, const std::string& folder) {
  Json json = {{"folder", folder}, {"bytes", total_bytes(caches)}, {"caches", Json::array()}};
  for (const auto& cache : caches) {
    json["caches"].push_back({{"path", cache.path},
                              {"model", cache.model},
                              {"isa", cache.isa},
                              {"bytes", cache.bytes},
                              {"written_at", utc_time(cache.written)},
                              {"unfinished", cache.is_unfinished}});
  }
  return json_text(json, 2) + "\n";
}

// Those of the models that `names` name, as the list does or by their files.
Result<Caches> named(const Caches& caches, const std::vector<std::string>& names, const std::string& folder) {
  const auto is_of = [](const std::string& name) {
    return [&name](const auto& cache) { return model::is_cache_of(cache, name); };
  };
  for (const std::string& name : names) {
    if (std::any_of(caches.begin(), caches.end(), is_of(name))) continue;
    std::vector<std::string_view> models;
    for (const auto& cache : caches) models.push_back(cache.model);
    const std::string_view nearest = nearest_name(name, models);
    return make_error(
        ErrorCode::kInvalidArgument, "--remove {}: no cache of such a model in {}{}", escaped(name, 4096),
        escaped(folder, 4096),
        nearest.empty() ? "; inferno cache lists what there is" : fmt::format("; did you mean {}?", nearest));
  }
  Caches result;
  for (const auto& cache : caches) {
    const auto means_it = [&](const std::string& name) { return model::is_cache_of(cache, name); };
    if (std::any_of(names.begin(), names.end(), means_it)) result.push_back(cache);
  }
  return result;
}

Status remove(const Caches& caches) {
  for (const auto& cache : caches) TRY(model::remove_repack_cache(cache));
  return {};
}

Result<int> run(const CacheOptions& options) {
  std::string folder = options.folder;
  if (folder.empty()) {
    const auto usual = cache_folder();
    if (!usual) {
      return make_error(ErrorCode::kInvalidArgument,
                        "neither XDG_CACHE_HOME nor HOME is set; --folder says where the caches are");
    }
    folder = *usual;
  }
  TRY_ASSIGN(Caches caches, model::stored_repack_caches(folder));
  if (options.clear || !options.remove.empty()) {
    if (!options.clear) {
      TRY_ASSIGN(caches, named(caches, options.remove, folder));
    }
    TRY(remove(caches));
    write_stdout(fmt::format("removed {} from {}\n", sum_text(caches), for_terminal(folder)));
  } else {
    write_stdout(options.json ? json_text_of(caches, folder) : table(caches, folder));
  }
  return finish_stdout();
}

}  // namespace

Run setup_cache(Command command) {
  const auto options = std::make_shared<CacheOptions>();
  const Option remove =
      command
          .add_option("--remove", options->remove,
                      "Remove the caches of this model, named as in the list or by its file; may be given "
                      "several times")
          .check(not_empty())
          .value_name("MODEL")
          .repeatable();
  const Option clear = command.add_flag("--clear", options->clear, "Remove all of them").excludes(remove);
  command
      .add_option("--folder", options->folder,
                  "Where --repack-cache=FOLDER keeps them; else $XDG_CACHE_HOME/inferno or ~/.cache/inferno")
      .check(not_empty())
      .value_name("FOLDER");
  command.add_flag("--json", options->json, "Print one JSON object").excludes(remove).excludes(clear);
  command.set_footer(
      "A cache that is removed is made anew when its model next starts with --repack-cache. An unfinished\n"
      "one was left by a start that was killed while it wrote.\n\n"
      "Examples:\n"
      "  inferno cache                        what is kept, and how large it is\n"
      "  inferno cache --remove model.gguf    no longer that model's\n"
      "  inferno cache --clear                nothing any more");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
