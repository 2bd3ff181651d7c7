// libaio: the kernel's older asynchronous interface; truly asynchronous only with O_DIRECT.

#include <libaio.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"
#include "io/io_error.h"
#include "io/transport.h"

namespace tidemill::io {
namespace {

class AioTransport final : public Transport {
 public:
  // Completions and wakes arrive at the same eventfd, so that one wait serves both.
  AioTransport(size_t depth, io_context_t context, int event_fd)
      : depth_(depth), context_(context), event_fd_(event_fd), blocks_(depth), pointers_(depth), events_(depth) {
    refused_.reserve(depth);
  }
  ~AioTransport() override {
    ::io_destroy(context_);
    ::close(event_fd_);
  }
  AioTransport(const AioTransport&) = delete;

  std::string_view Name() const override { return "libaio"; }
  size_t Depth() const override { return depth_; }
  void AddFile(uint32_t index, int fd) override { files_.at(index) = fd; }
  void Wake() override { TM_CHECK(::eventfd_write(event_fd_, 1) == 0); }

  Status Start(std::span<const RawOp> ops) override {
    for (size_t i = 0; i < ops.size(); ++i) {
      const RawOp& op = ops[i];
      iocb& block = blocks_.at(op.id);
      const int fd = files_.at(op.file);
      const auto offset = static_cast<long long>(op.offset_bytes);
      op.op == IoRequest::Op::kRead ? ::io_prep_pread(&block, fd, op.address, op.bytes, offset)
                                    : ::io_prep_pwrite(&block, fd, op.address, op.bytes, offset);
      ::io_set_eventfd(&block, event_fd_);
      block.data = reinterpret_cast<void*>(static_cast<uintptr_t>(op.id));
      pointers_[i] = &block;
    }
    for (size_t at = 0; at < ops.size();) {
      const int taken = ::io_submit(context_, static_cast<long>(ops.size() - at), pointers_.data() + at);
      if (taken > 0) {
        at += static_cast<size_t>(taken);
      } else if (taken != -EINTR) {
        // The kernel refuses the first of those left. That is this operation's result, not the engine's end.
        refused_.push_back({ops[at++].id, taken < 0 ? taken : -EIO});
      }
    }
    return Ok();
  }

  Result<size_t> Collect(std::span<RawResult> results, size_t wait_for) override {
    size_t count = 0;
    for (; count < results.size() && !refused_.empty(); refused_.pop_back()) results[count++] = refused_.back();
    while (true) {
      TM_ASSIGN_OR_RETURN(const size_t taken, Take(results.subspan(count)));
      count += taken;
      if (count >= wait_for) return count;
      pollfd wait{event_fd_, POLLIN, 0};
      if (::poll(&wait, 1, -1) < 0) continue;  // a signal
      eventfd_t signals = 0;
      ::eventfd_read(event_fd_, &signals);
      TM_ASSIGN_OR_RETURN(const size_t more, Take(results.subspan(count)));
      count += more;
      if (more == 0) return count;  // woken
    }
  }

 private:
  Result<size_t> Take(std::span<RawResult> results) {
    timespec now{0, 0};
    int taken = 0;
    do {
      taken = ::io_getevents(context_, 0, static_cast<long>(std::min(results.size(), depth_)), events_.data(), &now);
    } while (taken == -EINTR);
    if (taken < 0)
      return Fail(ErrorCode::kStorage,
                  "libaio broke (io_getevents: " + DescribeErrno(-taken) + "): use --io-engine posix");
    for (size_t i = 0; i < static_cast<size_t>(taken); ++i) {
      // Both numbers are signed in the kernel and unsigned in the library.
      results[i] = {static_cast<uint32_t>(reinterpret_cast<uintptr_t>(events_[i].data)),
                    static_cast<int64_t>(events_[i].res)};
    }
    return static_cast<size_t>(taken);
  }

  const size_t depth_;
  const io_context_t context_;
  const int event_fd_;
  std::array<int, kFilesMax> files_{};
  std::vector<iocb> blocks_;  // by operation id
  std::vector<iocb*> pointers_;
  std::vector<io_event> events_;
  std::vector<RawResult> refused_;
};

std::string HowToAllow(int error_number) {
  switch (error_number) {
    case EAGAIN:
      return "raise sysctl fs.aio-max-nr, which other programs have used up";
    case ENOSYS:
    case EPERM:
      return "let the container's seccomp profile permit io_setup, or use a kernel built with it";
    default:
      return "look at fs.aio-nr and the memory limits";
  }
}

}  // namespace

Result<std::unique_ptr<Transport>> OpenAioTransport(size_t depth) {
  const int event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd < 0)
    return Fail(ErrorCode::kUnavailable,
                "libaio is refused (eventfd: " + DescribeErrno(errno) + "): raise the descriptor limit (ulimit -n)");
  io_context_t context = nullptr;
  if (const int result = ::io_setup(static_cast<int>(depth), &context); result < 0) {
    ::close(event_fd);
    return Fail(ErrorCode::kUnavailable,
                "libaio is refused (io_setup: " + DescribeErrno(-result) + "): " + HowToAllow(-result));
  }
  return std::unique_ptr<Transport>(std::make_unique<AioTransport>(depth, context, event_fd));
}

}  // namespace tidemill::io
