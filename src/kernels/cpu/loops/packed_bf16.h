// Products of bfloat16 weights that lie in 12 bits each, without loss, and activations as an Element takes
// them: float32 (ElementBF16) or bfloat16 (ElementBf16Pair).
//
// The upper byte of a bfloat16 has the sign and the upper seven bits of the exponent, of which a model's
// weights take few values (Zhang et al. 2025, "70% Size, 100% Accuracy", arXiv:2504.11651, code the exponent
// for the same reason; docs/decisions/006). So four bits tell which, by a table of the panel: eight
// neighbouring exponents with either sign. What the table lacks is 0 in its place and stands in a list at the
// panel's end, an escape; it is added to the sums last, in the list's order, whatever the number of rows of
// activations (but in tiles: amx/packed_tiles.h). Rows of other sizes than those beside them (of tokens that
// nobody trained) lie in the panel times a power of four, which their sums are divided by. Of zeros the sign
// is lost, which no sum shows.
//
// A panel: its header; for each eight elements a vector of codes, those of the first four in the low
// nibbles, then the lower bytes of four and of four; the escapes. In a vector element 2 h + o of the four
// and row 4 q + t have byte 16 q + 8 h + 2 t + o, so that bytes of two vectors that are interleaved within
// 128 bits become numbers of the same element in all lanes.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/panel_float.h"

namespace inferno::kernels {
namespace {

template <class V>
struct PackedBf16 {
  using F = typename V::F;
  using I = typename V::I;

  static constexpr int64_t kGroup = 8;      // elements of each row that lie together
  static constexpr int64_t kFour = 4;       // of which so many at a time become numbers
  static constexpr int64_t kExponents = 8;  // upper seven bits
  static constexpr int64_t kVector = kFour * V::kLanes;
  static constexpr int64_t kGroupBytes = 3 * kVector;

  struct Header {
    int8_t upper[16];  // bytes by code; that of code 0 is 0, as its lower bytes are
    uint32_t n_escapes;
    int8_t power[16];  // the row's weights are those of the panel times 4^power
    uint8_t unused[28];
  };
  struct Escape {
    uint32_t at;  // element * kLanes + row
    uint16_t value, unused;
  };

  static int64_t n_groups(int64_t k) { return (k + kGroup - 1) / kGroup; }
  // Room for one in 256 weights, or a few. Normally distributed weights have one in some 5,000.
  static int64_t most_escapes(int64_t k) { return k * V::kLanes / 256 + 8; }
  static int64_t panel_bytes(int64_t k) {
    const int64_t used = static_cast<int64_t>(sizeof(Header)) + n_groups(k) * kGroupBytes +
                         most_escapes(k) * static_cast<int64_t>(sizeof(Escape));
    return (used + 63) / 64 * 64;
  }
  static const Header& header(const uint8_t* panel) { return *reinterpret_cast<const Header*>(panel); }
  static const uint8_t* group(const uint8_t* panel, int64_t g) {
    return panel + sizeof(Header) + g * kGroupBytes;
  }
  static const Escape* escapes(const uint8_t* panel, int64_t k) {
    return reinterpret_cast<const Escape*>(group(panel, n_groups(k)));
  }

  // The first (kHalf == 0) or the second four of a group's elements.
  template <int kHalf, class Element>
  static void load(const int8_t (&upper)[16], const uint8_t* group,
                   typename Element::W (&w)[kFour / Element::kStep]) {
    const I codes = V::template byte_field<4 * kHalf, 15>(V::load_bytes(group));
    const I low = V::load_bytes(group + (1 + kHalf) * kVector), high = V::lookup(upper, codes);
    if constexpr (Element::kStep == 2) {
      V::pair_bf16(low, high, w);
    } else {
      V::widen_bf16(low, high, w);
    }
  }

  // CompressedMatmul::pack.
  static bool pack(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
    // Downwards from the largest exponent there are mostly enough …
    const int64_t first = largest_exponent(w, stride, n_rows, k) - kExponents + 1;
    const bool fits = pack_from(first < 0 ? 0 : first, w, stride, n_rows, k, panel);
    if (fits && header(panel).n_escapes <= few_escapes(k)) return true;
    // … unless some weights lie far out …
    if (pack_from(likeliest_exponents(w, stride, n_rows, k), w, stride, n_rows, k, panel)) return true;
    // … or rows are of different sizes.
    int64_t of_row[V::kLanes] = {}, largest = 0;
    for (int64_t row = 0; row < n_rows; ++row) {
      of_row[row] = likeliest_exponents(w + row * stride, 0, 1, k);
      if (of_row[row] > largest) largest = of_row[row];
    }
    const int64_t common = largest < kMostFirst ? largest : kMostFirst;
    int8_t powers[16] = {};
    for (int64_t row = 0; row < n_rows; ++row) powers[row] = static_cast<int8_t>(of_row[row] - common);
    return pack_from(common, w, stride, n_rows, k, panel, powers);
  }

