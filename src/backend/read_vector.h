// A norm or bias as every backend takes it: in F32.
#pragma once

#include "backend/args.h"

namespace inferno::backend {

// Writes n_elements() of the source's tensor. Errors: those of its copy_rows.
Status read_vector(const WeightSource& source, float* to);

}  // namespace inferno::backend
