// io_uring: one issuer, batched submission, registered files, and registered buffers where the memlock limit allows.

#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/byte_size.h"
#include "base/check.h"
#include "io/io_error.h"
#include "io/transport.h"

namespace tidemill::io {
namespace {

constexpr uint64_t kSegmentBytes = kGiB;   // the kernel registers no larger buffer
constexpr size_t kSegmentsMax = 1U << 14;  // nor more of them
constexpr uint64_t kWakeId = UINT64_MAX;

class UringTransport final : public Transport {
 public:
  UringTransport(size_t depth, int wake_fd) : depth_(depth), wake_fd_(wake_fd) {}
  ~UringTransport() override {
    if (open_) ::io_uring_queue_exit(&ring_);
    ::close(wake_fd_);
  }
  UringTransport(const UringTransport&) = delete;

  int SetUp();                                // 0 or an errno
  int RegisterBuffers(const Arenas& arenas);  // 0 or an errno

  std::string_view Name() const override { return "io_uring"; }
  size_t Depth() const override { return depth_; }
  void AddFile(uint32_t index, int fd) override;
  Status Start(std::span<const RawOp> ops) override;
  Result<size_t> Collect(std::span<RawResult> results, size_t wait_for) override;
  void Wake() override { TM_CHECK(::eventfd_write(wake_fd_, 1) == 0); }

 private:
  void Prepare(const RawOp& op);
  void ArmWake();
  Status Enter(unsigned wait_for);
  size_t Take(std::span<RawResult> results, bool& woken);

  const size_t depth_;
  const int wake_fd_;
  io_uring ring_{};
  bool open_ = false, wake_armed_ = false;
  bool files_registered_ = false;
  std::array<int, kFilesMax> files_{};
  std::vector<iovec> segments_;  // registered, by address
};

int UringTransport::SetUp() {
  // Deferred completion work (DEFER_TASKRUN) is for millions of small requests, and ties the ring to one thread for
  // life, also for waiting in a destructor. Ours are large and few.
  const auto entries = static_cast<unsigned>(depth_ + 1);  // one for waking
  int result = -EINVAL;
  for (const unsigned flags : {IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL, IORING_SETUP_CLAMP}) {
    io_uring_params params{};
    params.flags = flags;  // kernels before 5.18 do not know the first set
    result = ::io_uring_queue_init_params(entries, &ring_, &params);
    if (result != -EINVAL) break;
  }
  if (result < 0) return -result;
  open_ = true;
  if (*ring_.sq.kring_entries < entries) return EMFILE;
  files_registered_ = ::io_uring_register_files_sparse(&ring_, kFilesMax) == 0;
  return 0;
}

int UringTransport::RegisterBuffers(const Arenas& arenas) {
  for (std::span<std::byte> arena : arenas) {
    while (!arena.empty()) {
      const size_t bytes = std::min<size_t>(arena.size(), kSegmentBytes);
      segments_.push_back({arena.data(), bytes});
      arena = arena.subspan(bytes);
    }
  }
  std::sort(segments_.begin(), segments_.end(),
            [](const iovec& a, const iovec& b) { return std::less<>()(a.iov_base, b.iov_base); });
  if (segments_.empty()) return 0;
  int result = segments_.size() > kSegmentsMax ? -EMFILE : 0;
  if (result == 0)
    result = ::io_uring_register_buffers(&ring_, segments_.data(), static_cast<unsigned>(segments_.size()));
  if (result < 0) segments_.clear();
  return -result;
}

void UringTransport::AddFile(uint32_t index, int fd) {
  files_.at(index) = fd;
  if (files_registered_) files_registered_ = ::io_uring_register_files_update(&ring_, index, &fd, 1) == 1;
}

void UringTransport::Prepare(const RawOp& op) {
  io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_);
  TM_CHECK(sqe != nullptr);
  const int fd = files_registered_ ? static_cast<int>(op.file) : files_.at(op.file);
  size_t bytes = std::min<size_t>(op.bytes, kSegmentBytes);
  // The registered segment that holds the first byte; the operation ends where the segment ends, and is resumed.
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), op.address, [](std::byte* a, const iovec& s) {
    return std::less<>()(a, static_cast<std::byte*>(s.iov_base));
  });
  const auto index = static_cast<int>(after - segments_.begin()) - 1;
  bool fixed = false;
  if (index >= 0) {
    const iovec& segment = segments_[static_cast<size_t>(index)];
    std::byte* const end = static_cast<std::byte*>(segment.iov_base) + segment.iov_len;
    fixed = std::less<>()(op.address, end);
    if (fixed) bytes = std::min(bytes, static_cast<size_t>(end - op.address));
  }
  const auto size = static_cast<unsigned>(bytes);
  if (op.op == IoRequest::Op::kRead) {
    fixed ? ::io_uring_prep_read_fixed(sqe, fd, op.address, size, op.offset_bytes, index)
          : ::io_uring_prep_read(sqe, fd, op.address, size, op.offset_bytes);
  } else {
    fixed ? ::io_uring_prep_write_fixed(sqe, fd, op.address, size, op.offset_bytes, index)
          : ::io_uring_prep_write(sqe, fd, op.address, size, op.offset_bytes);
  }
  if (files_registered_) ::io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
  ::io_uring_sqe_set_data64(sqe, op.id);
}

