// A transport that fails on purpose, in front of a real one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/byte_size.h"
#include "io/transport.h"

namespace tidemill::fakes {

// What goes wrong, and when; operations count from 0. The default plan is a healthy drive.
struct FaultPlan {
  std::optional<size_t> fail_op = {};  // never reaches the drive, answers `error_number`
  int error_number = EIO;
  std::optional<size_t> corrupt_op = {};  // moves, with the first bit of its bytes flipped on the way
  std::optional<size_t> vanish_op = {};   // answers 0 bytes: the file has ended
  std::optional<size_t> short_op = {};    // stops after one block and a bit
  size_t moved_at_most = SIZE_MAX;        // every operation stops after so many bytes
  size_t interrupt_every = 0;             // operation n, 2n, 3n… answers EINTR without moving; 0: none
};

class FaultyTransport final : public io::Transport {
 public:
  // `operations` counts what was started, if given; it outlives this.
  FaultyTransport(std::unique_ptr<io::Transport> target, FaultPlan plan, std::atomic<size_t>* operations = nullptr)
      : target_(std::move(target)),
        plan_(plan),
        operations_(operations),
        corrupting_(target_->Depth()),
        moved_at_most_(target_->Depth()) {}

  std::string_view Name() const override { return "faulty"; }
  size_t Depth() const override { return target_->Depth(); }
  void AddFile(uint32_t index, int fd) override { target_->AddFile(index, fd); }
  void Wake() override { target_->Wake(); }

  Status Start(std::span<const io::RawOp> ops) override {
    for (io::RawOp op : ops) {
      const size_t index = seen_++;
      if (operations_ != nullptr) *operations_ = seen_;
      corrupting_[op.id] = nullptr;
      if (plan_.fail_op == index) {
        answers_.push_back({op.id, -plan_.error_number});
      } else if (plan_.vanish_op == index) {
        answers_.push_back({op.id, 0});
      } else if (plan_.interrupt_every > 0 && index % plan_.interrupt_every == plan_.interrupt_every - 1) {
        answers_.push_back({op.id, -EINTR});
      } else {
        // A direct transfer takes whole blocks only; the answer is cut to what was planned.
        const size_t most = plan_.short_op == index ? io::kAlignmentBytes + 100 : plan_.moved_at_most;
        moved_at_most_[op.id] = most;
        op.bytes = std::min(op.bytes, AlignUp(std::min(most, op.bytes), io::kAlignmentBytes));
        if (plan_.corrupt_op == index) {
          corrupting_[op.id] = op.address;
          if (op.op == io::IoRequest::Op::kWrite) *op.address ^= std::byte{1};
        }
        if (Status started = target_->Start({&op, 1}); !started) return started;
      }
    }
    return Ok();
  }

  Result<size_t> Collect(std::span<io::RawResult> results, size_t wait_for) override {
    size_t count = 0;
    for (; count < results.size() && !answers_.empty(); answers_.pop_back()) results[count++] = answers_.back();
    TM_ASSIGN_OR_RETURN(const size_t more,
                        target_->Collect(results.subspan(count), wait_for > count ? wait_for - count : 0));
    for (io::RawResult& result : results.subspan(count, more)) {
      if (const size_t most = moved_at_most_[result.id]; std::cmp_greater(result.moved, most))
        result.moved = static_cast<int64_t>(most);
      // A read arrives wrong; a write gave the drive a wrong bit and gets its caller's bytes back as they were.
      if (corrupting_[result.id] != nullptr) *corrupting_[result.id] ^= std::byte{1};
    }
    return count + more;
  }

 private:
  const std::unique_ptr<io::Transport> target_;
  const FaultPlan plan_;
  size_t seen_ = 0;
  std::atomic<size_t>* const operations_;
  std::vector<std::byte*> corrupting_;  // by id
  std::vector<size_t> moved_at_most_;   // by id
  std::vector<io::RawResult> answers_;
};

}  // namespace tidemill::fakes
