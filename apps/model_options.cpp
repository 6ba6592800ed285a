#include "apps/model_options.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <mutex>

#include "apps/model_hints.h"
#include "apps/output.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "apps/validators.h"
#include "backend/cpu_isa.h"
#include "base/cache_folder.h"
#include "base/checked_math.h"
#include "base/cpu_topology.h"
#include "base/text.h"
#include "bench/describe.h"
#include "kv/kv_cache.h"
#include "model/config.h"
#include "model/memory_items.h"
#include "model/presets.h"
#include "model/synthetic.h"
#include "models/demo/demo_model.h"
#include "quantize/file_type.h"

namespace inferno::apps {

namespace {

// "q8_0": as the command line has it.
std::string option_name(DType dtype) {
  std::string text(name(dtype));
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

void add_kv_type_option(Command command, ModelOptions& options) {
  std::vector<std::string> names;
  for (const DType dtype : kv::kTypes) names.push_back(option_name(dtype));
  command
      .add_option("--kv-type", options.kv_type,
                  "How the cache stores keys and values: f16; f32 (exact); bf16 (f32's range); q8_0 (half of "
                  "f16's memory)")
      .check(one_of(std::move(names)))
      .show_default()
      .value_name("TYPE");
}

Option add_repack_cache_option(Command command, ModelOptions& options, const std::string& description) {
  // A flag, so that `--repack-cache MODEL` leaves the model alone: a folder comes as --repack-cache=FOLDER
  // only.
  return command.add_flag("--repack-cache{auto}", options.repack_cache,
                          description +
                              "; --repack-cache=FOLDER says where, else $XDG_CACHE_HOME/inferno or "
                              "~/.cache/inferno");
}

void add_model_options(Command command, ModelOptions& options, bool with_kv) {
  const auto backends = backend::backend_names();
  command.add_option("--backend", options.backend, fmt::format("What computes: {}", join(backends, ", ")))
      .check(one_of({backends.begin(), backends.end()}))
      .show_default()
      .value_name("NAME");
  command
      .add_option("--threads", options.threads,
                  "Threads of --backend parallel; without it one for each core that this process may use")
      .check(whole_number_from(1, 1024))
      .value_name("N");
  command
      .add_option(
          "--numa", options.numa,
          "With several NUMA nodes: distribute (threads and repacked weights over all) or isolate (on one)")
      .check(one_of({"distribute", "isolate"}))
      .show_default()
      .value_name("HOW");
  add_kv_type_option(command, options);
  command.add_flag("--check-tensors,!--no-check-tensors", options.check_tensors,
                   "Refuse weights that are NaN or infinite, and make a repack cache anew whose bytes have "
                   "changed; without "
                   "either, files below 1 GiB are checked and warned of");
  add_repack_cache_option(
      command, options,
      "Keep repacked weights and the tokenizer in a file, so that the model's next start finds them; none of "
      "the demo model, of synthetic models and with --backend scalar");
  if (!with_kv) return;
  // A flag, so that `--kv PROMPT` leaves the prompt alone: a value comes as --kv=basic only.
  const Option kv =
      command.add_flag("--kv{basic}", options.kv, "Keep keys and values of past tokens (the default)");
  command.add_flag("--no-kv", options.no_kv, "Compute the whole sequence anew for every token: the baseline")
      .excludes(kv);
}

void add_head_screen_option(Command command, ModelOptions& options) {
  command.add_flag(
      "--head-screen,!--no-head-screen", options.head_screen,
      "Read of the LM head only what can hold the likeliest token: the same tokens at temperature 0, sooner "
      "where the head is larger than the caches. Without either, as long as it is faster: heads from 16 MiB "
      "on, in F32, F16 and BF16 by a copy in 4.5 bits a weight, in Q8_0 and Q6_K where the processor "
      "multiplies bytes in one instruction. With --head-screen also small ones and others of these types");
}

void warn_of_missed_isa() {
  static std::once_flag warned;
  std::call_once(warned, [] {
    const std::string missed = backend::missed_isa();
    if (!missed.empty()) warn(missed);
  });
}

Result<std::shared_ptr<backend::Backend>> create_backend(const ModelOptions& options) {
  if (options.threads > 1 && (options.backend == "simd" || options.backend == "scalar")) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--threads {}: --backend {} has one; --backend parallel has more", options.threads,
                      options.backend);
  }
  if (options.numa == "isolate") TRY(isolate_numa_node());
  if (const unsigned n = cpu_topology().threads; options.threads > n) {
    warn(fmt::format("--threads {}: this process may use {} at once; more threads than that are slower",
                     options.threads, n == 1 ? "one processor" : fmt::format("{} processors", n)));
  }
  using backend::ScreenedHeads;
  const ScreenedHeads screened = !options.head_screen   ? ScreenedHeads::kLarge
                                 : *options.head_screen ? ScreenedHeads::kAll
                                                        : ScreenedHeads::kNone;
  TRY_ASSIGN(auto backend, backend::create_backend(options.backend,
                                                   {.threads = options.threads, .screened_heads = screened}));
  const std::string name = backend->info().backend;
  if (name == "parallel" || name == "simd") warn_of_missed_isa();
  return backend;
}

Result<std::string> repack_cache_folder(const ModelOptions& options) {
  if (options.repack_cache != "auto") return options.repack_cache;
  auto folder = cache_folder();
  if (folder) return std::move(*folder);
  return make_error(
      ErrorCode::kInvalidArgument,
      "--repack-cache: neither XDG_CACHE_HOME nor HOME is set; --repack-cache=FOLDER says where");
}

Result<DType> kv_type(const ModelOptions& options) {
  if (options.kv != "basic") {
    if (options.kv == "paged") {
      return make_error(ErrorCode::kUnavailable,
                        "--kv=paged: the paged cache is not in this version; leave it out");
    }
    return make_error(ErrorCode::kInvalidArgument, "--kv: expected basic, found {}", quote(options.kv));
  }
  for (const DType dtype : kv::kTypes) {
    if (options.kv_type == option_name(dtype)) return dtype;
  }
  return make_error(ErrorCode::kInvalidArgument, "--kv-type {}: no such type", options.kv_type);
}

namespace {

bool is_one_word(const std::string& text) {
  return !text.empty() && text.find_first_of(" \t\n\r") == std::string::npos;
}

// Neither an address nor a sentence of a language that is written without blanks.
bool is_spelled_like_a_name(const std::string& text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  return is_one_word(text) && text.find("://") == std::string::npos &&
         std::all_of(text.begin(), text.end(), is_ascii);
}

// Blanks may follow.
bool has_root(const std::string& argument) {
  for (const std::string_view root : {"/", "./", "../", "~/"}) {
    if (argument.starts_with(root)) return argument.size() > root.size() && argument[root.size()] != ' ';
  }
  return false;
}

bool begins_as_a_path(const std::string& argument) {
  return is_one_word(argument) && has_root(argument);
}

bool looks_like_a_path(const std::string& argument) {
  return begins_as_a_path(argument) ||
         (is_spelled_like_a_name(argument) && argument.find('/') != std::string::npos);
}

}  // namespace

bool may_be_meant_as_a_model(const std::string& text) {
  constexpr size_t kLongestName = 64;
  if (has_root(text) && text.find('\n') == std::string::npos) return true;
  return is_spelled_like_a_name(text) && text.size() <= kLongestName && text != "-";
}

bool names_a_model(const std::string& argument) {
  std::error_code error;
  return argument.ends_with(".gguf") || looks_like_a_path(argument) || model::is_synthetic(argument) ||
         (!argument.empty() && std::filesystem::exists(argument, error));
}

std::string what_models_are(const std::string& argument) {
  std::vector<std::string_view> names;
  for (const model::Preset& preset : model::presets()) names.push_back(preset.name);
  const std::string_view nearest = nearest_name(argument, names);
  return fmt::format(
      "; a model is a .gguf file or synthetic:NAME:TYPE{}",
      nearest.empty()
          ? ""
          : fmt::format("; did you mean synthetic:{}:q8_0 (its shape, random weights)?", nearest));
}

Status check_repack_cache_argument(const ModelOptions& options, const std::string& argument) {
  std::error_code error;
  const bool is_of_a_model = argument.ends_with(".gguf") || model::is_synthetic(argument);
  // Not of every word with a / in it: it may be the prompt.
  const bool has_folder = argument.find('/') != std::string::npos;
  const bool may_be_a_folder = (has_folder && std::filesystem::is_directory(argument, error)) ||
                               (begins_as_a_path(argument) && !std::filesystem::exists(argument, error));
  if (options.repack_cache != "auto" || is_of_a_model || !may_be_a_folder) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "{}: no model file; as the folder of --repack-cache it comes after \"=\": "
                    "--repack-cache={}",
                    escaped(argument, 4096), escaped(argument, 4096));
}

