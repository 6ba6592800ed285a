#include "apps/gguf_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "apps/table.h"
#include "base/text.h"
#include "gguf/visit.h"

namespace inferno::apps {
namespace {

constexpr size_t kStringBytes = 32;   // of one string
constexpr size_t kElementBytes = 24;  // of a string in an array
constexpr size_t kArrayColumns = 36;  // after which an array ends in "…"

std::string cut_string(std::string_view text, size_t max_bytes) {
  return '"' + escaped(text, max_bytes) + '"';
}

template <class T>
std::string element_text(T element, size_t max_bytes) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return max_bytes == 0 ? quote(element) : cut_string(element, max_bytes);
  } else {
    return fmt::format("{}", element);
  }
}

void write_whole_value(const gguf::Value& value, StdoutBuffer& out) {
  const bool is_array = value.type == gguf::ValueType::kArray;
  if (is_array) out.append("[");
  std::string_view separator;
  gguf::visit_elements(value, [&](auto element) {
    out.append(separator);
    separator = ", ";
    return out.append(element_text(element, 0));
  });
  if (is_array) out.append("]");
}

std::string short_array(const gguf::Value& value) {
  std::string text = "[";
  uint64_t shown = 0;
  gguf::visit_elements(value, [&](auto element) {
    if (shown > 0) text += ", ";
    text += element_text(element, kElementBytes);
    ++shown;
    return text.size() < kArrayColumns;
  });
  return text + (shown < value.count ? ", …]" : "]");
}

std::string short_value(const gguf::Value& value) {
  if (value.type == gguf::ValueType::kArray) return short_array(value);
  return gguf::visit_element(value.type, value.payload.data(), [](auto element) {
    std::string text = element_text(element, kStringBytes);
    if constexpr (std::is_same_v<decltype(element), std::string_view>) {
      if (element.size() > kStringBytes) text += fmt::format(" ({} bytes)", group_digits(element.size()));
    }
    return text;
  });
}

void write_heading(std::string_view heading, StdoutBuffer& out) {
  out.append(fmt::format("\n{}\n", heading));
}

// The first line names the columns.
void write_table(const Table& table, StdoutBuffer& out) {
  const auto lines = table.lines();
  out.append(dim(lines.front(), false) + "\n");
  for (size_t i = 1; i < lines.size(); ++i) out.append(lines[i] + "\n");
}

void write_header(const gguf::File& file, StdoutBuffer& out) {
  Table table({Align::kLeft, Align::kLeft});
  table.add_row({"format", fmt::format("GGUF version {}, little-endian", file.version())});
  table.add_row({"size", fmt::format("{} ({} bytes)", human_bytes(file.file_bytes()),
                                     group_digits(file.file_bytes()))});
  if (file.n_shards() > 1) table.add_row({"shards", fmt::format("{} files", file.n_shards())});
  table.add_row({"alignment", fmt::format("{} bytes", file.alignment())});
  table.add_row({"data", fmt::format("from byte {}", group_digits(file.data_offset()))});
  table.add_row({"metadata", fmt::format("{} keys", group_digits(file.metadata().size()))});
  table.add_row({"tensors", group_digits(file.tensors().size())});
  out.append(escaped(file.path(), 4096) + "\n");
  for (const std::string& line : table.lines()) out.append(line + "\n");
}

// Not a Table: with a million keys its rows would take much more memory than the file.
void write_metadata(const gguf::File& file, bool full, StdoutBuffer& out) {
  if (file.metadata().empty()) return;
  constexpr std::string_view kKey = "key", kType = "type";
  size_t key_width = kKey.size(), type_width = kType.size();
  for (const auto& [key, value] : file.metadata()) {
    key_width = std::max(key_width, display_width(escaped(key)));
    type_width = std::max(type_width, display_width(type_text(value)));
  }
  const auto line = [&](std::string_view key, std::string_view type) {
    return fmt::format("  {}  {}  ", padded(key, key_width, Align::kLeft),
                       padded(type, type_width, Align::kLeft));
  };
  write_heading("metadata", out);
  out.append(dim(line(kKey, kType) + "value", false) + "\n");
  for (const auto& [key, value] : file.metadata()) {
    out.append(line(escaped(key), type_text(value)));
    if (full) {
      write_whole_value(value, out);
    } else {
      out.append(short_value(value));
    }
    if (!out.append("\n")) return;
  }
}

void write_tensors(const gguf::File& file, StdoutBuffer& out) {
  if (file.tensors().empty()) return;
  const bool split = file.n_shards() > 1;
  std::vector<Align> columns = {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight};
  std::vector<std::string> names = {"name", "type", "shape", "size", "offset"};
  if (split) {
    columns.push_back(Align::kRight);
    names.push_back("shard");
  }
  Table table(std::move(columns));
  table.add_row(std::move(names));
  for (const gguf::TensorInfo& info : file.tensors()) {
    const Tensor& tensor = info.tensor;
    std::vector<std::string> cells = {escaped(info.name), std::string(name(tensor.dtype)),
                                      tensor.shape_string(), human_bytes(tensor.bytes()),
                                      std::to_string(info.file_offset)};
    if (split) cells.push_back(std::to_string(info.shard + 1));
    table.add_row(std::move(cells));
  }
  write_heading("tensors (shape outermost first, offset in the file)", out);
  write_table(table, out);
}

void write_totals(const gguf::File& file, StdoutBuffer& out) {
  if (file.tensors().empty()) return;
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.add_row({"type", "tensors", "elements", "size", "bits/weight"});
  for (const TypeTotal& total : totals_by_type(file)) {
    table.add_row({total.type, group_digits(total.n_tensors), group_digits(total.n_elements),
                   human_bytes(total.bytes), fmt::format("{:.2f}", total.bits_per_weight())});
  }
  write_heading("totals", out);
  write_table(table, out);
}

}  // namespace

double TypeTotal::bits_per_weight() const {
  return n_elements == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(n_elements);
}

std::vector<TypeTotal> totals_by_type(const gguf::File& file) {
  std::map<DType, TypeTotal> by_type;
  TypeTotal all{.type = "all"};
  for (const gguf::TensorInfo& info : file.tensors()) {
    TypeTotal& of_type = by_type[info.tensor.dtype];
    of_type.type = name(info.tensor.dtype);
    for (TypeTotal* total : {&of_type, &all}) {
      total->n_tensors += 1;
      total->n_elements += static_cast<uint64_t>(info.tensor.n_elements());
      total->bytes += info.tensor.bytes();
    }
  }
  std::vector<TypeTotal> totals;
  for (auto& [dtype, total] : by_type) totals.push_back(std::move(total));
  std::stable_sort(totals.begin(), totals.end(),
                   [](const TypeTotal& a, const TypeTotal& b) { return a.bytes > b.bytes; });
  totals.push_back(std::move(all));
  return totals;
}

std::string type_text(const gguf::Value& value) {
  if (value.type != gguf::ValueType::kArray) return std::string(gguf::name(value.type));
  return fmt::format("{}[{}]", gguf::name(value.element_type), value.count);
}

void write_text_report(const gguf::File& file, bool full, StdoutBuffer& out) {
  write_header(file, out);
  write_metadata(file, full, out);
  write_tensors(file, out);
  write_totals(file, out);
}

}  // namespace inferno::apps
