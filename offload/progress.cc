#include "offload/progress.h"

#include <algorithm>
#include <utility>

namespace tidemill::offload {

using swap_scheduler::Lane;

void Progress::Restart() {
  const std::scoped_lock lock(mutex_);
  done_ = {};
  status_ = Ok();
}

void Progress::Finish(Lane lane) {
  {
    const std::scoped_lock lock(mutex_);
    ++done_[static_cast<size_t>(lane)];
  }
  changed_.notify_all();
}

void Progress::Fail(Error error) {
  {
    const std::scoped_lock lock(mutex_);
    if (status_.has_value()) status_ = tl::make_unexpected(std::move(error));
  }
  changed_.notify_all();
}

bool Progress::Reached(std::span<const LanePoint> points) const {
  return std::all_of(points.begin(), points.end(),
                     [this](const LanePoint& point) { return done_[static_cast<size_t>(point.lane)] > point.ordinal; });
}

bool Progress::WaitFor(std::span<const LanePoint> points) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !status_.has_value() || Reached(points); });
  return status_.has_value();
}

bool Progress::WaitForCount(Lane lane, uint32_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !status_.has_value() || done_[static_cast<size_t>(lane)] >= count; });
  return status_.has_value();
}

Status Progress::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

}  // namespace tidemill::offload
