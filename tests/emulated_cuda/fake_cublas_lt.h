// What the emulation and its tests call of the cuBLASLt that stands in for NVIDIA's.
#pragma once

#include "cuda_runtime.h"

// How it starts its kernels, as the library is not linked with the emulated runtime.
extern "C" void fake_cublas_lt_connect(decltype(&emulated_launch) launch);
// Contexts, descriptors, layouts and preferences that were made and not destroyed.
extern "C" int fake_cublas_lt_objects();
