// The options of every command that samples.
#pragma once

#include "apps/command_line.h"
#include "base/result.h"
#include "sampling/sampler.h"

namespace inferno::apps {

// --temperature, --top-k, --top-p, --min-p, --repetition-penalty, --seed.
void add_sampling_options(Command command, sampling::SamplingParams& params);

// As sampling::validate; the error names the option.
Status check_sampling(const sampling::SamplingParams& params);

// Says which options do nothing because the likeliest token is taken anyway.
void warn_of_idle_options(const sampling::SamplingParams& params);

}  // namespace inferno::apps
