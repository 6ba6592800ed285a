// inferno quantize IN OUT TYPE: a model's file with its weights in another format.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "apps/commands.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/output_file.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "apps/table.h"
#include "apps/validators.h"
#include "base/json.h"
#include "base/text.h"
#include "quantize/quantize_file.h"

namespace inferno::apps {
namespace {

struct Arguments {
  std::string input, output, type, head;
  unsigned threads = 0;
  bool verbose = false;
  bool json = false;
};

// What a row of the table or the last line sums up.
struct Total {
  uint64_t n_tensors = 0, n_elements = 0, bytes = 0;
  quantize::Distance distance;

  void add(const quantize::QuantizedTensor& tensor) {
    n_tensors += 1;
    n_elements += tensor.n_elements;
    bytes += tensor.bytes_after;
    distance += tensor.distance;
  }
  double bits_per_weight() const {
    return n_elements == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(n_elements);
  }
};

Total total_of(const quantize::Report& report) {
  Total total;
  for (const quantize::QuantizedTensor& tensor : report.tensors) total.add(tensor);
  return total;
}

std::string percent(const quantize::Distance& distance) {
  return fmt::format("{:#.3g} %", 100 * distance.relative_rmse());
}

// Before the work, so that it can be stopped.
void warn_of_quantized_source(const gguf::File& file, const quantize::FileType& file_type) {
  const std::vector<DType> types = quantize::tensor_types(file, file_type);
  size_t n = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const DType from = file.tensors()[i].tensor.dtype;
    if (types[i] != from && traits(from).block_elems > 1 && traits(types[i]).block_elems > 1) ++n;
  }
  if (n == 0) return;
  warn(fmt::format(
      "{}: {} of {} tensors are quantized already: errors add up; better start from F32, F16 or BF16",
      escaped(file.path(), 4096), n, types.size()));
}

void warn_of_other_types(const quantize::Report& report) {
  std::map<std::pair<DType, DType>, std::vector<std::string>> names;
  for (const quantize::QuantizedTensor& tensor : report.tensors) {
    if (tensor.to != tensor.wanted) names[{tensor.wanted, tensor.to}].push_back(tensor.name);
  }
  for (const auto& [types, of_these] : names) {
    warn(fmt::format("rows of {} are no whole blocks of {}: stored as {}",
                     of_these.size() == 1
                         ? quote(of_these.front())
                         : fmt::format("{} tensors, {} the first,", of_these.size(), quote(of_these.front())),
                     name(types.first), name(types.second)));
  }
}

std::vector<std::string> tensor_lines(const quantize::Report& report) {
  Table table({Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight});
  table.add_row({"tensor", "shape", "from", "to", "size", "relative RMSE"});
  for (const quantize::QuantizedTensor& tensor : report.tensors) {
    table.add_row({escaped(tensor.name), fmt::format("[{}]", join(std::span(tensor.shape), ", ")),
                   std::string(name(tensor.from)), std::string(name(tensor.to)),
                   human_bytes(tensor.bytes_after), percent(tensor.distance)});
  }
  return table.lines();
}

std::vector<std::string> type_lines(const quantize::Report& report) {
  std::map<DType, Total> totals;
  for (const quantize::QuantizedTensor& tensor : report.tensors) totals[tensor.to].add(tensor);
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.add_row({"type", "tensors", "elements", "size", "bits/weight", "relative RMSE"});
  const auto add = [&](std::string_view type, const Total& total) {
    table.add_row({std::string(type), group_digits(total.n_tensors), group_digits(total.n_elements),
                   human_bytes(total.bytes), fmt::format("{:.2f}", total.bits_per_weight()),
                   percent(total.distance)});
  };
  for (const auto& [dtype, total] : totals) add(name(dtype), total);
  add("all", total_of(report));
  return table.lines();
}

// nullptr of a file without tensors.
const quantize::QuantizedTensor* head_of(const quantize::Report& report) {
  std::vector<quantize::WeightShape> weights;
  for (const quantize::QuantizedTensor& tensor : report.tensors)
    weights.push_back({tensor.name, static_cast<int>(tensor.shape.size())});
  const auto head =
      std::ranges::find(report.tensors, quantize::head_of(weights), &quantize::QuantizedTensor::name);
  return head == report.tensors.end() ? nullptr : &*head;
}

std::string text_report(const Arguments& arguments, const quantize::FileType& file_type,
                        const quantize::Report& report, double seconds) {
  std::string text;
  const auto add_table = [&](const std::vector<std::string>& lines) {
    text += dim(lines.front(), false) + "\n";
    for (size_t i = 1; i < lines.size(); ++i) text += lines[i] + "\n";
    text += "\n";
  };
  if (arguments.verbose) add_table(tensor_lines(report));
  add_table(type_lines(report));
  const quantize::QuantizedTensor* own = arguments.head.empty() ? nullptr : head_of(report);
  const std::string head = own == nullptr ? "" : fmt::format(" with the head in {}", name(own->to));
  return text + fmt::format("{}: {}{}, {} instead of {}, in {:.1f} s\n", for_terminal(arguments.output),
                            file_type.name, head, human_bytes(report.bytes_after),
                            human_bytes(report.bytes_before), seconds);
}

std::string json_report(const Arguments& arguments, const quantize::FileType& file_type,
                        const quantize::Report& report, double seconds) {
  const Total total = total_of(report);
  Json json = {{"input", arguments.input},
               {"output", arguments.output},
               {"type", file_type.name},
               {"head", file_type.head ? Json(name(*file_type.head)) : Json(nullptr)},
               {"bytes_before", report.bytes_before},
               {"bytes_after", report.bytes_after},
               {"bits_per_weight", total.bits_per_weight()},
               {"relative_rmse", total.distance.relative_rmse()},
               {"seconds", seconds},
               {"tensors", Json::array()}};
  for (const quantize::QuantizedTensor& tensor : report.tensors) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"shape", tensor.shape},
                               {"from", name(tensor.from)},
                               {"to", name(tensor.to)},
                               {"wanted", name(tensor.wanted)},
                               {"n_elements", tensor.n_elements},
                               {"bytes_before", tensor.bytes_before},
                               {"bytes_after", tensor.bytes_after},
                               {"relative_rmse", tensor.distance.relative_rmse()}});
  }
  return json_text(json, 2) + "\n";
}

