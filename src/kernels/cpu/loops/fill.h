// Fills an ISA's table with the loops of this folder over its vector.
#pragma once

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops/attention.h"
#include "kernels/cpu/loops/attention_pipeline.h"
#include "kernels/cpu/loops/coarse_rows.h"
#include "kernels/cpu/loops/k_quants.h"
#include "kernels/cpu/loops/kv_cache.h"
#include "kernels/cpu/loops/logit_bounds.h"
#include "kernels/cpu/loops/packed_bf16.h"
#include "kernels/cpu/loops/panel_float.h"
#include "kernels/cpu/loops/panel_int8.h"
#include "kernels/cpu/loops/planes.h"
#include "kernels/cpu/loops/q8_0.h"
#include "kernels/cpu/loops/quantized_product.h"
#include "kernels/cpu/loops/rows.h"
#include "kernels/cpu/loops/simple_quants.h"

namespace inferno::kernels {
namespace {

inline int64_t no_scratch(int64_t) {
  return 0;
}

template <class V, class Element>
PanelMatmul float_panels() {
  return {V::kLanes,  XForm::kFloat,          float_panel_bytes<V, Element>,
          no_scratch, pack_float<V, Element>, multiply_float<V, Element>,
          nullptr,    kStreamedRows};
}

// What a product of a quantized format takes.
template <class Format>
constexpr XForm kBytesOf = Format::kGroup == kBlock ? XForm::kInt8 : XForm::kInt8Halves;

template <class V, class Format>
PanelMatmul packed_panels() {
  using Product = QuantizedProduct<V, Format>;
  return {V::kLanes,
          kBytesOf<Format>,
          Format::panel_bytes,
          Product::scratch_bytes,
          pack_blocks<V, Format>,
          Product::multiply,
          nullptr,
          Product::kTwoRunRows,
          Product::wide_rows(),
          Product::shared_rows(),
          Product::turn_panels()};
}

// Only where putting the planes together costs little beside the products: AVX2 took 1.24 of its time with
// both (Q8_0, one row), and nobody has timed NEON.
template <class V, class Whole>
PlanesMatmul panels_in_planes() {
  if constexpr (V::kLargestOffset >= 128) {
    using Product = QuantizedProduct<V, Whole>;
    using Upper = typename Whole::Upper;
    using UpperProduct = QuantizedProduct<V, Upper>;
    return {{V::kLanes, kBytesOf<Whole>, Whole::panel_bytes, Product::scratch_bytes, Whole::pack,
             Product::multiply, nullptr, Product::kTwoRunRows, Product::wide_rows()},
            {V::kLanes, kBytesOf<Upper>, Upper::panel_bytes, UpperProduct::scratch_bytes, nullptr,
             UpperProduct::multiply, nullptr, UpperProduct::kTwoRunRows, UpperProduct::wide_rows()},
            square_norms_of_planes<V, Whole>};
  } else {
    return {};
  }
}

// Multiply-adds of float32.
template <class V>
void fill_bf16_products(CpuKernels* table) {
  table->matmul[static_cast<int>(DType::kBF16)] = float_panels<V, ElementBF16<V>>();
  if constexpr (requires { V::widen_bf16; }) {
    table->compressed[static_cast<int>(DType::kBF16)] = {
        12,
        {V::kLanes, XForm::kFloat, PackedBf16<V>::panel_bytes, packed_scratch_bytes<V, ElementBF16<V>>,
         nullptr, multiply_packed<V, ElementBF16<V>>, nullptr, kStreamedRows},
        PackedBf16<V>::pack};
  }
}

template <class V>
void fill_float_ops(CpuKernels* table) {
  table->rms_norm = rms_norm_rows<V>;
  table->rope = rope_rows;
  table->key_tile = kKeyTile;
  table->block_multiple = kKeyTile;
  table->cache = {kv_append_rows<V>, attention_part<V>, kMaxQueryRows, false};
  if constexpr (kTileVectors<V> <= kMostPipelinedTileVectors)
    table->attention_pipeline = attention_pipeline<V>;
  table->fetched_query_rows = V::kScoreRows;
  table->merge_attention = merge_chunks<V>;
  table->act_mul = act_mul_rows<V>;
  table->add = add_rows<V>;
  table->quantize = quantize_rows<V>;
  table->logit_group = V::kLanes;
  table->bound_logits = bound_logits<V>;
  table->coarse_row[static_cast<int>(DType::kF32)] = coarse_row<V, ElementF32<V>>;
  table->coarse_row[static_cast<int>(DType::kF16)] = coarse_row<V, ElementF16<V>>;
  table->coarse_row[static_cast<int>(DType::kBF16)] = coarse_row<V, ElementBF16<V>>;
  table->matmul[static_cast<int>(DType::kF32)] = float_panels<V, ElementF32<V>>();
  table->matmul[static_cast<int>(DType::kF16)] = float_panels<V, ElementF16<V>>();
  fill_bf16_products<V>(table);
}

template <class V>
void fill_simple_quants(CpuKernels* table) {
  const auto set = [&](DType dtype, const PanelMatmul& kernel) {
    table->matmul[static_cast<int>(dtype)] = kernel;
  };
  using Q8_0 = PanelQ8_0<V>;
  using Product = QuantizedProduct<V, Q8_0>;
  set(DType::kQ8_0,
      {V::kLanes, XForm::kInt8, Q8_0::panel_bytes, Product::scratch_bytes, Q8_0::pack, Product::multiply,
       nullptr, Product::kTwoRunRows, Product::wide_rows(), Product::shared_rows(), Product::turn_panels()});
  table->planes[static_cast<int>(DType::kQ8_0)] = panels_in_planes<V, WholeQ8_0<V>>();
  set(DType::kQ4_0, packed_panels<V, PanelQ4_0<V>>());
  set(DType::kQ4_1, packed_panels<V, PanelQ4_1<V>>());
  set(DType::kQ5_0, packed_panels<V, PanelQ5_0<V>>());
  set(DType::kQ5_1, packed_panels<V, PanelQ5_1<V>>());
  set(DType::kIQ4_NL, packed_panels<V, PanelIQ4_NL<V>>());
  set(DType::kMXFP4, packed_panels<V, PanelMXFP4<V>>());
}

template <class V>
void fill_k_quants(CpuKernels* table) {
  const auto set = [&](DType dtype, const PanelMatmul& kernel) {
    table->matmul[static_cast<int>(dtype)] = kernel;
  };
  set(DType::kQ2_K, packed_panels<V, PanelQ2_K<V>>());
  set(DType::kQ3_K, packed_panels<V, PanelQ3_K<V>>());
  set(DType::kQ4_K, packed_panels<V, PanelQ4_K<V>>());
  set(DType::kQ5_K, packed_panels<V, PanelQ5_K<V>>());
  set(DType::kQ6_K, packed_panels<V, PanelQ6_K<V>>());
  table->planes[static_cast<int>(DType::kQ6_K)] = panels_in_planes<V, WholeQ6_K<V>>();
  set(DType::kIQ4_XS, packed_panels<V, PanelIQ4_XS<V>>());
}

}  // namespace
}  // namespace inferno::kernels
