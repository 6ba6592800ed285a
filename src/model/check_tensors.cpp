#include "model/check_tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "base/text.h"
#include "base/thread_pool.h"
#include "kernels/reference/reference.h"
#include "tensor/quant_blocks.h"

namespace inferno::model {
namespace {

// Where the 16-bit values that decide stand in a block: one that is not finite spoils every element of the
// block (infinity times zero is NaN), and with finite ones no product can overflow.
struct ScaleLayout {
  DType dtype;
  uint16_t exponent_mask;  // all ones: not finite
  std::array<uint16_t, 2> offsets;
};
constexpr uint16_t kHalf = 0x7c00, kBfloat = 0x7f80;
constexpr std::array<ScaleLayout, 14> kScales{{
    {DType::kF16, kHalf, {0, 0}},
    {DType::kBF16, kBfloat, {0, 0}},
    {DType::kQ4_0, kHalf, {offsetof(BlockQ4_0, d), offsetof(BlockQ4_0, d)}},
    {DType::kQ4_1, kHalf, {offsetof(BlockQ4_1, d), offsetof(BlockQ4_1, m)}},
    {DType::kQ5_0, kHalf, {offsetof(BlockQ5_0, d), offsetof(BlockQ5_0, d)}},
    {DType::kQ5_1, kHalf, {offsetof(BlockQ5_1, d), offsetof(BlockQ5_1, m)}},
    {DType::kQ8_0, kHalf, {offsetof(BlockQ8_0, d), offsetof(BlockQ8_0, d)}},
    {DType::kQ2_K, kHalf, {offsetof(BlockQ2_K, d), offsetof(BlockQ2_K, dmin)}},
    {DType::kQ3_K, kHalf, {offsetof(BlockQ3_K, d), offsetof(BlockQ3_K, d)}},
    {DType::kQ4_K, kHalf, {offsetof(BlockQ4_K, d), offsetof(BlockQ4_K, dmin)}},
    {DType::kQ5_K, kHalf, {offsetof(BlockQ5_K, d), offsetof(BlockQ5_K, dmin)}},
    {DType::kQ6_K, kHalf, {offsetof(BlockQ6_K, d), offsetof(BlockQ6_K, d)}},
    {DType::kIQ4_NL, kHalf, {offsetof(BlockIQ4_NL, d), offsetof(BlockIQ4_NL, d)}},
    {DType::kIQ4_XS, kHalf, {offsetof(BlockIQ4_XS, d), offsetof(BlockIQ4_XS, d)}},
}};

struct Span {
  int64_t first = 0;
  int64_t count = 0;
  void add(int64_t begin, int64_t n) {
    if (count == 0) first = begin;
    count += n;
  }
};

// Elements of a tensor that lie at `data`, whole blocks.
struct Part {
  DType dtype;
  int64_t first, n;
  const std::byte* data;
};

Span scan_scales(const Part& part, const ScaleLayout& layout) {
  const DTypeTraits& t = traits(part.dtype);
  const std::byte* block = part.data;
  Span found;
  for (int64_t i = part.first; i < part.first + part.n; i += t.block_elems, block += t.block_bytes) {
    bool finite = true;
    for (const uint16_t offset : layout.offsets) {
      uint16_t bits;
      std::memcpy(&bits, block + offset, sizeof(bits));
      finite &= (bits & layout.exponent_mask) != layout.exponent_mask;
    }
    if (!finite) found.add(i, t.block_elems);
  }
  return found;
}

// Every element as the engine will see it: for formats whose elements decide for themselves.
Span scan_elements(const Part& part) {
  constexpr int64_t kPiece = 1024;  // a multiple of every block
  std::array<float, kPiece> values;
  Span found;
  for (int64_t done = 0; done < part.n; done += kPiece) {
    const int64_t now = std::min(kPiece, part.n - done);
    kernels::reference::dequantize(part.dtype, part.data + row_bytes(part.dtype, static_cast<size_t>(done)),
                                   values.data(), now);
    bool finite = true;
    for (int64_t i = 0; i < now; ++i) finite &= std::isfinite(values[static_cast<size_t>(i)]);
    if (finite) continue;
    for (int64_t i = 0; i < now; ++i) {
      if (!std::isfinite(values[static_cast<size_t>(i)])) found.add(part.first + done + i, 1);
    }
  }
  return found;
}

Span scan(const Part& part) {
  const auto layout = std::find_if(kScales.begin(), kScales.end(),
                                   [&](const ScaleLayout& row) { return row.dtype == part.dtype; });
  return layout == kScales.end() ? scan_elements(part) : scan_scales(part, *layout);
}

}  // namespace

void TensorChecker::check(const gguf::TensorInfo& info) {
  constexpr int64_t kPart = int64_t{1} << 18;  // elements: a multiple of every block
  const Tensor& tensor = info.tensor;
  const int64_t n = tensor.n_elements();
  loop_((n + kPart - 1) / kPart, [&](int64_t i) {
    const int64_t first = i * kPart;
    check_copy(info, first, std::min(kPart, n - first),
               tensor.as<const std::byte>() + row_bytes(tensor.dtype, static_cast<size_t>(first)));
  });
}

void TensorChecker::check_copy(const gguf::TensorInfo& info, int64_t first, int64_t n,
                               const std::byte* copy) {
  const DType dtype = info.tensor.dtype;
  if (!traits(dtype).is_weight) return;
  const Span part = scan({dtype, first, n, copy});
  if (part.count == 0) return;
  const std::lock_guard lock(mutex_);
  const auto known =  // mostly the last one
      std::find_if(found_.rbegin(), found_.rend(),
                   [&](const NotFinite& found) { return found.info == &info; });
  if (known == found_.rend()) {
    found_.push_back({&info, part.first, part.count});
  } else {
    known->first = std::min(known->first, part.first);
    known->count += part.count;
  }
}

void TensorChecker::forget(const gguf::TensorInfo& info) {
  const std::lock_guard lock(mutex_);
  std::erase_if(found_, [&](const NotFinite& found) { return found.info == &info; });
}

std::vector<NotFinite> TensorChecker::found() const {
  const std::lock_guard lock(mutex_);
  std::vector<NotFinite> found = found_;
  std::sort(found.begin(), found.end(),
            [](const NotFinite& a, const NotFinite& b) { return a.info < b.info; });  // of one array
  return found;
}

Result<std::vector<NotFinite>> find_not_finite(const gguf::File& file, const ProgressFn& progress,
                                               const CancelFn& cancelled) {
  uint64_t total = 0;
  uint64_t done = 0;
  for (const gguf::TensorInfo& info : file.tensors()) total += info.tensor.bytes();
  ThreadPool pool;
  TensorChecker checker([&](int64_t n_turns, const std::function<void(int64_t)>& fn) {
    pool.parallel_for(static_cast<size_t>(n_turns), [&](size_t i) { fn(static_cast<int64_t>(i)); });
  });
  for (const gguf::TensorInfo& info : file.tensors()) {
    if (cancelled && cancelled()) return Error{ErrorCode::kCancelled, "cancelled"};
    checker.check(info);
    done += info.tensor.bytes();
    if (progress) progress("checking", done, total);
  }
  return checker.found();
}

std::string describe(const gguf::File& file, const NotFinite& found) {
  return fmt::format(
      "{}: tensor {} (data at byte {}): expected finite numbers, found {} of {} elements that are not, the "
      "first at {}",
      escaped(file.path(), 4096), quote(found.info->name), found.info->file_offset, found.count,
      found.info->tensor.n_elements(), found.first);
}

Status check_tensors(const gguf::File& file, const ProgressFn& progress, const CancelFn& cancelled) {
  TRY_ASSIGN(const std::vector<NotFinite> found, find_not_finite(file, progress, cancelled));
  if (found.empty()) return {};
  return Error{ErrorCode::kInvalidFile, describe(file, found.front())};
}

}  // namespace inferno::model
