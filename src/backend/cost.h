// The least that each operation must move and compute: every operand once, whatever the device does.
#pragma once

#include "backend/args.h"
#include "metrics/profile.h"

namespace inferno::backend {

// host_batch: the batch in host memory (an operation's own view may be in the device's).
metrics::Cost cost(const EmbedArgs& a, const BatchView& host_batch);
metrics::Cost cost(const MatmulArgs& a, const BatchView& host_batch);
metrics::Cost cost(const RmsNormArgs& a, const BatchView& host_batch);
metrics::Cost cost(const RopeTableArgs& a, const BatchView& host_batch);
metrics::Cost cost(const RopeArgs& a, const BatchView& host_batch);
metrics::Cost cost(const KvAppendArgs& a, const BatchView& host_batch);
metrics::Cost cost(const AttentionArgs& a, const BatchView& host_batch);
metrics::Cost cost(const AddArgs& a, const BatchView& host_batch);
metrics::Cost cost(const ActMulArgs& a, const BatchView& host_batch);
metrics::Cost cost(const GatherRowsArgs& a, const BatchView& host_batch);
metrics::Cost cost(const ArgmaxArgs& a, const BatchView& host_batch);
metrics::Cost cost(const QkvArgs& a, const BatchView& host_batch);
metrics::Cost cost(const OutProjArgs& a, const BatchView& host_batch);
metrics::Cost cost(const MlpArgs& a, const BatchView& host_batch);
metrics::Cost cost(const LmHeadArgs& a, const BatchView& host_batch);

// Of w, multiplied with n rows: without the rows.
metrics::Cost product_cost(const Weight& w, int64_t n);

}  // namespace inferno::backend