  // Without its escapes, as the Element loads them.
  template <class Element>
  static void unpack(const uint8_t* panel, int64_t k, uint8_t* to) {
    constexpr int64_t kSteps = kGroup / Element::kStep;
    constexpr auto kBytes = static_cast<int64_t>(sizeof(typename Element::Stored)) * V::kLanes;
    int8_t upper[16];
    std::memcpy(upper, header(panel).upper, sizeof upper);
    const int64_t n_steps = steps_of<Element>(k);
    for (int64_t step = 0; step < n_steps; step += kSteps) {
      typename Element::W w[2][kSteps / 2];
      load<0, Element>(upper, group(panel, step / kSteps), w[0]);
      load<1, Element>(upper, group(panel, step / kSteps), w[1]);
#pragma GCC unroll 8
      for (int64_t i = 0; i < kSteps; ++i) {
        if (step + i >= n_steps) continue;
        const auto& of_step = w[i / (kSteps / 2)][i % (kSteps / 2)];
        if constexpr (Element::kStep == 2) {
          V::store_bytes(to + (step + i) * kBytes, of_step);
        } else {
          V::store_whole_bf16(reinterpret_cast<uint16_t*>(to + (step + i) * kBytes), of_step);
        }
      }
    }
  }

  // From sums of what lies in the panel to those of the rows' weights and these rows of activations. Panels
  // may come from a file whose bytes nobody has checked, so that no list may lead out of its room or out of
  // x.
  template <class Element, int kRows, class X>
  static void finish(const uint8_t* panel, int64_t k, const X* const (&x)[kRows], F (&y)[kRows]) {
    const I power = V::load_i8(reinterpret_cast<const uint8_t*>(header(panel).power));
    const F of_row = V::float_of_bits(V::add_i32(V::set_i32(kOneInBits), V::shift_left_u32(power, 24)));
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) y[t] = V::mul(y[t], of_row);
    const int64_t n = header(panel).n_escapes;
    const Escape* const first = escapes(panel, k);
    for (int64_t e = 0; e < n && e < most_escapes(k); ++e) {
      const int64_t j = first[e].at / V::kLanes;
      if (j >= k) continue;
      const F w = V::set_bf16(first[e].value);
      const int64_t row = first[e].at % V::kLanes;
#pragma GCC unroll 8
      for (int t = 0; t < kRows; ++t) y[t] = V::fma_in_lane(row, w, Element::set(x[t], j), y[t]);
    }
  }

 private:
  static constexpr int64_t kCols = 16;  // V::transpose_quads takes 32 bytes of each row
  static constexpr int32_t kOneInBits = 0x3f800000;
  // Of rows that lie times a power of four: so that they are below 512, and their sums far from all limits.
  // The powers are from -60 to 60, 2^-120 to 2^120, since no row's first exponent is above 120.
  static constexpr int64_t kMostFirst = 60;
  static uint32_t few_escapes(int64_t k) {
    return static_cast<uint32_t>(most_escapes(k) / 8);
  }
  static int exponent_of(uint16_t value) {
    return value >> 8 & 127;
  }
  static int64_t row_of(int64_t at) {
    return at / 16 * 4 + at % 8 / 2;
  }

  // A row's weights.
  template <class Fn>
  static void for_weights(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, const Fn& fn) {
    for (int64_t row = 0; row < n_rows; ++row) {
      for (int64_t j = 0; j < k; ++j) {
        uint16_t value;
        std::memcpy(&value, w + row * stride + j * 2, sizeof value);
        fn(value);
      }
    }
  }

