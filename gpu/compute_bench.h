// How fast a device multiplies matrices: the rates behind `bench compute` and the planner's compute lane.
//
//   Method      every repeat runs every product once, so that a busy machine slows all alike; the rate is of the
//               median. One unmeasured round goes before: caches, pages and the library's kernels are warm.
//   Ownership   takes a fresh device: the measurement reserves its arena.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "gpu/device.h"

namespace tidemill::gpu {

struct ProductShape {
  int64_t rows = 0, in = 0, out = 0;  // as in Operations::LinearForward
};

struct ProductRate {
  std::string_view operation;  // "forward", "backward_input", "backward_weights"
  ProductShape shape;
  double median_seconds = 0;
  double flops_per_s = 0;  // 2 rows in out per product
};

// Three rates per shape, in order. kDoesNotFit or kUnavailable when the memory is not there.
Result<std::vector<ProductRate>> MeasureProducts(Device& device, std::span<const ProductShape> shapes, DType weights,
                                                 int repeats);

// What the host's vector units could do with `threads` threads: fused multiply-adds on registers alone, fp32.
double HostPeakFlopsPerS(size_t threads);

}  // namespace tidemill::gpu
