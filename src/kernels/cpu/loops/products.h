// How an ISA multiplies bytes of weights by bytes of activations: besides the vector V, what panel_int8.h is
// written over. Here is the common way, V::dot() with the same four activations in all lanes; an ISA that
// knows a better one specializes it for its vector.
//
// A block of 32 elements of a panel's rows is eight vectors of bytes; which element is where, place() tells.
#pragma once

#include <cstdint>

namespace inferno::kernels {
namespace {

// Four elements of each of the panel's rows in a vector.
template <class V>
constexpr int64_t place_in_quads(int64_t row, int64_t element) {
  return element / 4 * 4 * V::kLanes + row * 4 + element % 4;
}

template <class V>
struct Products {
  static constexpr int kVectors = 1;  // of weights that one X is multiplied by
  static constexpr int kRows = 1;     // of activations that an X and a Sum are of
  using X = typename V::I;
  using Sum = typename V::I;

  // Of an element of a row's block, in bytes from the block's first vector. Elements 4 i .. 4 i + 3 lie side
  // by side, those 16 later lie four vectors later.
  static constexpr int64_t place(int64_t row, int64_t element) { return place_in_quads<V>(row, element); }
  // From what each row of activations begins with.
  static Sum start(typename V::I first, typename V::I) { return first; }
  // Of kRows rows of activations, as many elements as kVectors vectors of weights have.
  static X load(const int8_t* first, const int8_t*) { return V::repeat4(first); }
  static void add(Sum& sum, const typename V::I (&w)[kVectors], X x) { sum = V::dot(sum, w[0], x); }
  // Of one row of activations.
  static typename V::I total(const Sum& sum, int) { return sum; }
};

// The sums of kRows rows of activations, and between which two rows each is: the last may have one row alone.
template <class V, int kRows>
struct RowSums {
  static constexpr int kSums = (kRows + Products<V>::kRows - 1) / Products<V>::kRows;
  static constexpr int first(int sum) { return sum * Products<V>::kRows; }
  static constexpr int last(int sum) {
    const int row = first(sum) + Products<V>::kRows - 1;
    return row < kRows ? row : kRows - 1;
  }
};

}  // namespace
}  // namespace inferno::kernels
