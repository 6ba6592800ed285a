#include "backend/cpu/head_screen.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/check.h"
#include "kernels/reference/reference.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace inferno::backend {
namespace {

constexpr DType kCoarse = DType::kQ4_0;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kMaxPause = 64;
// Products of the smallest floats are off by up to 2^-150 each, however small they are; of scales, times up
// to 32 * 127 * 127; in tiles and dot products of bfloat16, which know no subnormal numbers, by 2^-126 and
// more. More than all of a row's can add up to where weights and activations are smaller than 2^20.
constexpr float kSmallestRounding = 1e-28f;
// Sums of products that can be larger than this might overflow on the way.
constexpr double kLargestLogit = 1e37;
// Activations beyond may be infinite in bfloat16.
constexpr double kLargestBf16 = 3e38;
// Smaller heads may stay in a cache from one token to the next, where screens gain nothing.
constexpr uint64_t kLargeHead = uint64_t{16} << 20;
// Where more than this of the head's bytes are read after all, the screen has gained nothing.
constexpr double kWorthwhile = 0.9;

bool is_floating_point(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool can_be_copied(const Tensor& head) {
  return head.cols() % kBlock32 == 0 &&
         (is_floating_point(head.dtype) || head.dtype == DType::kQ8_0 || head.dtype == DType::kQ6_K);
}

// Not less than the value.
float up(double value) {
  return std::nextafter(static_cast<float>(value), kInfinity);
}

// What is known of each row.
struct Norms {
  float *lost, *norm;
};

void measure_planes(const Tensor& head, const CpuMatrix& packed, const kernels::PlanesMatmul& planes,
                    ThreadTeam& team, const Norms& norms) {
  const int64_t n_rows = packed.kernel.rows;
  const int64_t lower_bytes = packed.kernel.panel_bytes(head.cols()) - packed.upper_bytes;
  const uint8_t* lower_plane = packed.panels.get() + packed.n_panels * packed.upper_bytes;
  // What the kernel's sums may have lost, and more.
  const double margin = 1 + static_cast<double>(head.cols() + kBlock32) * 0x1p-24;
  constexpr int64_t kPanelsPerTurn = 64;
  team.run((packed.n_panels + kPanelsPerTurn - 1) / kPanelsPerTurn, [&](int64_t turn, unsigned) {
    std::vector<float> lost(static_cast<size_t>(n_rows)), norm(lost.size());
    const int64_t end = std::min(packed.n_panels, (turn + 1) * kPanelsPerTurn);
    for (int64_t panel = turn * kPanelsPerTurn; panel < end; ++panel) {
      planes.square_norms({packed.panels.get() + panel * packed.upper_bytes,
                           lower_plane + panel * lower_bytes, head.cols(), lost.data(), norm.data()});
      const int64_t first = panel * n_rows;
      for (int64_t r = 0; r < std::min(n_rows, head.rows() - first); ++r) {
        const double of_lost = std::sqrt(static_cast<double>(lost[static_cast<size_t>(r)]));
        const double of_upper = std::sqrt(static_cast<double>(norm[static_cast<size_t>(r)]));
        norms.lost[first + r] = up(margin * of_lost);
        norms.norm[first + r] = up(margin * (of_upper + of_lost));  // of the weights as well
      }
    }
  });
}

void round_panels(const Tensor& head, const CpuKernels& kernels, int64_t n_panels, ThreadTeam& team,
                  uint8_t* panels, const Norms& norms) {
  const kernels::PanelMatmul& kernel = kernels.matmul[static_cast<size_t>(kCoarse)];
  const auto of_type = kernels.coarse_row[static_cast<size_t>(head.dtype)];
  const auto of_floats = kernels.coarse_row[static_cast<size_t>(DType::kF32)];
  const int64_t k = head.cols();
  const int64_t panel_bytes = kernel.panel_bytes(k);
  const auto row_bytes_in = static_cast<int64_t>(row_bytes(head.dtype, static_cast<size_t>(k)));
  const int64_t blocks_per_row = k / kBlock32;
  // What the kernel's sums may have lost, and more.
  const double margin = 1 + static_cast<double>(k + 64) * 0x1p-23, least = static_cast<double>(k) * 0x1p-149;
  const auto root = [&](float squares) {
    return up(std::sqrt(margin * static_cast<double>(squares) + least));
  };
  constexpr int64_t kPanelsPerTurn = 64;
  team.run((n_panels + kPanelsPerTurn - 1) / kPanelsPerTurn, [&](int64_t turn, unsigned) {
    std::vector<float> floats(of_type == nullptr ? static_cast<size_t>(k) : 0);
    std::vector<BlockQ4_0> blocks(static_cast<size_t>(kernel.rows * blocks_per_row));
    const int64_t end = std::min(n_panels, (turn + 1) * kPanelsPerTurn);
    for (int64_t panel = turn * kPanelsPerTurn; panel < end; ++panel) {
      const int64_t first = panel * kernel.rows;
      const int64_t n_rows = std::min(kernel.rows, head.rows() - first);
      for (int64_t r = 0; r < n_rows; ++r) {
        const uint8_t* row = head.as<const uint8_t>() + (first + r) * row_bytes_in;
        if (of_type == nullptr) {
          kernels::reference::dequantize(head.dtype, row, floats.data(), k);
          row = reinterpret_cast<const uint8_t*>(floats.data());
        }
        float lost = 0, norm = 0;
        (of_type != nullptr ? of_type
                            : of_floats)({row, k, blocks.data() + r * blocks_per_row, &lost, &norm});
        norms.lost[first + r] = root(lost);
        norms.norm[first + r] = root(norm);
      }
      kernel.pack(reinterpret_cast<const uint8_t*>(blocks.data()),
                  blocks_per_row * static_cast<int64_t>(sizeof(BlockQ4_0)), n_rows, k,
                  panels + panel * panel_bytes);
    }
  });
}

// Of the copy.
struct Sizes {
  int64_t n_panels;
  size_t panel_bytes;  // of all of them
};

Sizes sizes_of(const Tensor& head, const CpuKernels& kernels) {
  const kernels::PanelMatmul& kernel = kernels.matmul[static_cast<size_t>(kCoarse)];
  const int64_t n_panels = (head.rows() + kernel.rows - 1) / kernel.rows;
  return {n_panels, static_cast<size_t>(n_panels * kernel.panel_bytes(head.cols()))};
}

// The upper plane has four bits a weight and all scales; how many bytes that is, in the file's blocks.
uint64_t upper_plane_bytes(const Tensor& head) {
  const auto n_elements = static_cast<uint64_t>(head.n_elements());
  const uint64_t lower_bits = head.dtype == DType::kQ8_0 ? 4 : 2;
  return head.bytes() - n_elements * lower_bits / 8;
}

}  // namespace

ScreenKind screen_kind(const Tensor& head, const CpuKernels& kernels, ScreenedHeads which) {
  if (which == ScreenedHeads::kNone) return ScreenKind::kNone;
  if (kernels.planes[static_cast<size_t>(head.dtype)].whole.rows != 0) {
    const bool is_worth_it = which == ScreenedHeads::kAll || head.bytes() >= kLargeHead;
    return is_worth_it ? ScreenKind::kUpperPlane : ScreenKind::kNone;
  }
  const bool is_worth_it =
      which == ScreenedHeads::kAll || (is_floating_point(head.dtype) && head.bytes() >= kLargeHead);
  return is_worth_it && can_be_copied(head) ? ScreenKind::kCopy : ScreenKind::kNone;
}

uint64_t head_screen_bytes(const Tensor& head, const CpuKernels& kernels, ScreenKind kind) {
  if (kind == ScreenKind::kNone) return 0;
  const size_t panels = kind == ScreenKind::kCopy ? sizes_of(head, kernels).panel_bytes : 0;
  return panels + 2 * sizeof(float) * static_cast<size_t>(head.rows());
}

Result<std::shared_ptr<const HeadScreen>> make_head_screen(const Tensor& head, const CpuMatrix& packed,
                                                           ScreenKind kind, const CpuKernels& kernels,
                                                           ThreadTeam& team, LargeMemory& memory,
                                                           const CachedAs& cached) {
  const bool is_copy = kind == ScreenKind::kCopy;
  const kernels::PanelMatmul& kernel = is_copy ? kernels.matmul[static_cast<size_t>(kCoarse)]
                                               : kernels.planes[static_cast<size_t>(head.dtype)].upper;
  const int64_t group_rows = kernels.logit_group;
  CHECK(group_rows % packed.kernel.rows == 0 && kTurnRows % group_rows == 0,
        "panels of {} and {} rows, groups of {}", packed.kernel.rows, kernel.rows, group_rows);
  const uint64_t bytes = head_screen_bytes(head, kernels, kind);
  const uint64_t panel_bytes = is_copy ? sizes_of(head, kernels).panel_bytes : 0;
  const std::string name = std::string(cached.name) + " screen 4";  // raised when what is made here changes
  Tensor shape = head;
  shape.dtype = is_copy ? kCoarse : DType::kF32;
  std::shared_ptr<const void> owner;
  if (cached.cache != nullptr) owner = cached.cache->find(name, shape, bytes);
  if (owner == nullptr) {
    TRY_ASSIGN(const std::shared_ptr<void> made, memory.alloc(bytes, team));
    auto* panels = static_cast<uint8_t*>(made.get());
    auto* lost = reinterpret_cast<float*>(panels + panel_bytes);
    const Norms norms = {lost, lost + head.rows()};
    if (is_copy) {
      round_panels(head, kernels, sizes_of(head, kernels).n_panels, team, panels, norms);
    } else {
      measure_planes(head, packed, kernels.planes[static_cast<size_t>(head.dtype)], team, norms);
    }
    if (cached.cache != nullptr)
      cached.cache->add(name, shape, std::as_bytes(std::span(panels, bytes)), made);
    owner = made;
  }

  const auto* panels = static_cast<const uint8_t*>(owner.get());
  const auto* lost = reinterpret_cast<const float*>(panels + panel_bytes);
  auto coarse = std::make_shared<CpuMatrix>();
  coarse->kernel = kernel;
  coarse->is_upper_plane = !is_copy;
  coarse->panels = is_copy ? std::shared_ptr<const uint8_t>(owner, panels) : packed.panels;
  coarse->n_panels = is_copy ? sizes_of(head, kernels).n_panels : packed.n_panels;
  auto screen = std::make_shared<HeadScreen>();
  screen->coarse = {is_copy ? kCoarse : head.dtype, head.rows(), head.cols(), coarse};
  screen->coarse_bytes = is_copy ? screen->coarse.bytes() : upper_plane_bytes(head);
  screen->group_rows = group_rows;
  screen->n_groups = (head.rows() + group_rows - 1) / group_rows;
  screen->lost = {lost, static_cast<size_t>(head.rows())};
  screen->norm = {lost + head.rows(), static_cast<size_t>(head.rows())};
  screen->norms_owner = owner;
  screen->largest_norm = *std::max_element(screen->norm.begin(), screen->norm.end());
  return std::shared_ptr<const HeadScreen>(screen);
}

bool HeadScreening::is_due() {
  if (times_ && (is_faster_.is_on_trial() || is_faster_.way() == 0)) return is_faster_.way() == 1;
  if (pause_left_ == 0) return true;
  --pause_left_;
  return false;
}

void HeadScreening::took(std::chrono::nanoseconds time, int64_t n) {
  if (times_ && n == 1) is_faster_.took(time, 1);
}

void HeadScreening::begin(const HeadScreen& screen, const float* x, const kernels::QuantizedRows& rounded,
                          kernels::XForm form, int64_t n) {
  screen_ = &screen;
  coarse_.resize(static_cast<size_t>(n * screen.n_groups));
  most_.resize(coarse_.size());
  rows_.clear();
  const int64_t k = screen.coarse.cols;
  // Each of two sums of k products, in whatever order, is off by at most k units in the last place of the
  // sum of their magnitudes, which is at most |w| |x|; twice that, for what comes before and after.
  const double rounding = static_cast<double>(k + 64) * 0x1p-22;
  using kernels::XForm;
  const bool rounded_as_well = form == XForm::kInt8 || form == XForm::kInt8Halves;
  // Of each number at most, and of larger ones than kLargestBf16 infinitely much; what is below 2^-126
  // becomes 0 (kSmallestRounding).
  const double rounding_of_x = form == XForm::kBf16 ? 0x1p-8 : 0;
  const double largest = form == XForm::kBf16 ? kLargestBf16 : std::numeric_limits<double>::infinity();
  for (int64_t r = 0; r < n; ++r) {
    double length = 0, off = 0;
    for (int64_t i = r * k; i < (r + 1) * k; ++i) {
      const double value = static_cast<double>(rounded.scale[i / kBlock32]) * rounded.q[i];
      length += value * value;
      off += (x[i] - value) * (x[i] - value);
    }
    length = std::sqrt(length);
    off = rounded_as_well ? 0 : std::sqrt(off);
    const bool is_bounded = (length + off) * screen.largest_norm < kLargestLogit && length + off < largest;
    rows_.push_back({up(length),
                     is_bounded ? up(off + (rounding + rounding_of_x) * (length + off)) : kInfinity,
                     -kInfinity});
  }
}

void HeadScreening::coarse_logits(float* logits, int64_t begin, int64_t end) {
  const auto n_rows = static_cast<int64_t>(rows_.size());
  for (int64_t r = 0; r < n_rows; ++r) {
    const Row& row = rows_[static_cast<size_t>(r)];
    const int64_t group = r * screen_->n_groups + begin / screen_->group_rows;
    kernels_.bound_logits({logits + r * screen_->coarse.rows + begin, screen_->lost.data() + begin,
                           screen_->norm.data() + begin, row.length, row.off, end - begin,
                           coarse_.data() + group, most_.data() + group});
  }
}

int64_t HeadScreening::likeliest_group(int64_t row) const {
  const auto first = coarse_.begin() + row * screen_->n_groups;
  return std::max_element(first, first + screen_->n_groups) - first;
}

void HeadScreening::found(int64_t row, float logit) {
  float& to_reach = rows_[static_cast<size_t>(row)].to_reach;
  if (logit > to_reach) to_reach = logit - kSmallestRounding;
}

std::span<const int64_t> HeadScreening::groups_left() {
  left_.clear();
  const auto n_rows = static_cast<int64_t>(rows_.size());
  for (int64_t group = 0; group < screen_->n_groups; ++group) {
    for (int64_t r = 0; r < n_rows; ++r) {
      const float most = most_[static_cast<size_t>(r * screen_->n_groups + group)];
      if (most < rows_[static_cast<size_t>(r)].to_reach) continue;
      left_.push_back(group);
      break;
    }
  }
  return left_;
}

void HeadScreening::passed(uint64_t head_bytes, uint64_t read_bytes) {
  const bool gained = static_cast<double>(read_bytes) < kWorthwhile * static_cast<double>(head_bytes);
  pause_ = gained ? 0 : std::clamp<int64_t>(2 * pause_, 1, kMaxPause);
  pause_left_ = pause_;
}

}  // namespace inferno::backend
