// The query rows of a part of attention, and their online softmax over chunks of positions (Milakov and
// Gimelshein 2018).
#pragma once

#include <cstdint>

#include "kernels/cpu/loops/exp.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

// A query row and what has been made of it.
struct QueryRow {
  const float* q;      // (head_dim)
  float* y;            // (head_dim): what has been made of it so far, which is done when it is in `output`
  float* output;       // (head_dim), maybe the same place
  int64_t begin, end;  // positions that it sees
  float max, sum;
};

// All rows of the part, of which nothing has been made; returns their number.
inline int64_t query_rows(const AttentionPart& p, QueryRow* rows) {
  const AttentionParams& a = p.all;
  const int64_t head_dim = a.kv.head_dim;
  const int64_t heads_per_kv_head = a.n_heads / a.kv.n_kv_heads;
  const int64_t first_query = a.cu_seqlens_q[p.seq];
  const int64_t first_position = a.context_lens[p.seq] - (a.cu_seqlens_q[p.seq + 1] - first_query);
  const int64_t n = p.row_end - p.row_begin;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t query = (p.row_begin + i) / heads_per_kv_head;
    const int64_t query_head = p.kv_head * heads_per_kv_head + (p.row_begin + i) % heads_per_kv_head;
    const int64_t offset = ((first_query + query) * a.n_heads + query_head) * head_dim;
    const int64_t position = first_position + query;
    const int64_t oldest = position - a.window + 1;
    float* output = a.y + offset;
    rows[i] = {a.q + offset,      output, output, a.window == 0 || oldest < 0 ? 0 : oldest, position + 1,
               -__builtin_inff(), 0.0f};
  }
  return n;
}

template <class V>
void fill_rows(const QueryRow* rows, int64_t n, int64_t head_dim, float value) {
  for (int64_t i = 0; i < n; ++i) {
    float* y = rows[i].y;
    int64_t d = 0;
    for (; d + V::kLanes <= head_dim; d += V::kLanes) V::store(y + d, V::set(value));
    if (d < head_dim) V::store(y + d, V::set(value), head_dim - d);
  }
}

// How what has been made of a row so far and what a chunk adds are combined: y = y * keep + values * take.
struct Mix {
  float keep, take;
};

// With the largest score of the chunk and the sum of its weights.
template <class V>
Mix add_chunk(QueryRow* row, float max, float sum) {
  const float new_max = max > row->max ? max : row->max;
  // Lane 0 of a vector, so that there is one exp().
  const float keep = V::first(exp<V>(V::set(row->max - new_max)));
  const float take = V::first(exp<V>(V::set(max - new_max)));
  row->sum = row->sum * keep + sum * take;
  row->max = new_max;
  return {keep, take};
}

// Turns a row's scores of the positions from chunk + begin to chunk + end, both at tiles, into weights.
template <class V>
Mix weigh(QueryRow* row, float* scores, int64_t chunk, int64_t begin, int64_t end) {
  using F = typename V::F;
  const float infinity = __builtin_inff();
  if (row->begin >= chunk + end || row->end <= chunk + begin) {
    for (int64_t i = begin; i < end; ++i) scores[i] = 0.0f;
    return {1.0f, 0.0f};
  }
  for (int64_t i = begin; i < row->begin - chunk; ++i) scores[i] = -infinity;
  for (int64_t i = row->end - chunk; i < end; ++i) scores[i] = -infinity;
  F largest = V::set(-infinity);
  for (int64_t i = begin; i < end; i += V::kLanes) largest = V::max(V::load(scores + i), largest);
  const float max = V::largest(largest);
  const F max_lanes = V::set(max);
  F sums = V::zero();
  for (int64_t i = begin; i < end; i += V::kLanes) {
    const F weight = exp<V>(V::sub(V::load(scores + i), max_lanes));
    V::store(scores + i, weight);
    sums = V::add(sums, weight);
  }
  return add_chunk<V>(row, max, V::sum(sums));
}