namespace {

// What was made, unless a signal came meanwhile: then the command's work does not begin.
template <class T>
Result<T> unless_interrupted(Result<T> made) {
  const bool failed = !made && made.error().code != ErrorCode::kCancelled;
  if (failed || !signal_came()) return made;
  return Error{ErrorCode::kCancelled, "interrupted while loading"};
}

// Rows that are no whole number of a type's blocks are stored in another, as quantizers do.
void warn_of_other_types_than(const quantize::FileType& mix, const gguf::File& file,
                              const std::string& path) {
  const std::vector<DType> wanted = quantize::tensor_types(file, mix);
  size_t n = 0;
  for (size_t i = 0; i < wanted.size(); ++i) n += file.tensors()[i].tensor.dtype != wanted[i];
  if (n == 0) return;
  warn(fmt::format(
      "{}: {} of {} tensors are of other types than {} gives them: their rows are no whole blocks", path, n,
      wanted.size(), mix.name));
}

void warn_of_other_type(const gguf::File& file, const std::string& path) {
  const auto spec = model::parse_synthetic(path);
  if (!spec) return;
  if (spec->mix) return warn_of_other_types_than(*spec->mix, file, path);
  const DType most = bench::main_weight_type(file);
  if (spec->dtype == most) return;
  warn(fmt::format("{}: most weights are {}: rows of this model are no whole blocks of {}", path, name(most),
                   name(spec->dtype)));
}

// A word that is no file and is not spelled like one: the name of a model, perhaps.
Status check_model_name(const std::string& path) {
  if (names_a_model(path) || path.find('/') != std::string::npos) return {};
  if (path == "-") {
    return make_error(ErrorCode::kInvalidArgument, "-: a model cannot be read from standard input{}",
                      what_models_are(path));
  }
  // As of a missing file that is spelled like one.
  return make_error(ErrorCode::kIo, "{}: no such file{}", escaped(path, 4096), what_models_are(path));
}

}  // namespace

