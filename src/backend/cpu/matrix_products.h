// MatrixProducts: products of the CPU backend's matrices and rows of activations, shared among its threads.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <span>

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

// The rows that products multiply; `formed` holds them in the other forms that a product takes.
struct Activations {
  const float* x;
  int64_t n;
  const ActivationBuffer& formed;
};

class MatrixProducts {
 public:
  MatrixProducts(ThreadTeam& team, HostBackend& memory) : team_(team), memory_(memory) {}

  // Before products with a matrix of so many columns. kResource when memory is refused.
  Status reserve_scratch(const CpuMatrix& matrix, int64_t cols);

  // Those of the same x, up to kMaxProducts, as one loop. Calls made(i, begin, end) when these outputs of
  // product i are there, for all rows of x, on the thread that made them.
  static constexpr size_t kMaxProducts = 4;
  template <class Made>
  void multiply(std::span<const Product> products, const Activations& x, const Made& made) {
    const Turns turns(products, x.n, team_.n_threads());
    TimedChoice* trial = fetch_trial(products, x.n);
    const bool fetches = trial != nullptr && trial->takes_second();
    const auto start = std::chrono::steady_clock::now();
    team_.run(turns.count(), [&](int64_t turn, unsigned thread) {
      const Place place = turns.place_of(turn);
      const Weight& w = *products[place.product].w;
      if (place.begin == place.end) return;
      const Fetched next = fetches || !turns.are_few_rows() ? turns.after(turn) : Fetched{};
      multiply_panels(products[place.product], x, place.begin, place.end, thread, next);
      made(place.product, place.begin * rows_of_panel(w), std::min(place.end * rows_of_panel(w), w.rows));
    });
    if (trial != nullptr) trial->took(std::chrono::steady_clock::now() - start, weight_bytes(products));
  }

  // Weights that are asked for while others are multiplied: see PanelMatmulParams::next.
  struct Fetched {
    const uint8_t* at = nullptr;
    int64_t bytes = 0;
  };
  // Some panels of a product.
  void multiply_panels(const Product& p, const Activations& x, int64_t begin, int64_t end, unsigned thread,
                       const Fetched& next);

  // Whether products of few rows with this type of weights are timed to find out if they are to be fetched.
  bool tries_fetching(const Weight& w) const {
    return fetch_trials_[static_cast<size_t>(w.dtype)].is_on_trial();
  }

  static int64_t panels_of(const Weight& w) { return (w.rows + rows_of_panel(w) - 1) / rows_of_panel(w); }
  static int64_t rows_of_panel(const Weight& w);
  // Some panels, or what lies first of them where they lie in planes; nothing where there are none.
  static Fetched panels_at(const Weight& w, int64_t begin, int64_t end);

 private:
  // Panels begin .. end - 1 of a product.
  struct Place {
    size_t product;
    int64_t begin, end;
  };

  // What a loop is cut into. The turns of each product follow those of the one before; a thread, which takes
  // every n_threads-th turn, goes through neighbouring panels of each, one stream through memory.
  class Turns {
   public:
    // n_rows: of activations.
    Turns(std::span<const Product> products, int64_t n_rows, int64_t n_threads);

    bool are_few_rows() const { return few_rows_; }
    int64_t count() const { return ends_[products_.size() - 1]; }
    Place place_of(int64_t turn) const;
    // The panels of the same thread's next turn.
    Fetched after(int64_t turn) const;

   private:
    std::span<const Product> products_;
    int64_t n_threads_;
    bool few_rows_;
    std::array<int64_t, kMaxProducts> ends_ = {};    // turns of the products up to this one
    std::array<int64_t, kMaxProducts> panels_ = {};  // of a turn, where rows are many
    // Where they are few, units of kTurnRows or of a panel.
    std::array<int64_t, kMaxProducts> unit_panels_ = {}, n_units_ = {};
    std::array<TurnRamp, kMaxProducts> ramps_;
  };

  // Whether products that are bound by reading their weights (kernels::kStreamedRows) ask for them ahead.
  // Some processors foresee such a stream by themselves, and hints cost up to a third of the speed; others
  // gain half as much again (docs/decisions/001). A trial comes round after some seventy tokens of a small
  // model.
  struct FetchTrial : TimedChoice {
    FetchTrial() : TimedChoice({"weights fetched ahead", 32, 8192}) {}
  };
  // Of the type of these products' weights; nullptr where nothing is to be won.
  TimedChoice* fetch_trial(std::span<const Product> products, int64_t n);
  static uint64_t weight_bytes(std::span<const Product> products);

  ThreadTeam& team_;
  HostBackend& memory_;
  Buffer scratch_;
  int64_t scratch_bytes_ = 0;                                // of a thread
  std::array<FetchTrial, kernels::kDTypeIds> fetch_trials_;  // by DType
};

}  // namespace inferno::backend
