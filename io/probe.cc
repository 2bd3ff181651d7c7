#include "io/probe.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/byte_size.h"
#include "io/engine.h"
#include "io/file_ops.h"
#include "io/io_error.h"

namespace tidemill::io {
namespace {

constexpr uint64_t kProbeBytes = 4 * kMiB;

// Mount points are written with \040 for a space and so on.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool IsWithin(const std::string& path, const std::string& mount) {
  return mount == "/" || path == mount || (path.starts_with(mount) && path[mount.size()] == '/');
}

// By the number that statfs(2) gives, where no mount names the path: below a changed root.
std::string FileSystemByMagic(const std::string& path) {
  struct Row {
    long magic;
    const char* name;
  };
  constexpr std::array<Row, 7> kRows{{{0xef53, "ext4"},
                                      {0x58465342, "xfs"},
                                      {0x9123683e, "btrfs"},
                                      {0x01021994, "tmpfs"},
                                      {0x794c7630, "overlay"},
                                      {0x2fc12fc1, "zfs"},
                                      {0x6969, "nfs"}}};
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return "unknown";
  for (const Row& row : kRows) {
    if (info.f_type == row.magic) return row.name;
  }
  return "unknown";
}

// The mount that holds `path`: the longest one, and of equals the last, which hides the others.
void FindMount(const std::string& path, DirectoryReport& report) {
  report.file_system = "unknown";
  std::ifstream mounts("/proc/self/mountinfo");
  size_t longest = 0;
  for (std::string line; std::getline(mounts, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string id, parent, numbers, root, point, type, source;
    before >> id >> parent >> numbers >> root >> point;
    after >> type >> source;
    point = Unescape(point);
    if (!IsWithin(path, point) || point.size() < longest) continue;
    longest = point.size();
    report.file_system = type;
    report.device = Unescape(source);
  }
  if (longest == 0) report.file_system = FileSystemByMagic(path);
}

std::optional<bool> IsRotational(const std::string& path, const std::string& device) {
  struct stat info {};
  dev_t number = 0;
  // A file system over several drives has a number of its own; then the mounted device says.
  if (::stat(path.c_str(), &info) == 0) number = info.st_dev;
  if (::major(number) == 0 && ::stat(device.c_str(), &info) == 0 && S_ISBLK(info.st_mode)) number = info.st_rdev;
  const std::string base = "/sys/dev/block/" + std::to_string(::major(number)) + ":" + std::to_string(::minor(number));
  for (const char* const place : {"/queue/rotational", "/../queue/rotational"}) {  // a drive, or a partition of one
    std::ifstream file(base + place);
    int value = 0;
    if (file >> value) return value != 0;
  }
  return std::nullopt;
}

bool IsOneOf(std::string_view type, std::initializer_list<std::string_view> kinds) {
  return std::find(kinds.begin(), kinds.end(), type) != kinds.end();
}

void ReadAlignment(int fd, DirectoryReport& report) {
#ifdef STATX_DIOALIGN
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) != 0 || (info.stx_mask & STATX_DIOALIGN) == 0) return;
  report.direct_memory_alignment = info.stx_dio_mem_align;
  report.direct_offset_alignment = info.stx_dio_offset_align;
#else
  static_cast<void>(fd), static_cast<void>(report);
#endif
}

// One write, flush and read of the probe file, over the plainest transport.
Status MoveProbe(const BlockFile& file) {
  TM_ASSIGN_OR_RETURN(const AlignedBuffer written, AlignedBuffer::Allocate(kProbeBytes));
  TM_ASSIGN_OR_RETURN(const AlignedBuffer read, AlignedBuffer::Allocate(kProbeBytes));
  for (size_t i = 0; i < kProbeBytes; ++i) written.data()[i] = static_cast<std::byte>(i * 2654435761U >> 11);
  Engine engine(OpenPosixTransport(1), {.depth = 1, .block_bytes = kProbeBytes, .requests_max = 1});
  engine.AddFile(file);
  for (const auto op : {IoRequest::Op::kWrite, IoRequest::Op::kRead}) {
    const IoRequest request{.op = op, .buffer = op == IoRequest::Op::kWrite ? written.span() : read.span()};
    TM_RETURN_IF_ERROR(engine.Submit({&request, 1}));
    std::array<IoCompletion, 1> done;
    TM_RETURN_IF_ERROR(engine.Reap(done, 1));
    TM_RETURN_IF_ERROR(Status(done[0].status));
    TM_RETURN_IF_ERROR(engine.Flush());
  }
  if (std::equal(written.span().begin(), written.span().end(), read.data())) return Ok();
  return Fail(ErrorCode::kCorrupt, "what was written is not what was read (" + file.path + "): do not use this drive");
}

}  // namespace

std::vector<std::string> DirectoryReport::Warnings() const {
  std::vector<std::string> lines;
  if (network)
    lines.push_back(path + " is on a network file system (" + file_system +
                    "): swapping will be slow; use a local NVMe drive");
  if (in_memory)
    lines.push_back(path + " is in memory (" + file_system + "): it takes from the same RAM it is meant to relieve");
  if (rotational.value_or(false) && !network)
    lines.push_back(path + " is on a drive that calls itself rotational (" + device +
                    "): swapping will be slow on a hard disk");
  if (!direct_note.empty()) lines.push_back(direct_note);
  return lines;
}

Result<DirectoryReport> ProbeDirectory(const std::string& directory) {
  DirectoryReport report;
  char* const canonical = ::realpath(directory.c_str(), nullptr);
  if (canonical == nullptr) return tl::make_unexpected(FileError("cannot use the swap directory", directory, errno));
  report.path = canonical;
  std::free(canonical);
  FindMount(report.path, report);
  report.rotational = IsRotational(report.path, report.device);
  report.network = IsOneOf(report.file_system, {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "beegfs", "gpfs",
                                                "afs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.gcsfuse"});
  report.in_memory = IsOneOf(report.file_system, {"tmpfs", "ramfs"});
  struct statvfs space {};
  if (::statvfs(report.path.c_str(), &space) != 0)
    return tl::make_unexpected(FileError("cannot use the swap directory", report.path, errno));
  report.free_bytes = static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
  report.total_bytes = static_cast<uint64_t>(space.f_blocks) * space.f_frsize;

  const std::string path = report.path + "/tidemill-probe-" + std::to_string(::getpid());
  TM_ASSIGN_OR_RETURN(const DirectFd opened,
                      OpenDirect(path, O_RDWR | O_CREAT | O_EXCL, true, "cannot use the swap directory"));
  ::unlink(path.c_str());  // it goes with its descriptor, whatever happens here
  ReadAlignment(opened.fd.get(), report);
  report.direct = opened.direct;
  report.direct_note = opened.note;
  const auto start = std::chrono::steady_clock::now();
  TM_RETURN_IF_ERROR(MoveProbe({opened.fd.get(), path, kProbeBytes, opened.direct}));
  report.probe_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

MachineReport ProbeEngines() {
  MachineReport report;
  rlimit memlock{};
  if (::getrlimit(RLIMIT_MEMLOCK, &memlock) == 0 && memlock.rlim_cur != RLIM_INFINITY)
    report.memlock_bytes = memlock.rlim_cur;
  std::vector<std::string> notes;
  if (const auto uring = OpenUringTransport(1, {}, notes); !uring) report.io_uring_refusal = uring.error().message;
  if (const auto aio = OpenAioTransport(1); !aio) report.libaio_refusal = aio.error().message;
  return report;
}

}  // namespace tidemill::io
