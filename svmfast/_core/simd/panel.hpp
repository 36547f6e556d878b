// The shape of a panel of support vectors on this instruction set.
#pragma once
#include "simd/vec.hpp"

namespace svmfast::SVMFAST_ISA {

constexpr std::size_t NV = 3;  // vectors per panel
constexpr std::size_t LANES = NV * W;

}  // namespace svmfast::SVMFAST_ISA
