#include "gpu/communicator.h"

namespace tidemill::gpu {
namespace {

class WorldOfOneRank final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Status AllReduceSum(std::span<double> /*values*/) override { return Ok(); }
};

}  // namespace

std::unique_ptr<Communicator> WorldOfOne() { return std::make_unique<WorldOfOneRank>(); }

}  // namespace tidemill::gpu