// What TYPE and --head ask for together.
Result<quantize::FileType> read_types(const Arguments& arguments) {
  TRY_ASSIGN(quantize::FileType file_type, quantize::parse_file_type(arguments.type));
  if (arguments.head.empty()) return file_type;
  TRY_ASSIGN(file_type.head, quantize::parse_format("--head", arguments.head));
  return file_type;
}

// The exit code.
Result<int> run(const Arguments& arguments) {
  const std::atomic<bool>& cancelled = install_signal_flag();
  TRY_ASSIGN(const quantize::FileType file_type, read_types(arguments));
  TRY(check_output_file(arguments.output, Content::kModel));
  TRY_ASSIGN(const gguf::File file, open_model(arguments.input));
  for (const std::string& warning : file.warnings()) warn(warning);
  TRY(check_free_space(arguments.output, quantize::quantized_bytes(file, file_type)));
  if (file.tensors().empty())
    warn(fmt::format("{} has no tensors (a vocabulary alone?): there is nothing to quantize",
                     for_terminal(arguments.input)));
  warn_of_quantized_source(file, file_type);
  const auto start = std::chrono::steady_clock::now();
  ProgressBar bar;
  const Result<quantize::Report> report = quantize::quantize_file(
      file, file_type, arguments.output,
      {.n_threads = arguments.threads,
       .progress = [&](std::string_view what, uint64_t done, uint64_t total) { bar.show(what, done, total); },
       .cancelled = &cancelled});
  bar.clear();
  if (!report) return not_written(arguments.output, report.error());
  warn_of_other_types(*report);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  write_stdout(arguments.json ? json_report(arguments, file_type, *report, seconds)
                              : text_report(arguments, file_type, *report, seconds));
  return finish_stdout();
}

// The names of file types; of all, or of those that are a format for every matrix.
enum class Names { kAll, kFormats };
std::vector<std::string> type_names(Names which) {
  std::vector<std::string> names;
  for (const quantize::FileType& file_type : quantize::file_types()) {
    if (which == Names::kAll || !quantize::is_mix(file_type)) names.emplace_back(file_type.name);
  }
  return names;
}

// "q4_k_m": as people type them.
std::vector<std::string> typed_names(Names which) {
  std::vector<std::string> names = type_names(which);
  for (std::string& name : names)
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return names;
}

}  // namespace

Run setup_quantize(Command command) {
  const auto arguments = std::make_shared<Arguments>();
  command
      .add_option("IN", arguments->input,
                  "A GGUF model; of a split model, any of its files; or synthetic:PRESET[:TYPE]")
      .required()
      .check(not_empty())
      .value_name("");
  command.add_option("OUT", arguments->output, "The .gguf file to write")
      .required()
      .check(not_empty())
      .value_name("");
  command.add_option("TYPE", arguments->type, "One of " + join(type_names(Names::kAll), ", "))
      .required()
      .check(offered(typed_names(Names::kAll)))
      .value_name("");
  command
      .add_option("--head", arguments->head,
                  "A format of its own for the LM head: output.weight or, where there is none, "
                  "token_embd.weight")
      .check(offered(typed_names(Names::kFormats)))
      .check(not_empty())
      .value_name("TYPE");
  command
      .add_option("--threads", arguments->threads,
                  "Without it one for each CPU; the file is the same with any")
      .check(whole_number_from(1, 1024))
      .value_name("N");
  command.add_flag("--verbose", arguments->verbose, "A row for each tensor too");
  command.add_flag("--json", arguments->json, "Print one JSON object, a row for each tensor included");
  command.set_footer(
      "A format gives all matrices that format. Q3_K_M, Q4_K_S, Q4_K_M, Q5_K_S and Q5_K_M are the mixes "
      "known\n"
      "by these names: the head in Q6_K, and some attn_v, ffn_down and attn_output in more bits than the "
      "rest.\n"
      "Vectors are F32. relative RMSE is the error as a share of the weights, both as root mean square.\n\n"
      "Examples:\n"
      "  inferno quantize model-f16.gguf model-q4_k_m.gguf q4_k_m\n"
      "  inferno quantize model-f16.gguf model-q8_0.gguf q8_0 --verbose\n"
      "  inferno quantize model-f16.gguf model-q4_0.gguf q4_0 --head q6_k   as published Q4_0 files have it");
  return [arguments] {
    const Result<int> code = run(*arguments);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
