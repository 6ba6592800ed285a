// Written piece by piece: an array of 64 Mi elements must not be held as JSON in memory.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "apps/gguf_report.h"
#include "base/json.h"
#include "gguf/visit.h"

namespace inferno::apps {
namespace {

template <class T>
std::string element_json(T element) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return json_text(element);
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(element) ? fmt::format("{}", element) : "null";
  } else {
    return fmt::format("{}", element);
  }
}

void write_value(const gguf::Value& value, StdoutBuffer& out) {
  const bool is_array = value.type == gguf::ValueType::kArray;
  out.append(fmt::format("{{\"type\":\"{}\",", gguf::name(value.type)));
  if (is_array) out.append(fmt::format("\"element_type\":\"{}\",", gguf::name(value.element_type)));
  out.append(is_array ? "\"value\":[" : "\"value\":");
  std::string_view separator;
  gguf::visit_elements(value, [&](auto element) {
    out.append(separator);
    separator = ",";
    return out.append(element_json(element));
  });
  out.append(is_array ? "]}" : "}");
}

void write_metadata(const gguf::File& file, StdoutBuffer& out) {
  out.append("\"metadata\":{");
  std::string_view separator = "\n";
  for (const auto& [key, value] : file.metadata()) {
    out.append(separator);
    separator = ",\n";
    out.append(json_text(key) + ":");
    write_value(value, out);
  }
  out.append("},\n");
}

Json tensor_json(const gguf::TensorInfo& info) {
  const Tensor& tensor = info.tensor;
  return {{"name", info.name},
          {"type", name(tensor.dtype)},
          {"shape", std::span(tensor.shape).first(static_cast<size_t>(tensor.n_dims))},
          {"bytes", tensor.bytes()},
          {"offset", info.offset},
          {"file_offset", info.file_offset},
          {"shard", info.shard}};
}

void write_tensors_json(const gguf::File& file, StdoutBuffer& out) {
  out.append("\"tensors\":[");
  std::string_view separator = "\n";
  for (const gguf::TensorInfo& info : file.tensors()) {
    out.append(separator);
    separator = ",\n";
    out.append(json_text(tensor_json(info)));
  }
  out.append("],\n");
}

Json totals_json(const gguf::File& file) {
  Json totals = Json::array();
  for (const TypeTotal& total : totals_by_type(file)) {
    totals.push_back({{"type", total.type},
                      {"tensors", total.n_tensors},
                      {"elements", total.n_elements},
                      {"bytes", total.bytes},
                      {"bits_per_weight", total.bits_per_weight()}});
  }
  return totals;
}

}  // namespace

void write_json_report(const gguf::File& file, StdoutBuffer& out) {
  out.append(fmt::format(
      "{{\"file\":{},\n\"version\":{},\"alignment\":{},\"bytes\":{},\"shards\":{},\"data_offset\":{},\n",
      json_text(file.path()), file.version(), file.alignment(), file.file_bytes(), file.n_shards(),
      file.data_offset()));
  write_metadata(file, out);
  write_tensors_json(file, out);
  out.append(fmt::format("\"totals\":{},\n\"warnings\":{}}}\n", json_text(totals_json(file)),
                         json_text(file.warnings())));
}

}  // namespace inferno::apps
