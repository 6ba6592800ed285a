#include "model/synthetic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "gguf/writer.h"
#include "model/synthetic_tensors.h"
#include "model/synthetic_vocabulary.h"
#include "model/synthetic_weights.h"
#include "tensor/quant_blocks.h"

namespace inferno::model {
namespace {

constexpr std::string_view kPrefix = "synthetic:";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

Error unknown_name(std::string_view spec, std::string_view what, std::string_view word,
                   const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view nearest = nearest_name(word, views);
  return make_error(ErrorCode::kInvalidArgument, "{}: {}: expected one of {}, found {}{}",
                    escaped(spec, 4096), what, join(known, ", "), quote(word),
                    nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

Result<Preset> read_preset(std::string_view spec, std::string_view word) {
  if (const Preset* preset = find_preset(word)) return *preset;
  std::vector<std::string> known;
  for (const Preset& preset : presets()) known.emplace_back(preset.name);
  return unknown_name(spec, "preset", word, known);
}

// Sets dtype and mix.
Status read_type(std::string_view text, std::string_view word, SyntheticSpec& spec) {
  std::vector<std::string> known;
  for (const DTypeTraits& type : dtype_table()) {
    if (!type.is_weight) continue;
    known.push_back(lower_case(type.name));
    if (!equals_ignoring_case(type.name, word)) continue;
    spec.dtype = type.dtype;
    return {};
  }
  for (const quantize::FileType& type : quantize::file_types()) {
    if (!quantize::is_mix(type)) continue;
    known.push_back(lower_case(type.name));
    if (!equals_ignoring_case(type.name, word)) continue;
    spec.dtype = type.dtype;
    spec.mix = type;
    return {};
  }
  return unknown_name(text, "weight type", word, known);
}

Result<uint64_t> read_seed(std::string_view spec, std::string_view word) {
  uint64_t seed = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, seed);
  if (error == std::errc() && stop == end) return seed;
  return make_error(ErrorCode::kInvalidArgument,
                    "{}: seed: expected a whole number from 0 to 18446744073709551615, found {}",
                    escaped(spec, 4096), quote(word));
}

std::vector<std::string_view> split_at_colons(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// What the frequencies of each rotary pair are divided by.
std::vector<float> rope_factors(const Preset& preset) {
  const RopeFactors& f = preset.rope_factors;
  std::vector<float> factors;
  for (int64_t i = 0; i < preset.head_dim / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(preset.head_dim);
    const double wavelength = 2 * std::numbers::pi * std::pow(double{preset.rope_theta}, exponent);
    // How much of the frequency is kept: 0 for wavelengths that are to be stretched, 1 for those that stay.
    const double periods = f.original_context / wavelength;
    const double kept =
        std::clamp((periods - f.low_freq_factor) / (f.high_freq_factor - f.low_freq_factor), 0.0, 1.0);
    factors.push_back(static_cast<float>(1 / ((1 - kept) / f.factor + kept)));
  }
  return factors;
}

void add_metadata(const SyntheticSpec& spec, gguf::Writer& writer) {
  const Preset& p = spec.preset;
  const auto key = [&](std::string_view suffix) { return fmt::format("{}.{}", p.arch, suffix); };
  const auto add_size = [&](std::string_view suffix, int64_t size) {
    writer.add(key(suffix), static_cast<uint32_t>(size));
  };
  writer.add("general.architecture", p.arch);
  writer.add("general.type", "model");
  writer.add("general.name", fmt::format("{} (synthetic)", p.title));
  writer.add("general.description",
             fmt::format("random weights, seed {}: for benchmarks, not for reading", spec.seed));
  if (spec.mix) writer.add("general.file_type", spec.mix->id);
  if (traits(spec.dtype).block_elems > 1) writer.add("general.quantization_version", uint32_t{2});
  add_size("vocab_size", p.vocab_size);
  add_size("block_count", p.n_layers);
  add_size("context_length", p.context_length);
  add_size("embedding_length", p.dim);
  add_size("feed_forward_length", p.hidden_dim);
  add_size("attention.head_count", p.n_heads);
  add_size("attention.head_count_kv", p.n_kv_heads);
  add_size("attention.key_length", p.head_dim);
  add_size("attention.value_length", p.head_dim);
  writer.add(key("attention.layer_norm_rms_epsilon"), p.norm_eps);
  if (p.window > 0) add_size("attention.sliding_window", p.window);
  add_size("rope.dimension_count", p.head_dim);
  writer.add(key("rope.freq_base"), p.rope_theta);
  if (p.rope_scale != 1) {
    writer.add(key("rope.scaling.type"), "linear");
    writer.add(key("rope.scaling.factor"), p.rope_scale);
  }
  add_vocabulary(p, writer);
}

// What each tensor would have, if it is a matrix, before storage_type().
std::vector<DType> wanted_types(const SyntheticSpec& spec, const std::vector<SyntheticTensor>& tensors) {
  if (!spec.mix) return std::vector<DType>(tensors.size(), spec.dtype);
  std::vector<quantize::WeightShape> weights;
  for (const SyntheticTensor& tensor : tensors) {
    weights.push_back({tensor.name, static_cast<int>(tensor.shape.size())});
  }
  return quantize::tensor_types(weights, *spec.mix);
}

// Makes a model once, for whoever takes its bytes. The writer's sources point here.
class Synthesis {
 public:
  Synthesis(const SyntheticSpec& spec, const SynthesizeOptions& options)
      : spec_(spec), options_(options), pool_(options.n_threads) {
    add_metadata(spec, writer_);
    const std::vector<SyntheticTensor> tensors = synthetic_tensors(spec.preset);
    const std::vector<DType> wanted = wanted_types(spec, tensors);
    for (size_t i = 0; i < tensors.size(); ++i) add_tensor(tensors[i], wanted[i], i);
  }
  Synthesis(const Synthesis&) = delete;
  Synthesis& operator=(const Synthesis&) = delete;

  const gguf::Writer& writer() const { return writer_; }

 private:
  // Draws the blocks of `out`, the first of which is `first_block`.
  using DrawFn = std::function<void(uint64_t first_block, std::span<std::byte> out)>;

  void add_tensor(const SyntheticTensor& tensor, DType wanted, uint64_t index) {
    const uint64_t key = tensor_key(spec_.seed, index);
    const DType dtype =
        tensor.draw == Draw::kMatrix ? storage_type(wanted, tensor.shape.back()) : DType::kF32;
    total_bytes_ += row_bytes(dtype, static_cast<size_t>(tensor.n_elements()));
    writer_.add_tensor(
        tensor.name, dtype, tensor.shape,
        [this, draw = draw_fn(tensor, dtype, key), dtype](uint64_t first_element, std::span<std::byte> out) {
          return make(draw, traits(dtype), first_element, out);
        });
  }

  static DrawFn uniform(double low, double high, bool random_sign, uint64_t key) {
    return [=](uint64_t first, std::span<std::byte> out) {
      draw_uniform(low, high, random_sign, key, first, out);
    };
  }

  DrawFn draw_fn(const SyntheticTensor& tensor, DType dtype, uint64_t key) const {
    const double sigma = 1 / std::sqrt(static_cast<double>(tensor.shape.back()));
    switch (tensor.draw) {
      case Draw::kMatrix:
        break;
      case Draw::kNorm:
        return uniform(0.75, 1.25, false, key);
      case Draw::kOutputNorm:
        return uniform(0.75, 1.25, true, key);
      case Draw::kBias:
        return uniform(-0.1, 0.1, false, key);
      case Draw::kRopeFactor:
        return [factors = rope_factors(spec_.preset)](uint64_t first, std::span<std::byte> out) {
          const auto bytes = std::as_bytes(std::span(factors).subspan(first));
          std::copy_n(bytes.begin(), out.size(), out.begin());
        };
    }
    return [=](uint64_t first, std::span<std::byte> out) { draw_weights(dtype, sigma, key, first, out); };
  }

  // In pieces, on all threads.
  Status make(const DrawFn& draw, const DTypeTraits& type, uint64_t first_element, std::span<std::byte> out) {
    constexpr size_t kPieceElements = size_t{1} << 16;
    static_assert(kPieceElements % kSuperBlock == 0);
    if (options_.cancelled && options_.cancelled()) {
      return Error{ErrorCode::kCancelled, "cancelled"};
    }
    const size_t piece_blocks = kPieceElements / type.block_elems;
    const size_t piece_bytes = piece_blocks * type.block_bytes;
    const uint64_t first_block = first_element / type.block_elems;
    pool_.parallel_for((out.size() + piece_bytes - 1) / piece_bytes, [&](size_t i) {
      const size_t begin = i * piece_bytes;
      draw(first_block + i * piece_blocks, out.subspan(begin, std::min(piece_bytes, out.size() - begin)));
    });
    done_bytes_ += out.size();
    if (options_.progress) options_.progress("synthesizing", done_bytes_, total_bytes_);
    return {};
  }

  const SyntheticSpec& spec_;
  const SynthesizeOptions& options_;
  ThreadPool pool_;
  gguf::Writer writer_;
  uint64_t total_bytes_ = 0;  // of all tensors
  uint64_t done_bytes_ = 0;
};

}  // namespace

bool is_synthetic(std::string_view path) {
  return equals_ignoring_case(path.substr(0, kPrefix.size()), kPrefix);
}

Result<SyntheticSpec> parse_synthetic(std::string_view text) {
  const std::vector<std::string_view> words = split_at_colons(text);
  if (!is_synthetic(text) || words.size() < 2 || words.size() > 4) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: expected synthetic:PRESET[:TYPE[:SEED]], as synthetic:{}:q8_0",
                      escaped(text, 4096), presets().front().name);
  }
  SyntheticSpec spec;
  TRY_ASSIGN(spec.preset, read_preset(text, words[1]));
  if (words.size() > 2) {
    TRY(read_type(text, words[2], spec));
  }
  if (words.size() == 4) {
    TRY_ASSIGN(spec.seed, read_seed(text, words[3]));
  }
  return spec;
}

std::string_view type_name(const SyntheticSpec& spec) {
  return spec.mix ? spec.mix->name : name(spec.dtype);
}

std::string synthetic_path(const SyntheticSpec& spec) {
  return fmt::format("{}{}:{}{}", kPrefix, spec.preset.name, lower_case(type_name(spec)),
                     spec.seed == 0 ? "" : fmt::format(":{}", spec.seed));
}

Result<gguf::File> synthesize(const SyntheticSpec& spec, const SynthesizeOptions& options) {
  const Synthesis synthesis(spec, options);
  return synthesis.writer().build(synthetic_path(spec));
}

uint64_t synthetic_bytes(const SyntheticSpec& spec) {
  const SynthesizeOptions options;
  return Synthesis(spec, options).writer().total_bytes();
}

Result<uint64_t> write_synthetic(const SyntheticSpec& spec, const std::string& path,
                                 const SynthesizeOptions& options) {
  const Synthesis synthesis(spec, options);
  TRY(synthesis.writer().save(path));
  return synthesis.writer().total_bytes();
}

}  // namespace inferno::model