  static int64_t largest_exponent(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k) {
    I largest = V::zero_i32();
    int rest = 0;
    const int64_t end = k / (2 * V::kLanes) * 2 * V::kLanes;
    for (int64_t row = 0; row < n_rows; ++row) {
      for (int64_t j = 0; j < end; j += 2 * V::kLanes) {
        const I pair = V::load_bytes(w + row * stride + j * 2);
        largest = V::max_i32(largest, V::magnitude_bits(V::float_of_bits(pair)));
        largest = V::max_i32(largest, V::magnitude_bits(V::float_of_bits(V::shift_left_u32(pair, 16))));
      }
      for_weights(w + row * stride + end * 2, 0, 1, k - end, [&](uint16_t value) {
        if (exponent_of(value) > rest) rest = exponent_of(value);
      });
    }
    const int64_t of_vectors = V::largest_i32(largest) >> 24;
    return of_vectors > rest ? of_vectors : rest;
  }

  // The lowest of those of which most weights are. Zeros need none.
  static int64_t likeliest_exponents(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k) {
    int64_t counts[128] = {};
    for_weights(w, stride, n_rows, k,
                [&](uint16_t value) { counts[exponent_of(value)] += (value & 0x7fff) != 0; });
    int64_t likeliest = 0, most = -1;
    for (int64_t first = 0; first + kExponents <= 128; ++first) {
      int64_t n = 0;
      for (int64_t i = 0; i < kExponents; ++i) n += counts[first + i];
      if (n > most) most = n, likeliest = first;
    }
    return likeliest;
  }