void UringTransport::ArmWake() {
  if (wake_armed_) return;
  io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_);
  TM_CHECK(sqe != nullptr);
  ::io_uring_prep_poll_add(sqe, wake_fd_, POLLIN);
  ::io_uring_sqe_set_data64(sqe, kWakeId);
  wake_armed_ = true;
}

// Hands over everything prepared and waits for `wait_for` completions in the ring.
Status UringTransport::Enter(unsigned wait_for) {
  while (true) {
    const int result = ::io_uring_submit_and_wait(&ring_, wait_for);
    const bool again = result == -EINTR || result == -EAGAIN || result == -EBUSY;
    if (result < 0 && !again)
      return Fail(ErrorCode::kStorage, "io_uring broke: " + DescribeErrno(-result) + ": use --io-engine posix");
    if (::io_uring_sq_ready(&ring_) == 0 && (wait_for == 0 || result >= 0 || ::io_uring_cq_ready(&ring_) >= wait_for))
      return Ok();
  }
}

Status UringTransport::Start(std::span<const RawOp> ops) {
  for (const RawOp& op : ops) Prepare(op);
  return Enter(0);
}

size_t UringTransport::Take(std::span<RawResult> results, bool& woken) {
  size_t count = 0;
  unsigned head = 0, seen = 0;
  io_uring_cqe* cqe = nullptr;
  io_uring_for_each_cqe(&ring_, head, cqe) {
    if (cqe->user_data == kWakeId) {
      eventfd_t ignored = 0;
      ::eventfd_read(wake_fd_, &ignored);
      wake_armed_ = false;
      woken = true;
    } else {
      if (count == results.size()) break;
      results[count++] = {static_cast<uint32_t>(cqe->user_data), cqe->res};
    }
    ++seen;
  }
  ::io_uring_cq_advance(&ring_, seen);
  return count;
}

Result<size_t> UringTransport::Collect(std::span<RawResult> results, size_t wait_for) {
  bool woken = false;
  size_t count = Take(results, woken);
  while (count < wait_for && !woken) {
    ArmWake();
    TM_RETURN_IF_ERROR(Enter(1));
    count += Take(results.subspan(count), woken);
  }
  return count;
}

std::string HowToAllow(int error_number) {
  switch (error_number) {
    case EPERM:
    case EACCES:
      return "set sysctl kernel.io_uring_disabled=0, or let the container's seccomp profile permit io_uring_setup";
    case ENOSYS:
      return "use a kernel built with io_uring (5.6 or later) whose seccomp profile permits io_uring_setup";
    case ENOMEM:
      return "raise the locked-memory limit (ulimit -l)";
    case EMFILE:
    case ENFILE:
      return "raise the descriptor limit (ulimit -n), or ask for a smaller depth";
    default:
      return "look for io_uring in the kernel log (dmesg)";
  }
}

std::string UnregisteredNote(int error_number) {
  std::string limit = "unlimited";
  rlimit memlock{};
  if (::getrlimit(RLIMIT_MEMLOCK, &memlock) == 0 && memlock.rlim_cur != RLIM_INFINITY)
    limit = FormatBytes(memlock.rlim_cur);
  return "registering buffers with io_uring is refused (" + DescribeErrno(error_number) + "; locked-memory limit " +
         limit + "): going on with unregistered buffers; raise the limit with ulimit -l";
}

}  // namespace

Result<std::unique_ptr<Transport>> OpenUringTransport(size_t depth, const Arenas& arenas,
                                                      std::vector<std::string>& notes) {
  const int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0)
    return Fail(ErrorCode::kUnavailable,
                "io_uring is refused (eventfd: " + DescribeErrno(errno) + "): " + HowToAllow(errno));
  auto transport = std::make_unique<UringTransport>(depth, wake_fd);  // owns wake_fd from here on
  if (const int error_number = transport->SetUp(); error_number != 0)
    return Fail(ErrorCode::kUnavailable, "io_uring is refused (io_uring_setup: " + DescribeErrno(error_number) +
                                             "): " + HowToAllow(error_number));
  if (const int error_number = transport->RegisterBuffers(arenas); error_number != 0)
    notes.push_back(UnregisteredNote(error_number));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace tidemill::io