Result<gguf::File> open_model(const std::string& path) {
  if (path.empty()) return gguf::File::from_memory(demo::model_bytes(), demo::kModelName);
  TRY(check_model_name(path));
  ProgressBar bar;
  const auto progress = [&](std::string_view what, uint64_t done, uint64_t total) {
    bar.show(what, done, total);
  };
  Result<gguf::File> opened = unless_interrupted(model::open_model(path, progress, signal_came));
  if (!opened && opened.error().code == ErrorCode::kIo) {
    return Error{ErrorCode::kIo, opened.error().message + hint_for_unopened(path)};
  }
  TRY_ASSIGN(gguf::File file, std::move(opened));
  bar.clear();
  if (model::is_synthetic(path)) warn_of_other_type(file, path);
  return file;
}

namespace {

Result<model::LoadedModel> load(gguf::File file, std::shared_ptr<backend::Backend> backend,
                                const ModelOptions& options) {
  ProgressBar bar;
  model::LoadOptions load;
  TRY_ASSIGN(load.repack_cache, repack_cache_folder(options));
  load.cancelled = signal_came;
  load.progress = [&](std::string_view what, uint64_t done, uint64_t total) { bar.show(what, done, total); };
  if (options.check_tensors) {
    load.tensor_check = *options.check_tensors ? model::TensorCheck::kStrict : model::TensorCheck::kNone;
  }
  TRY_ASSIGN(model::LoadedModel loaded,
             unless_interrupted(model::load_from_gguf(std::move(file), std::move(backend), load)));
  bar.clear();
  for (const std::string& warning : loaded.warnings) warn(warning);
  const backend::Weight& head = loaded.model->weights().output;
  if (options.head_screen.value_or(false) && !loaded.model->backend().has_screen(head)) {
    warn(fmt::format(
        "--head-screen changes nothing: expected --backend parallel or simd and an LM head in "
        "F32, F16, BF16, Q8_0 or Q6_K with rows of a multiple of 32, found --backend {} and {} with "
        "rows of {}",
        loaded.model->backend().info().backend, name(head.dtype), head.cols));
  }
  return loaded;
}

Status check_sum(const gguf::File& file, uint64_t weights, uint64_t kv, const backend::Backend& backend,
                 std::string_view advice = "") {
  const uint64_t sum = checked_add(weights, kv).value_or(UINT64_MAX);
  const auto available = backend.available_memory();
  if (!available || sum <= *available) return {};
  std::vector<model::MemoryItem> items;
  if (weights > 0) items = model::tensor_items(file);
  items.push_back({"keys and values", kv});
  const backend::DeviceInfo info = backend.info();
  return make_error(
      ErrorCode::kResource,
      "{}: needs {} of memory, {} of weights and {} of keys and values; {}; {} are available{}{}",
      escaped(file.path(), 4096), human_bytes(sum), human_bytes(weights), human_bytes(kv),
      model::largest_items(std::move(items)), human_bytes(*available),
      info.is_cpu() ? "" : " on " + info.device,
      advice.empty() && !info.is_cpu() ? model::kHostAdvice : advice);
}

// What check_memory() says where the backend's memory has no room for keys and values of `tokens` positions
// beside the weights that it copies. Weights that have none themselves are left to who loads them: it knows a
// way to do without.
Status check_context(const gguf::File& file, const backend::Backend& backend, const ModelOptions& options,
                     int64_t tokens) {
  TRY_ASSIGN(const DType type, kv_type(options));
  const auto kv = kv_bytes(file, type, tokens);
  if (!kv && kv.error().code == ErrorCode::kInvalidArgument) return kv.error();
  if (!kv) return {};  // what is wrong with the file is said when it is loaded
  const uint64_t weights = model::weight_memory(file, backend, !options.repack_cache.empty());
  const auto available = backend.available_memory();
  if (available && weights > *available) return {};
  return check_sum(
      file, weights, *kv, backend,
      type == DType::kQ8_0 ? "; ask for fewer tokens" : "; ask for fewer tokens, or for a smaller --kv-type");
}

}  // namespace

