#include "backend/cpu/matrix_products.h"

#include "backend/cpu_isa.h"
#include "kernels/reference/reference.h"

namespace inferno::backend {
namespace {

namespace reference = kernels::reference;

// Turns for each thread in a product of many rows: enough for one that comes late to be caught up with …
constexpr int64_t kTurnsPerThread = 8;
constexpr int64_t kFewestTurnsPerThread = 4;  // where a kernel wants longer ones
// … and of a multiple of so many units, but for one turn of a thread in each product and the last ones of a
// loop: as many panels as any ISA multiplies at once (AMX four) or shares rows among (AVX2 at least eight).
constexpr int64_t kUnitsAtOnce = 2;
// A unit's rows of weights there: two panels of AVX-512, whole tiles of any narrower ISA.
constexpr int64_t kTiledUnitRows = 32;
// Bytes of a turn of few rows of activations that fetches nothing for the next one: many, since to take a
// turn is an atomic operation, for which a thread waits until all that it reads is there
// (docs/decisions/007). But others wait for a turn whose thread has lost its processor, so that it is not
// more than a part of what a thread multiplies in the loop.
constexpr int64_t kLongTurnBytes = 16 * kernels::kFetchedBytes;
constexpr int64_t kFewestLongTurns = 2;
// Where they become smaller towards a loop's end they end with such a part of a long one, or with what is
// left.
constexpr int64_t kLastTurnsInLong = 4;
// Up to so many rows of activations reading the weights takes as long as computing, or longer.
constexpr int64_t kBatchRows = 16;
// Where there are no panels, so many rows stand for one.
constexpr int64_t kReferenceRows = 16;

// Rows of weights by the definition.
void multiply_by_reference(const Product& p, const Activations& x, int64_t begin, int64_t end) {
  const CpuMatrix& m = matrix_of(*p.w);
  for (int64_t i = begin; i < end; i += kReferenceRows) {
    const int64_t rows = std::min(kReferenceRows, end - i);
    for (int64_t r = 0; r < x.n; ++r) {
      reference::matmul({m.rows + i * m.row_bytes, p.w->dtype,
                         p.bias->empty() ? nullptr : vector_of(*p.bias) + i, x.x + r * p.w->cols,
                         p.y + r * p.w->rows + i, 1, rows, p.w->cols});
    }
  }
}

// How many runs of panels it can multiply side by side.
int64_t runs_of(const kernels::PanelMatmul& kernel, int64_t n_rows) {
  return kernel.takes_two_runs(n_rows) ? 2 : 1;
}

}  // namespace

MatrixProducts::Turns::Turns(std::span<const Product> products, int64_t n_rows, int64_t n_threads,
                             Reading reading)
    : products_(products),
      n_rows_(n_rows),
      n_threads_(n_threads),
      few_rows_(n_rows <= kernels::kStreamedRows),
      fetches_next_(reading == Reading::kNextTurn),
      asks_ahead_(reading != Reading::kTwoRunsInOrder) {
  int64_t loop_bytes = 0;
  for (const Product& p : products) loop_bytes += panels_at(*p.w, {0, panels_of(*p.w)}).bytes;
  long_turn_bytes_ = std::min(kLongTurnBytes, loop_bytes / n_threads / kFewestLongTurns);
  const bool in_two_runs = reading == Reading::kTwoRuns || reading == Reading::kTwoRunsInOrder;
  int64_t count = 0;
  for (size_t i = 0; i < products.size(); ++i) {
    const Weight& w = *products[i].w;
    const int64_t n_panels = panels_of(w);
    n_runs_[i] = in_two_runs ? runs_of(matrix_of(w).kernel, n_rows) : 1;
    const bool is_tiled = !few_rows_ && n_runs_[i] == 1;
    unit_panels_[i] = std::max<int64_t>(1, (is_tiled ? kTiledUnitRows : kTurnRows) / rows_of_panel(w));
    n_units_[i] = (n_panels + unit_panels_[i] - 1) / unit_panels_[i];
    const int64_t n_of_thread = (n_units_[i] + n_threads - 1) / n_threads;
    const int64_t n = (n_of_thread + n_runs_[i] - 1) / n_runs_[i];
    const int64_t most = most_units(i, n);
    // What is prepared of the activations, by AMX or where panels share it, serves all panels of a turn, and
    // tiles of floats have up to four.
    const kernels::PanelMatmul& kernel = matrix_of(w).kernel;
    const bool is_float = kernel.x_form == kernels::XForm::kFloat || kernel.x_form == kernels::XForm::kBf16;
    const bool wants_many =
        kernel.multiply_tiles != nullptr || shares_rows(w) || (kernel.rows != 0 && is_float);
    const int64_t fewest = is_tiled && wants_many ? kUnitsAtOnce : 1;
    const int64_t least =
        fetches_next_ ? std::min(fewest, most) : (most + kLastTurnsInLong - 1) / kLastTurnsInLong;
    ramps_[i] = TurnRamp(n, least, most, few_rows_ && fetches_next_ && i == 0,
                         (few_rows_ || (is_tiled && n_threads > 1)) && i + 1 == products.size());
    count += n_threads * ramps_[i].n_turns();
    ends_[i] = count;
  }
}

bool MatrixProducts::Turns::shares_rows(const Weight& w) const {
  const kernels::PanelMatmul& kernel = matrix_of(w).kernel;
  return kernel.turn_panels != 0 && n_rows_ >= kernel.shared_rows;
}

int64_t MatrixProducts::Turns::most_units(size_t i, int64_t n) const {
  const Weight& w = *products_[i].w;
  if (!few_rows_) {
    if (n_threads_ == 1 && n_runs_[i] == 1) return std::max<int64_t>(1, n);
    const int64_t most = n_units_[i] / (n_threads_ * kTurnsPerThread * n_runs_[i]);
    if (n_runs_[i] > 1) return std::max<int64_t>(1, most);
    const int64_t wanted = shares_rows(w) ? matrix_of(w).kernel.turn_panels / unit_panels_[i] : 0;
    const int64_t longer =
        std::max(most, std::min(wanted, n_units_[i] / (n_threads_ * kFewestTurnsPerThread)));
    return longer < kUnitsAtOnce ? kUnitsAtOnce : longer / kUnitsAtOnce * kUnitsAtOnce;
  }
  const int64_t bytes = panels_at(w, {0, n_runs_[i] * unit_panels_[i]}).bytes;
  if (bytes == 0) return 1;
  if (fetches_next_) return std::max<int64_t>(1, kernels::kFetchedBytes / bytes);
  // As long as each other, or nearly.
  const int64_t most = std::max<int64_t>(1, long_turn_bytes_ / bytes);
  const int64_t n_turns = std::max<int64_t>(1, (n + most - 1) / most);
  return std::max<int64_t>(1, (n + n_turns - 1) / n_turns);
}

MatrixProducts::Place MatrixProducts::Turns::place_of(int64_t turn) const {
  size_t i = 0;
  while (turn >= ends_[i]) ++i;
  const int64_t first = i == 0 ? 0 : ends_[i - 1];
  const int64_t n_panels = panels_of(*products_[i].w);
  const int64_t thread = (turn - first) % n_threads_;
  const int64_t own_turn = (turn - first) / n_threads_;
  const int64_t begin = n_units_[i] * thread / n_threads_;
  const int64_t n = n_units_[i] * (thread + 1) / n_threads_ - begin;
  const int64_t n_of_run = (n + n_runs_[i] - 1) / n_runs_[i];
  const auto panel_of = [&](int64_t unit) { return std::min(n_panels, (begin + unit) * unit_panels_[i]); };
  const Panels panels = {panel_of(ramps_[i].begin(own_turn, n_of_run)),
                         panel_of(ramps_[i].begin(own_turn + 1, n_of_run))};
  if (n_runs_[i] == 1) return {i, panels};
  return {i, panels, {n_of_run * unit_panels_[i], panel_of(n), asks_ahead_}};
}

MatrixProducts::Fetched MatrixProducts::Turns::after(int64_t turn) const {
  while ((turn += n_threads_) < count()) {
    const Place next = place_of(turn);
    if (next.panels.is_empty()) continue;
    Fetched panels = panels_at(*products_[next.product].w, next.panels);
    if (!few_rows_ && !shares_rows(*products_[next.product].w))
      panels.bytes = std::min(panels.bytes, kernels::kFetchedBytes);
    return panels;
  }
  return {};
}

Status MatrixProducts::reserve_scratch(const CpuMatrix& matrix, int64_t cols) {
  const int64_t bytes = matrix.kernel.rows == 0 ? 0 : matrix.kernel.scratch_bytes(cols);
  if (bytes <= scratch_bytes_) return {};
  const int64_t rounded = (bytes + 63) / 64 * 64;
  TRY_ASSIGN(scratch_, memory_.alloc(static_cast<size_t>(rounded) * team_.n_threads()));
  scratch_bytes_ = rounded;
  return {};
}

void MatrixProducts::multiply_turn(const Product& p, const Activations& x, const Panels& panels,
                                   unsigned thread, const Fetched& next, const SecondRun& second,
                                   bool scratch_is_kept) {
  const CpuMatrix& m = matrix_of(*p.w);
  if (m.kernel.rows == 0) {
    const int64_t end = std::min(panels.end * kReferenceRows, p.w->rows);
    return multiply_by_reference(p, x, panels.begin * kReferenceRows, end);
  }
  kernels::QuantizedRows quantized = x.formed.quantized_from(0);
  if (m.kernel.x_form != kernels::XForm::kInt8Halves)
    quantized.half = nullptr, quantized.half_total = nullptr;
  multiply_rows(m.kernel, {m.panels.get(),
                           vector_of(*p.bias),
                           x.x,
                           quantized,
                           x.formed.bf16(),
                           x.formed.split(),
                           x.formed.f16(),
                           p.y,
                           x.n,
                           p.w->rows,
                           p.w->cols,
                           panels.begin,
                           panels.end,
                           static_cast<uint8_t*>(scratch_.data()) + thread * scratch_bytes_,
                           next.at,
                           next.bytes,
                           second.step,
                           second.end,
                           second.asks_ahead,
                           scratch_is_kept});
}

MatrixProducts::Fetched MatrixProducts::panels_at(const Weight& w, const Panels& panels) {
  const CpuMatrix& m = matrix_of(w);
  if (m.kernel.rows == 0 || panels.is_empty()) return {};
  const int64_t bytes = m.upper_bytes != 0 ? m.upper_bytes : m.kernel.panel_bytes(w.cols);
  return {m.panels.get() + panels.begin * bytes, (panels.end - panels.begin) * bytes};
}

int64_t MatrixProducts::rows_of_panel(const Weight& w) {
  const CpuMatrix& m = matrix_of(w);
  return m.kernel.rows != 0 ? m.kernel.rows : kReferenceRows;
}

MatrixProducts::ReadingChoice* MatrixProducts::reading_choice(std::span<const Product> products, int64_t n) {
  constexpr std::array kWays = {Reading::kInOrder, Reading::kNextTurn, Reading::kTwoRuns,
                                Reading::kTwoRunsInOrder};
  const Weight& w = *products.front().w;
  const CpuMatrix& m = matrix_of(w);
  if (m.kernel.rows == 0 || weight_bytes(products) < kUncachedBytes) return nullptr;
  if (!came_again_) {
    if (first_weights_ == nullptr) {
      first_weights_ = &m;
      return nullptr;
    }
    if (first_weights_ != &m) return nullptr;
    came_again_ = true;
  }
  const bool is_few = n <= kernels::kStreamedRows;
  const bool takes_runs = runs_of(m.kernel, n) > 1;
  const size_t first = is_few ? 0 : 1;  // those in order are for few rows
  const size_t end = !takes_runs ? 2 : is_few ? 4 : 3;
  if (end - first < 2) return nullptr;
  const auto ways = std::span(kWays).subspan(first, end - first);
  auto& choice = choices_[rows_class(n)][kind_of(w)];
  if (!choice) choice.emplace(ways, is_head_in_planes(w));
  return &*choice;
}

size_t MatrixProducts::rows_class(int64_t n) {
  return n <= kernels::kStreamedRows ? 0 : n <= kBatchRows ? 1 : 2;
}

uint64_t MatrixProducts::weight_bytes(std::span<const Product> products) {
  uint64_t bytes = 0;
  for (const Product& p : products) bytes += p.w->read_bytes();
  return bytes;
}

}  // namespace inferno::backend
