// Instruction sets. A kernel file that is listed under PER_ISA in gpu/CMakeLists.txt is compiled once for each, with
// TM_ISA naming a namespace: tidemill::gpu::baseline, ::avx2, ::avx512. What such a file, and a header that it
// includes, defines lives in that namespace, so that no copy made for one processor is ever linked for another. The
// file exports one table of functions; PickIsa() chooses among the three at run time.
//
// Bits: the same on all three. Products are contracted only where Fma() is written, no instruction is approximate, and
// lanes are always 16 (row_group.h). So the choice is one of speed alone. The baseline's Fma() is a library call:
// right, and slow; every x86 processor since 2013 has better.
//
// Such files are compiled with -O3 -fno-math-errno -fno-trapping-math; neither changes a value.
#pragma once

#include <string_view>

#ifndef TM_ISA
#define TM_ISA baseline
#endif

namespace tidemill::gpu {

enum class Isa { kBaseline, kAvx2, kAvx512 };

Isa CpuIsa();  // the best that this processor and this build have
std::string_view IsaName(Isa isa);

template <typename Table>
const Table& PickIsa(Isa isa, const Table& baseline, const Table& avx2, const Table& avx512) {
  return isa == Isa::kAvx512 ? avx512 : isa == Isa::kAvx2 ? avx2 : baseline;
}

}  // namespace tidemill::gpu
