// MatrixProducts: products of the CPU backend's matrices and rows of activations, shared among its threads.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/cpu/activation_buffer.h"
#include "backend/cpu/cpu_weight.h"
#include "backend/cpu/timed_choice.h"
#include "backend/cpu/turn_ramp.h"
#include "backend/host_backend.h"
#include "base/thread_team.h"
#include "kernels/cpu/params.h"

namespace inferno::backend {

// A product of a step: y = x w^T (+ bias).
struct Product {
  const Weight* w;
  const Weight* bias;
  float* y;
};
inline const Weight kNoBias;

class MatrixProducts {
 public:
  MatrixProducts(ThreadTeam& team, HostBackend& memory)
      : team_(team), memory_(memory), scratch_uses_(team.n_threads()) {}

  // Before products with a matrix of so many columns. kResource when memory is refused.
  Status reserve_scratch(const CpuMatrix& matrix, int64_t cols);

  // Those of the same n rows, up to kMaxProducts, as one loop. A thread asks rows_of(thread) for the
  // Activations at each of its turns, and gets the same. Calls made(i, begin, end) when these outputs of
  // product i are there, for all rows, on the thread that made them.
  static constexpr size_t kMaxProducts = 4;
  template <class RowsOf, class Made>
  void multiply(std::span<const Product> products, int64_t n, const RowsOf& rows_of, const Made& made) {
    ReadingChoice* trial = reading_choice(products, n);
    const Reading reading = trial != nullptr ? trial->reading() : reading_unless_timed(n);
    const Turns turns(products, n, team_.n_threads(), reading);
    ++loop_;
    const auto start = std::chrono::steady_clock::now();
    team_.run(turns.count(), [&](int64_t turn, unsigned thread) {
      const Place place = turns.place_of(turn);
      const Weight& w = *products[place.product].w;
      if (place.panels.is_empty()) return;
      const bool fetches = reading == Reading::kNextTurn ||
                           (reading == Reading::kTwoRuns && !turns.are_few_rows() && place.second.step == 0);
      const Fetched next = fetches ? turns.after(turn) : Fetched{};
      multiply_turn(products[place.product], rows_of(thread), place.panels, thread, next, place.second,
                    keeps_scratch(w, thread));
      const auto made_of = [&](const Panels& panels) {
        if (panels.begin >= panels.end) return;
        made(place.product, panels.begin * rows_of_panel(w), std::min(panels.end * rows_of_panel(w), w.rows));
      };
      made_of(place.panels);
      made_of(place.second_run());
    });
    if (trial != nullptr) trial->took(std::chrono::steady_clock::now() - start, weight_bytes(products));
  }
  // The same rows for all threads.
  template <class Made>
  void multiply(std::span<const Product> products, const Activations& x, const Made& made) {
    multiply(products, x.n, SameForAll{x}, made);
  }

  // Weights that are asked for while others are multiplied: see PanelMatmulParams::next.
  struct Fetched {
    const uint8_t* at = nullptr;
    int64_t bytes = 0;
  };
  // begin .. end - 1.
  struct Panels {
    int64_t begin = 0, end = 0;
    bool is_empty() const { return begin == end; }
  };
  // Where a second run of panels lies, unless the step is 0, and whether both ask for what lies ahead: see
  // PanelMatmulParams::run_step.
  struct SecondRun {
    int64_t step, end;
    bool asks_ahead;
  };
  // Some panels of a product.
  void multiply_panels(const Product& p, const Activations& x, const Panels& panels, unsigned thread,
                       const Fetched& next) {
    scratch_uses_[thread] = {};
    multiply_turn(p, x, panels, thread, next, {0, 0, true}, false);
  }

  // Whether products of n rows with this kind of weights are timed to find out how they are best read.
  bool tries_reading(const Weight& w, int64_t n) const {
    const auto& choice = choices_[rows_class(n)][kind_of(w)];
    return !choice || choice->is_on_trial();
  }

  static int64_t panels_of(const Weight& w) { return (w.rows + rows_of_panel(w) - 1) / rows_of_panel(w); }
  static int64_t rows_of_panel(const Weight& w);
  // Some panels, or what lies first of them where they lie in planes; nothing where there are none.
  static Fetched panels_at(const Weight& w, const Panels& panels);

 private:
  // How weights are read. What is fastest is a matter of the processor, and up to twice as fast as another
  // way (docs/decisions/007).
  enum class Reading : uint8_t {
    kNextTurn,  // one panel after the other; what comes next in this turn or the thread's next is fetched
    kTwoRuns,   // a thread's panels in two halves, side by side, each asked for a little ahead
    // Left to the processor to foresee, which only pays with few rows:
    kInOrder,         // one panel after the other
    kTwoRunsInOrder,  // in two halves, side by side
  };

  struct Place {
    size_t product;
    Panels panels;
    SecondRun second = {0, 0, true};

    Panels second_run() const {
      return {panels.begin + second.step,
              second.step == 0 ? panels.begin : std::min(panels.end + second.step, second.end)};
    }
  };