  static bool pack_from(int64_t first_exponent, const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k,
                        uint8_t* panel, const int8_t (&powers)[16] = {}) {
    const int64_t bytes = panel_bytes(k);
    const int64_t list = static_cast<int64_t>(sizeof(Header)) + n_groups(k) * kGroupBytes;
    std::memset(panel + list, 0, static_cast<size_t>(bytes - list));
    Header to_store = {};
    for (int64_t code = 1; code < 16; ++code)
      to_store.upper[code] = static_cast<int8_t>((code & 8) << 4 | (first_exponent + (code & 7)));
    std::memcpy(to_store.power, powers, sizeof powers);
    uint8_t less[kVector];  // in the order of the panel's bytes: from a weight's exponent to what is coded
    for (int64_t at = 0; at < kVector; ++at)
      less[at] = static_cast<uint8_t>(-first_exponent - powers[row_of(at)]);
    const I to_code = V::load_bytes(less);
    uint8_t padded[V::kLanes * kCols * 2];
    for (int64_t j = 0; j < k; j += kCols) {
      const uint8_t* rows = w + j * 2;
      int64_t rows_stride = stride;
      if (n_rows < V::kLanes || k - j < kCols) {
        std::memset(padded, 0, sizeof padded);
        const int64_t cols = k - j < kCols ? k - j : kCols;
        for (int64_t row = 0; row < n_rows; ++row)
          std::memcpy(padded + row * kCols * 2, rows + row * stride, static_cast<size_t>(cols * 2));
        rows = padded;
        rows_stride = kCols * 2;
      }
      I pairs[kCols / 2];
      V::transpose_quads(rows, rows_stride, pairs);
      for (int64_t g = 0; g < kCols / kGroup && j + g * kGroup < k; ++g) {
        uint8_t* to = panel + sizeof(Header) + (j / kGroup + g) * kGroupBytes;
        I codes[2];
        for (int64_t half = 0; half < 2; ++half) {
          const I& a = pairs[g * 4 + half * 2];
          const I& b = pairs[g * 4 + half * 2 + 1];
          const I lower = V::lower_bytes(a, b), upper = V::upper_bytes(a, b);
          const I magnitude = V::template byte_field<0, 127>(upper);
          const I exponent = V::add_bytes(magnitude, to_code);
          const I code = V::or_i32(exponent, V::template byte_field<4, 8>(upper));
          // What is no normal number, or nearly, is no power of four of another.
          const uint64_t is_normal =
              ~(V::bytes_below(magnitude, 1) | V::bytes_below(V::add_bytes(magnitude, 256 - 127), 1));
          const uint64_t fits = V::bytes_below(exponent, kExponents) & ~V::bytes_below(code, 1) & is_normal;
          codes[half] = V::keep_bytes(code, fits);
          V::store_bytes(to + (1 + half) * kVector, V::keep_bytes(lower, fits));
          uint64_t lacking = ~fits & ~V::bytes_below(V::or_i32(magnitude, lower), 1);
          if constexpr (kVector < 64) lacking &= (uint64_t{1} << kVector) - 1;
          for (; lacking != 0; lacking &= lacking - 1) {
            if (to_store.n_escapes == most_escapes(k)) return false;
            const int64_t at = __builtin_ctzll(lacking);
            const int64_t row = row_of(at);
            const int64_t col = g * kGroup + half * kFour + at % 16 / 8 * 2 + at % 2;
            Escape escape = {static_cast<uint32_t>((j + col) * V::kLanes + row), 0, 0};
            std::memcpy(&escape.value, rows + row * rows_stride + col * 2, sizeof escape.value);
            std::memcpy(panel + list + to_store.n_escapes++ * static_cast<int64_t>(sizeof escape), &escape,
                        sizeof escape);
          }
        }
        V::store_bytes(to, V::or_i32(codes[0], V::template shift_left_i16<4>(codes[1])));
      }
    }
    std::memcpy(panel, &to_store, sizeof to_store);
    return true;
  }
};

// Whether the weights of a tile's panels are in registers at once, or one panel's after the other's.
template <class V>
constexpr bool kHasManyRegisters = V::kFloatTilePanels >= 4;

// kPanels panels, from number `panel` on, times kRows rows of activations, from row r on.
template <class V, class Element, int kPanels, int kRows, class AnyFetch>
void multiply_packed_tile(const PanelMatmulParams& p, int64_t panel, int64_t r, AnyFetch fetch) {
  using Packed = PackedBf16<V>;
  using F = typename V::F;
  const uint8_t* panels[kPanels];
  decltype(Element::row(p, 0)) x[kRows];
  F y[kPanels][kRows];
  int8_t upper[kPanels][16];
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) {
    panels[i] = p.panels + (panel + i * panel_step(p)) * Packed::panel_bytes(p.k);
    std::memcpy(upper[i], Packed::header(panels[i]).upper, sizeof upper[i]);
  }
#pragma GCC unroll 4
  for (int t = 0; t < kRows; ++t) {
    x[t] = Element::row(p, r + t);
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) y[i][t] = V::zero();
  }
  // Up to as many steps as a half of a group has.
  constexpr int64_t kSteps = Packed::kFour / Element::kStep;
  constexpr int kAtOnce = kHasManyRegisters<V> ? kPanels : 1;
  const auto add_products = [&]<int kHalf>(int64_t g, int64_t n) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int first = 0; first < kPanels; first += kAtOnce) {
      typename Element::W w[kAtOnce][kSteps];
#pragma GCC unroll 4
      for (int i = 0; i < kAtOnce; ++i)
        Packed::template load<kHalf, Element>(upper[first + i], Packed::group(panels[first + i], g), w[i]);
#pragma GCC unroll 4
      for (int64_t e = 0; e < kSteps; ++e) {
        if (e >= n) break;
#pragma GCC unroll 4
        for (int t = 0; t < kRows; ++t) {
          const auto xj = Element::factor(x[t], (2 * g + kHalf) * kSteps + e);
#pragma GCC unroll 4
          for (int i = 0; i < kAtOnce; ++i)
            y[first + i][t] = Element::add_product(w[i][e], xj, y[first + i][t]);
        }
      }
    }
  };
  const int64_t n_whole = p.k / Packed::kGroup;
  for (int64_t g = 0; g < n_whole; ++g) {
    if constexpr (AnyFetch::kFetches) fetch.step();
    add_products.template operator()<0>(g, kSteps);
    add_products.template operator()<1>(g, kSteps);
  }
  if (const int64_t left = steps_of<Element>(p.k % Packed::kGroup); left > 0) {
    add_products.template operator()<0>(n_whole, left);
    if (left > kSteps) add_products.template operator()<1>(n_whole, left - kSteps);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) Packed::template finish<Element>(panels[i], p.k, x, y[i]);
  store_outputs<V>(p, y, panel, r);
}

// n_rows rows of activations, at most kRows, in one tile.
template <class V, class Element, int kPanels, int kRows, class AnyFetch>
void multiply_packed_rows(const PanelMatmulParams& p, int64_t panel, int64_t r, int64_t n_rows,
                          AnyFetch fetch) {
  if constexpr (kRows > 0) {
    if (n_rows == kRows) return multiply_packed_tile<V, Element, kPanels, kRows>(p, panel, r, fetch);
    multiply_packed_rows<V, Element, kPanels, kRows - 1>(p, panel, r, n_rows, fetch);
  }
}

// Side by side, since each sum waits for itself: two would take longer than memory does.
constexpr int kPackedTilePanels = 4;
// So that their sums and the weights are what the registers hold …
template <class V>
constexpr int kPackedTileRows = kHasManyRegisters<V> ? 4 : 3;
// … and up to so many rows of activations that is faster than to unpack the panels first.
template <class V>
constexpr int64_t kPackedRows = kHasManyRegisters<V> ? 24 : 12;

