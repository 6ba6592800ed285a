// The slow, obvious version of every operation and format: the definition, and the oracle of every faster
// one. Plain loops, float32 accumulation in index order, quantized weights read block by block.
#pragma once

#include "kernels/params.h"

namespace inferno::kernels::reference {

void embed(const EmbedParams& p);
void matmul(const MatmulParams& p);
void rms_norm(const RmsNormParams& p);
void rope_table(const RopeTableParams& p);
void rope(const RopeParams& p);
void kv_append(const KvAppendParams& p);
void attention(const AttentionParams& p);
void add(const AddParams& p);
void act_mul(const ActMulParams& p);
void gather_rows(const GatherRowsParams& p);
void argmax(const ArgmaxParams& p);

// Expands n elements, n a multiple of the format's block: the definition of each format. nullptr for a type
// that is not a weight type.
using DequantizeFn = void (*)(const void* x, float* y, int64_t n);
DequantizeFn find_dequantize(DType dtype);
void dequantize(DType dtype, const void* x, float* y, int64_t n);

// Sum, modulo 2^64, of the data as little-endian 64-bit words, the last one filled up with zeros: the loop
// whose speed is the read-bandwidth ceiling of one thread.
uint64_t read_all(const void* data, int64_t bytes);

}  // namespace inferno::kernels::reference
