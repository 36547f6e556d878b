// All loops, as one translation unit for each instruction set (SVMFAST_ISA): parsing the headers of intrinsics and
// expanding the tiles once takes a third of the time that a translation unit for each file takes.
#include "simd/budget.inl"
#include "simd/cells.inl"
#include "simd/decision.inl"
#include "simd/polynomial.inl"
#include "simd/reduced_set.inl"
#include "simd/router.inl"
#include "simd/single_labels.inl"