Result<uint64_t> kv_bytes(const gguf::File& file, DType kv_type, int64_t tokens) {
  TRY_ASSIGN(const model::ModelConfig config, model::read_config(file));
  kv::Config kv{.layers = {}, .dtype = kv_type};
  for (const model::LayerConfig& layer : config.layers)
    kv.layers.push_back({layer.n_kv_heads, config.head_dim});
  TRY(kv::check_type(kv));
  const int64_t positions = std::min(tokens, config.context_length);
  // A number that is no memory's, where it has more than 64 bits.
  return checked_mul(kv::bytes_per_position(kv), static_cast<uint64_t>(positions)).value_or(UINT64_MAX);
}

Status check_memory(const gguf::File& file, uint64_t kv_bytes, const backend::Backend& backend) {
  uint64_t weights = 0;
  for (const gguf::TensorInfo& info : file.tensors()) weights += info.tensor.bytes();
  return check_sum(file, weights, kv_bytes, backend);
}

Result<model::LoadedModel> load_model(const std::string& path, const ModelOptions& options,
                                      int64_t kv_tokens) {
  TRY(check_repack_cache_argument(options, path));
  TRY_ASSIGN(auto backend, create_backend(options));  // before a model is made for nothing
  TRY_ASSIGN(gguf::File file, open_model(path));
  if (kv_tokens > 0) TRY(check_context(file, *backend, options, kv_tokens));
  return load(std::move(file), std::move(backend), options);
}

Result<model::LoadedModel> load_model(gguf::File file, std::shared_ptr<backend::Backend> backend,
                                      const ModelOptions& options) {
  return load(std::move(file), std::move(backend), options);
}

}  // namespace inferno::apps
