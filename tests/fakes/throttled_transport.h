// Drives with speeds of their own and a clock of their own: an operation takes its bytes over its file's rate, one
// after another on each file, all files side by side. No time passes for anybody else.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/transport.h"

namespace tidemill::fakes {

// What the drives did. Outlives the transport.
struct DriveRecord {
  std::atomic<double> seconds = 0;  // on the drives' clock, when the last operation ended
  std::array<std::atomic<uint64_t>, io::Transport::kFilesMax> bytes{};
};

class ThrottledTransport final : public io::Transport {
 public:
  // `bytes_per_s`: of each file. The target moves the bytes, one operation at a time.
  ThrottledTransport(std::unique_ptr<io::Transport> target, std::vector<double> bytes_per_s, DriveRecord& record)
      : target_(std::move(target)), rates_(std::move(bytes_per_s)), free_at_(rates_.size()), record_(record) {}

  std::string_view Name() const override { return "throttled"; }
  size_t Depth() const override { return target_->Depth(); }
  void AddFile(uint32_t index, int fd) override { target_->AddFile(index, fd); }
  void Wake() override {}  // never waits

  Status Start(std::span<const io::RawOp> ops) override {
    for (const io::RawOp& op : ops) {
      double& free_at = free_at_.at(op.file);
      free_at = std::max(free_at, record_.seconds.load()) + static_cast<double>(op.bytes) / rates_.at(op.file);
      waiting_.push_back({free_at, op});
    }
    return Ok();
  }

  Result<size_t> Collect(std::span<io::RawResult> results, size_t wait_for) override {
    TM_CHECK(wait_for <= 1);
    if (waiting_.empty() || wait_for == 0) return 0;
    const auto first = std::min_element(waiting_.begin(), waiting_.end(),
                                        [](const Waiting& a, const Waiting& b) { return a.ends_at < b.ends_at; });
    record_.seconds = first->ends_at;
    record_.bytes[first->op.file] += first->op.bytes;
    TM_RETURN_IF_ERROR(target_->Start({&first->op, 1}));
    waiting_.erase(first);
    return target_->Collect(results.first(1), 1);
  }

 private:
  struct Waiting {
    double ends_at;
    io::RawOp op;
  };
  const std::unique_ptr<io::Transport> target_;
  const std::vector<double> rates_;
  std::vector<double> free_at_;
  DriveRecord& record_;
  std::vector<Waiting> waiting_;
};

}  // namespace tidemill::fakes