  // What a loop is cut into. The turns of each product follow those of the one before; a thread, which takes
  // every n_threads-th turn, goes through neighbouring panels of each, one stream through memory, or two.
  class Turns {
   public:
    // n_rows: of activations.
    Turns(std::span<const Product> products, int64_t n_rows, int64_t n_threads, Reading reading);

    bool are_few_rows() const { return few_rows_; }
    int64_t count() const { return ends_[products_.size() - 1]; }
    Place place_of(int64_t turn) const;
    // The panels of the same thread's next turn.
    Fetched after(int64_t turn) const;

   private:
    // Of a run of a turn of product i, of which a thread has up to n.
    int64_t most_units(size_t i, int64_t n) const;
    // PanelMatmul::turn_panels.
    bool shares_rows(const Weight& w) const;

    std::span<const Product> products_;
    int64_t n_rows_;  // of activations
    int64_t n_threads_;
    int64_t long_turn_bytes_ = 0;
    bool few_rows_;
    bool fetches_next_;
    bool asks_ahead_;  // of two runs

    std::array<int64_t, kMaxProducts> ends_ = {};  // turns of the products up to this one
    // What turns are made of: units of some rows of weights, or of a panel.
    std::array<int64_t, kMaxProducts> unit_panels_ = {}, n_units_ = {}, n_runs_ = {};
    std::array<TurnRamp, kMaxProducts> ramps_;
  };

  class ReadingChoice : public TimedChoice {
   public:
    // 2 to 4 of them. A small model has some hundred turns a token, of which a head is one, and the longest.
    ReadingChoice(std::span<const Reading> ways, bool is_head)
        : TimedChoice(is_head ? plan_of_head(static_cast<int>(ways.size()))
                              : plan_of_layers(static_cast<int>(ways.size()))) {
      std::ranges::copy(ways, ways_.begin());
    }
    Reading reading() const { return ways_[static_cast<size_t>(way())]; }

   private:
    static Plan plan_of_layers(int n_ways) {
      return {"way of reading weights", n_ways, n_ways == 2 ? 32 : n_ways == 3 ? 36 : 192, 8192, 2048};
    }
    static Plan plan_of_head(int n_ways) {
      return {"way of reading the head", n_ways, n_ways == 2 ? 8 : n_ways == 3 ? 9 : 12, 1024, 64};
    }
    std::array<Reading, kMostWays> ways_ = {};
  };
  // Of weights that are read alike: of one type, in panels, in fewer bytes or, as a head may be, in two
  // planes, of which the upper one may be read alone.
  static constexpr size_t kKinds = 4 * kernels::kDTypeIds;
  static bool is_head_in_planes(const Weight& w) {
    return matrix_of(w).upper_bytes != 0 || matrix_of(w).is_upper_plane;
  }
  static size_t kind_of(const Weight& w) {
    const size_t layout = matrix_of(w).upper_bytes != 0 ? 1
                          : matrix_of(w).is_upper_plane ? 2
                          : w.stored_bytes != 0         ? 3
                                                        : 0;
    return static_cast<size_t>(w.dtype) + layout * kernels::kDTypeIds;
  }
  static size_t rows_class(int64_t n);
  // Of the kind of these products' weights; nullptr where there is nothing to choose or to be won, and until
  // the first of all weights comes again: before that pages may come that nobody has touched yet.
  ReadingChoice* reading_choice(std::span<const Product> products, int64_t n);
  static Reading reading_unless_timed(int64_t n) {
    return n <= kernels::kStreamedRows ? Reading::kInOrder : Reading::kNextTurn;
  }
  static uint64_t weight_bytes(std::span<const Product> products);
  void multiply_turn(const Product& p, const Activations& x, const Panels& panels, unsigned thread,
                     const Fetched& next, const SecondRun& second, bool scratch_is_kept);

  // What a thread's scratch was last written by: in which loop, and which product.
  struct alignas(64) ScratchUse {
    uint64_t loop = 0;
    decltype(kernels::PanelMatmul::multiply) product = nullptr;
  };
  // Whether a thread that is about to multiply these weights did so before in this loop, and nothing since
  // that writes to its scratch.
  bool keeps_scratch(const Weight& w, unsigned thread) {
    const ScratchUse use = {loop_, matrix_of(w).kernel.multiply};
    ScratchUse& last = scratch_uses_[thread];
    const bool is_kept = last.loop == use.loop && last.product == use.product;
    last = use;
    return is_kept;
  }

  ThreadTeam& team_;
  HostBackend& memory_;
  uint64_t loop_ = 0;
  std::vector<ScratchUse> scratch_uses_;  // by thread
  const void* first_weights_ = nullptr;   // to be multiplied
  bool came_again_ = false;
  Buffer scratch_;
  int64_t scratch_bytes_ = 0;  // of a thread
  // By rows_class: few rows, up to kBatchRows and more; and by kind.
  std::array<std::array<std::optional<ReadingChoice>, kKinds>, 3> choices_;
};

}  // namespace inferno::backend
