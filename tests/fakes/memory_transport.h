// A drive made of memory that writes down what it was asked to do, in order. Operations finish when collected.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "base/check.h"
#include "io/transport.h"

namespace tidemill::fakes {

class MemoryTransport final : public io::Transport {
 public:
  // Every file has `file_bytes`, zero at first. At most `per_collect` operations finish per Collect().
  MemoryTransport(size_t depth, uint64_t file_bytes, size_t per_collect = SIZE_MAX)
      : depth_(depth), file_bytes_(file_bytes), per_collect_(per_collect) {}

  std::string_view Name() const override { return "memory"; }
  size_t Depth() const override { return depth_; }
  void AddFile(uint32_t index, int) override { files_[index].resize(file_bytes_); }
  void Wake() override {}  // never waits

  Status Start(std::span<const io::RawOp> ops) override {
    TM_CHECK(waiting_.size() + ops.size() <= depth_);
    waiting_.insert(waiting_.end(), ops.begin(), ops.end());
    started_.insert(started_.end(), ops.begin(), ops.end());
    return Ok();
  }

  Result<size_t> Collect(std::span<io::RawResult> results, size_t wait_for) override {
    TM_CHECK(wait_for <= waiting_.size());
    const size_t count = std::min({results.size(), waiting_.size(), std::max(per_collect_, wait_for)});
    for (size_t i = 0; i < count; ++i) results[i] = {waiting_[i].id, Move(waiting_[i])};
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  const std::vector<io::RawOp>& started() const { return started_; }

 private:
  int64_t Move(const io::RawOp& op) {
    std::vector<std::byte>& file = files_.at(op.file);
    const bool reading = op.op == io::IoRequest::Op::kRead;
    if (op.offset_bytes >= file.size()) return reading ? 0 : -ENOSPC;
    const size_t bytes = std::min<size_t>(op.bytes, file.size() - op.offset_bytes);
    reading ? std::memcpy(op.address, file.data() + op.offset_bytes, bytes)
            : std::memcpy(file.data() + op.offset_bytes, op.address, bytes);
    return static_cast<int64_t>(bytes);
  }

  const size_t depth_;
  const uint64_t file_bytes_;
  const size_t per_collect_;
  std::map<uint32_t, std::vector<std::byte>> files_;
  std::vector<io::RawOp> waiting_, started_;
};

}  // namespace tidemill::fakes
