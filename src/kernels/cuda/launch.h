// The CUDA kernels, as the host calls them: the parameters of kernels/params.h with every pointer in the
// device's memory, and the stream that they are put into. A call returns before its kernel has run; what goes
// wrong is the CUDA runtime's last error. Plain C++: no CUDA type is seen here.
#pragma once

#include "kernels/params.h"

namespace inferno::kernels::cuda {

using Stream = void*;  // a cudaStream_t

void embed(const EmbedParams& p, Stream stream);
void matmul(const MatmulParams& p, Stream stream);
void rms_norm(const RmsNormParams& p, Stream stream);
void rope_table(const RopeTableParams& p, Stream stream);
void rope(const RopeParams& p, Stream stream);
void kv_append(const KvAppendParams& p, Stream stream);
// n: rows of q and y, which the host cannot read from cu_seqlens_q.
void attention(const AttentionParams& p, int64_t n, Stream stream);
void add(const AddParams& p, Stream stream);
void act_mul(const ActMulParams& p, Stream stream);
void gather_rows(const GatherRowsParams& p, Stream stream);

// Sums of the data's 64-bit words modulo 2^64, which together are all of them: the loop whose speed is the
// device's read-bandwidth ceiling. Bytes are a multiple of 16.
constexpr int64_t kReadSums = 1 << 14;
struct ReadAllParams {
  const void* data;
  int64_t bytes;
  uint64_t* sums;  // (kReadSums)
};
void read_all(const ReadAllParams& p, Stream stream);

}  // namespace inferno::kernels::cuda
