// Sums over the ranks of a run. A world of one uses the same calls: what it adds is nothing.
//
//   Threads     one thread at a time; every rank makes the same calls in the same order.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"

namespace tidemill::gpu {

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Every rank ends with the elementwise sum over ranks, added in rank order.
  virtual Status AllReduceSum(std::span<double> values) = 0;
};

std::unique_ptr<Communicator> WorldOfOne();

}  // namespace tidemill::gpu
