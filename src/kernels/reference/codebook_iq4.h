// The values that the 4-bit codes of IQ4_NL and IQ4_XS stand for.
#pragma once

namespace inferno::kernels::reference {

constexpr int kCodebookIQ4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace inferno::kernels::reference