template <class V>
void divide_by_sums(const QueryRow* rows, int64_t n, int64_t head_dim) {
  for (int64_t i = 0; i < n; ++i) {
    const float* y = rows[i].y;
    float* output = rows[i].output;
    const auto sum = V::set(rows[i].sum);
    int64_t d = 0;
    for (; d + V::kLanes <= head_dim; d += V::kLanes) V::store(output + d, V::div(V::load(y + d), sum));
    if (d < head_dim) V::store(output + d, V::div(V::load(y + d, head_dim - d), sum), head_dim - d);
  }
}

// Which positions of a chunk, counted from its first, some of the rows see: none where end <= begin.
struct Seen {
  int64_t begin, end;
};
inline Seen seen_of_chunk(const QueryRow* rows, int64_t n, int64_t chunk) {
  int64_t first = rows[0].begin;
  int64_t last = rows[0].end;
  for (int64_t i = 1; i < n; ++i) {
    if (rows[i].begin < first) first = rows[i].begin;
    if (rows[i].end > last) last = rows[i].end;
  }
  return {first > chunk ? first - chunk : 0, last < chunk + kAttentionChunk ? last - chunk : kAttentionChunk};
}

// Goes through the chunks of positions that the rows see by attend_chunk(first position), or does the one
// that p asks for, which is left in p.partial.
template <class V, class AttendChunk>
void attend_chunks(const AttentionPart& p, QueryRow* rows, int64_t n, const AttendChunk& attend_chunk) {
  const int64_t head_dim = p.all.kv.head_dim;
  if (p.partial == nullptr) {
    fill_rows<V>(rows, n, head_dim, 0.0f);
    // Rows are in order of position, so the first sees the oldest and the last the newest.
    for (int64_t chunk = rows[0].begin / kAttentionChunk * kAttentionChunk; chunk < rows[n - 1].end;
         chunk += kAttentionChunk) {
      attend_chunk(chunk);
    }
    return divide_by_sums<V>(rows, n, head_dim);
  }
  for (int64_t i = 0; i < n; ++i) rows[i].y = p.partial + i * (head_dim + 2);
  // -0, to which any sum can be added and stays what it is, bit by bit.
  fill_rows<V>(rows, n, head_dim, -0.0f);
  attend_chunk(p.chunk * kAttentionChunk);
  for (int64_t i = 0; i < n; ++i) {
    rows[i].y[head_dim] = rows[i].max;
    rows[i].y[head_dim + 1] = rows[i].sum;
  }
}

// Makes the rows of what their chunks have left in p.partial: (n_chunks, rows, head_dim + 2).
template <class V>
void merge_chunks(const AttentionPart& p, int64_t n_chunks) {
  QueryRow rows[kMaxQueryRows];
  const int64_t n = query_rows(p, rows);
  const int64_t head_dim = p.all.kv.head_dim;
  fill_rows<V>(rows, n, head_dim, 0.0f);
  for (int64_t i = 0; i < n * n_chunks; ++i) {
    QueryRow& row = rows[i % n];
    const float* values = p.partial + i * (head_dim + 2);
    const float max = values[head_dim];
    const float sum = values[head_dim + 1];
    // Of weights of which the largest is 1; 0 where the row does not see the chunk.
    const Mix mix = sum == 0.0f ? Mix{1.0f, 0.0f} : add_chunk<V>(&row, max, sum);
    for (int64_t d = 0; d < head_dim; d += V::kLanes) {
      const int64_t lanes = head_dim - d < V::kLanes ? head_dim - d : V::kLanes;
      const auto kept = V::mul(V::load(row.y + d, lanes), V::set(mix.keep));
      V::store(row.y + d, V::fma(V::load(values + d, lanes), V::set(mix.take), kept), lanes);
    }
  }
  divide_by_sums<V>(rows, n, head_dim);
}

}  // namespace
}  // namespace inferno::kernels