// Few rows of activations.
template <class V, class Element>
void multiply_packed_stream(const PanelMatmulParams& p) {
  using Packed = PackedBf16<V>;
  const int64_t bytes = Packed::panel_bytes(p.k);
  const int64_t n_steps = p.k < Packed::kGroup ? 1 : p.k / Packed::kGroup;
  if (p.run_step != 0) {
    return for_tiles_of_runs(p, [&]<int kRuns>(int64_t panel) {
      const auto multiply = [&](auto fetch) {
        multiply_packed_rows<V, Element, kRuns, kStreamedRows>(p, panel, 0, p.n,
                                                               FloatFetch<decltype(fetch)>{fetch});
      };
      if (!p.runs_ask_ahead) return multiply(NoFetch{});
      multiply(PagesAhead<kRuns>{p.panels + panel * bytes, p.run_step * bytes, bytes / n_steps});
    });
  }
  constexpr int kPanels = kPackedTilePanels;
  const int64_t n_panels = p.panel_end - p.panel_begin;
  TurnFetcher fetcher(p.next, p.next_bytes, n_panels / kPanels + n_panels % kPanels, n_steps);
  const auto multiply = [&]<int kTile>(int64_t panel) {
    using TurnFetch = FloatFetch<StreamsFetch<kStreamsOfTurn>>;
    multiply_packed_rows<V, Element, kTile, kStreamedRows>(p, panel, 0, p.n, TurnFetch{fetcher.next_tile()});
  };
  int64_t panel = p.panel_begin;
  for (; p.panel_end - panel >= kPanels; panel += kPanels) multiply.template operator()<kPanels>(panel);
  for (; panel < p.panel_end; ++panel) multiply.template operator()<1>(panel);
}

// Some more.
template <class V, class Element, int kPanels>
void multiply_packed_tiles(const PanelMatmulParams& p, int64_t panel) {
  const int64_t n_tiles = (p.n + kPackedTileRows<V> - 1) / kPackedTileRows<V>;
  for (int64_t i = 0; i < n_tiles; ++i) {
    const int64_t r = p.n * i / n_tiles, end = p.n * (i + 1) / n_tiles;
    multiply_packed_rows<V, Element, kPanels, kPackedTileRows<V>>(p, panel, r, end - r, NoFetch());
  }
}

// Many rows of activations: panels are unpacked for all of them.
template <class V, class Element, int kPanels>
void multiply_unpacked(const PanelMatmulParams& p, int64_t panel) {
  using Packed = PackedBf16<V>;
  const int64_t bytes = float_panel_bytes<V, Element>(p.k);
  for (int i = 0; i < kPanels; ++i)
    Packed::template unpack<Element>(p.panels + (panel + i) * Packed::panel_bytes(p.k), p.k,
                                     p.scratch + i * bytes);
  multiply_float_panels<V, Element, kPanels>(p, {p.scratch, bytes}, panel, [&](const auto& x, auto& y) {
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) {
      Packed::template finish<Element>(p.panels + (panel + i) * Packed::panel_bytes(p.k), p.k, x, y[i]);
    }
  });
}

template <class V, class Element>
int64_t packed_scratch_bytes(int64_t k) {
  return V::kFloatTilePanels * float_panel_bytes<V, Element>(k);
}

template <class V, class Element>
void multiply_packed(const PanelMatmulParams& p) {
  if (p.n <= kStreamedRows) return multiply_packed_stream<V, Element>(p);
  const auto multiply_all = [&]<int kPanels>(const auto& multiply) {
    int64_t panel = p.panel_begin;
    for (; p.panel_end - panel >= kPanels; panel += kPanels) multiply.template operator()<kPanels>(panel);
    for (; panel < p.panel_end; ++panel) multiply.template operator()<1>(panel);
  };
  if (p.n <= kPackedRows<V>) {
    multiply_all.template operator()<kPackedTilePanels>(
        [&]<int kPanels>(int64_t panel) { multiply_packed_tiles<V, Element, kPanels>(p, panel); });
  } else {
    multiply_all.template operator()<V::kFloatTilePanels>(
        [&]<int kPanels>(int64_t panel) { multiply_unpacked<V, Element, kPanels>(p, panel); });
  }
}

}  // namespace
}  // namespace inferno::kernels
